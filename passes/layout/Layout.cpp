#include "sinter/passes/Passes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace sinter::passes {

#define GEN_PASS_DEF_LAYOUTPASS
#include "sinter/passes/Passes.h.inc"

static constexpr int64_t kToLast[] = {0, 2, 3, 1};  ///< NCHW -> NHWC
static constexpr int64_t kToFirst[] = {0, 3, 1, 2}; ///< NHWC -> NCHW

namespace {

/// Follows one function's values in program order and gives images a second, channels-last value
/// beside the first. Ops rebuilt on those are dropped at the end; what still uses a first value
/// then gets it transposed back.
class ChannelsLast {
public:
  explicit ChannelsLast(bool report) : report(report) {}
  void run(Block &block);

private:
  void visit(Operation *op);
  bool pays(ValueRange images) const;
  void rebuildImageOp(ir::LayoutOpInterface op);
  void rebuildPointwise(Operation *op);
  void rebuildPermutable(ir::PermutableOpInterface op);

  bool isCheap(Value value) const;
  Value toLast(Value value);
  Value buildLast(Value value);
  Value permuted(Value value, ArrayRef<int64_t> permutation);
  void restoreFirst(Value value, Value channelsLast);

  bool report;
  llvm::MapVector<Value, Value> last; ///< channels-last value of a channels-first one
  llvm::SetVector<Operation *> replaced;
};

} // namespace

static int64_t rankOf(Value value) { return ir::tensorTypeOf(value).getRank(); }

static RankedTensorType permutedType(Value value, ArrayRef<int64_t> permutation) {
  ir::Dims dims = ir::dimsOf(value);
  return ir::tensorType(llvm::map_to_vector(permutation, [&](int64_t dim) { return dims[dim]; }),
                        ir::elementType(value));
}

/// Whether permuting moves dimensions of size 1 only, so that the elements stay where they are.
static bool movesUnitsOnly(Value value, ArrayRef<int64_t> permutation) {
  ir::Dims dims = ir::dimsOf(value);
  SmallVector<int64_t> moved;
  for (int64_t dim : permutation)
    if (!ir::isOne(dims[dim]))
      moved.push_back(dim);
  return llvm::is_sorted(moved);
}

static bool isPointwise(Operation *op) {
  auto element = dyn_cast<ir::ElementOpInterface>(op);
  return element && element.isPointwise();
}

/// A value that every element of is made where it is wanted: it has no layout.
static bool isFill(Operation *op) { return op && isPointwise(op) && op->getNumOperands() == 0; }

void ChannelsLast::run(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    visit(&op);
  for (Operation *op : replaced)
    for (Value result : op->getResults())
      if (Value channelsLast = last.lookup(result))
        restoreFirst(result, channelsLast);
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
}

void ChannelsLast::visit(Operation *op) {
  if (auto image = dyn_cast<ir::LayoutOpInterface>(op)) {
    SmallVector<Value> images;
    for (OpOperand &operand : op->getOpOperands())
      if (image.isImageOperand(operand.getOperandNumber()))
        images.push_back(operand.get());
    if (!image.isChannelsLast() && (image.prefersChannelsLast() || pays(images)))
      rebuildImageOp(image);
  } else if (op->getNumOperands() == 0 || !pays(op->getOperands())) {
    return;
  } else if (isPointwise(op)) {
    rebuildPointwise(op);
  } else if (auto permutable = dyn_cast<ir::PermutableOpInterface>(op)) {
    rebuildPermutable(permutable);
  }
}

/// Whether working channels last moves no more operands than working channels first would.
bool ChannelsLast::pays(ValueRange images) const {
  int64_t gained = 0, lost = 0;
  bool any = false;
  for (Value image : images) {
    bool has = last.contains(image);
    any |= has;
    if (has && !movesUnitsOnly(image, kToLast))
      ++gained;
    else if (!has && !isCheap(image))
      ++lost;
  }
  return any && lost <= gained;
}

void ChannelsLast::rebuildImageOp(ir::LayoutOpInterface op) {
  SmallVector<Value> operands(op->getOperands());
  for (auto [i, operand] : llvm::enumerate(operands))
    if (op.isImageOperand(unsigned(i)))
      operand = toLast(operand);
  OpBuilder builder(op);
  auto copy = cast<ir::LayoutOpInterface>(builder.clone(*op));
  copy->setOperands(operands);
  copy.setChannelsLastLayout(true);
  for (auto [i, from, to] : llvm::enumerate(op->getResults(), copy->getResults())) {
    if (op.isImageResult(unsigned(i))) {
      to.setType(permutedType(from, kToLast));
      last[from] = to;
    } else {
      from.replaceAllUsesWith(to);
    }
  }
  replaced.insert(op);
}

void ChannelsLast::rebuildPointwise(Operation *op) {
  auto operands =
      llvm::map_to_vector(op->getOperands(), [&](Value operand) { return toLast(operand); });
  OpBuilder builder(op);
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults())) {
    to.setType(permutedType(from, kToLast));
    last[from] = to;
  }
  replaced.insert(op);
}

void ChannelsLast::rebuildPermutable(ir::PermutableOpInterface op) {
  Value result = op->getResult(0);
  if (rankOf(result) > 4)
    return;
  auto operands =
      llvm::map_to_vector(op->getOperands(), [&](Value operand) { return toLast(operand); });
  OpBuilder builder(op);
  SmallVector<int64_t> permutation;
  Operation *copy = op.buildPermuted(builder, operands, kToLast, permutation);
  if (!copy)
    return;
  if (permutation == ArrayRef(kToLast))
    last[result] = copy->getResult(0);
  else
    result.replaceAllUsesWith(permuted(copy->getResult(0), invertPermutationVector(permutation)));
  replaced.insert(op);
}

/// Whether toLast() moves no data.
bool ChannelsLast::isCheap(Value value) const {
  if (rankOf(value) > 4)
    return false;
  if (rankOf(value) < 4 || last.contains(value) || movesUnitsOnly(value, kToLast))
    return true;
  Operation *op = value.getDefiningOp();
  return isFill(op) ||
         (isa_and_present<ir::PermutableOpInterface>(op) &&
          llvm::all_of(op->getOperands(), [&](Value operand) { return isCheap(operand); }));
}

Value ChannelsLast::toLast(Value value) {
  if (Value known = last.lookup(value))
    return known;
  Value built = buildLast(value);
  if (rankOf(value) == 4)
    last[value] = built;
  return built;
}

Value ChannelsLast::buildLast(Value value) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  if (rankOf(value) < 4) { // broadcasting aligns at the right
    ir::Dims dims(4 - rankOf(value), ir::constantDim(1, value.getContext()));
    dims.append(ir::dimsOf(value));
    return permuted(ir::ReshapeOp::create(builder, value.getLoc(),
                                          ir::tensorType(dims, ir::elementType(value)), value),
                    kToLast);
  }
  Operation *op = value.getDefiningOp();
  if (movesUnitsOnly(value, kToLast) || !isCheap(value))
    return permuted(value, kToLast);
  if (isFill(op)) {
    Operation *copy = builder.clone(*op);
    copy->getResult(0).setType(permutedType(value, kToLast));
    return copy->getResult(0);
  }
  auto operands =
      llvm::map_to_vector(op->getOperands(), [&](Value operand) { return toLast(operand); });
  SmallVector<int64_t> permutation;
  builder.setInsertionPointAfterValue(value);
  Operation *copy =
      cast<ir::PermutableOpInterface>(op).buildPermuted(builder, operands, kToLast, permutation);
  return copy ? copy->getResult(0) : permuted(value, kToLast);
}

Value ChannelsLast::permuted(Value value, ArrayRef<int64_t> permutation) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  if (movesUnitsOnly(value, permutation))
    return ir::ReshapeOp::create(builder, value.getLoc(), permutedType(value, permutation), value);
  if (report)
    emitRemark(value.getLoc()) << "transposed " << permutation << ": " << value.getType() << " to "
                               << permutedType(value, permutation);
  return ir::TransposeOp::create(builder, value.getLoc(), value, permutation);
}

/// Gives what isn't channels last its channels-first value back.
void ChannelsLast::restoreFirst(Value value, Value channelsLast) {
  auto outside = [&](OpOperand &use) { return !replaced.contains(use.getOwner()); };
  if (llvm::any_of(value.getUses(), outside))
    value.replaceUsesWithIf(permuted(channelsLast, kToFirst), outside);
}

namespace {
struct LayoutPass : impl::LayoutPassBase<LayoutPass> {
  using LayoutPassBase::LayoutPassBase;
  void runOnOperation() override {
    for (Block &block : getOperation().getBody())
      ChannelsLast(report).run(block);
  }
};
} // namespace

} // namespace sinter::passes
