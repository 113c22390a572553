// Joins neighbouring dimensions of a group that all its ops treat alike, so that kernels loop over
// few, long dimensions: an elementwise chain becomes one-dimensional, a softmax over the last
// dimension two-dimensional.
#include "Clusters.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

enum class Use { Full, Broadcast, Reduced };

/// The group's space as runs of dimensions [begin, end) that become one each.
struct Collapsing {
  Dims domain;
  SmallVector<bool> joined; ///< dimension i is joined with i - 1

  explicit Collapsing(Dims dims) : domain(std::move(dims)), joined(domain.size(), true) {
    if (!joined.empty())
      joined[0] = false;
  }

  /// `uses` says how an op treats each dimension; differing neighbours stay apart, sizes of 1 join
  /// anything.
  void constrain(ArrayRef<Use> uses) {
    std::optional<Use> last;
    for (size_t i = 0; i < uses.size(); ++i) {
      if (isOne(domain[i]))
        continue;
      if (last && *last != uses[i])
        joined[i] = false;
      last = uses[i];
    }
  }

  /// Sizes of a tensor whose dimensions align with the domain's at the right (missing ones count as
  /// 1).
  Dims collapse(ArrayRef<AffineExpr> dims, MLIRContext *context) const {
    Dims result;
    for (size_t i = 0, missing = domain.size() - dims.size(); i < domain.size(); ++i) {
      AffineExpr size = i < missing ? constantDim(1, context) : dims[i - missing];
      if (joined[i])
        result.back() = simplify(result.back() * size);
      else
        result.push_back(size);
    }
    return result;
  }
};

/// A reshape that only adds or drops dimensions of size 1 in front.
bool dropsLeadingOnes(Operation &op) {
  auto reshape = dyn_cast<ReshapeOp>(op);
  if (!reshape)
    return false;
  auto inner = [](Value value) {
    Dims dims = dimsOf(value);
    return Dims(ArrayRef<AffineExpr>(dims).drop_while(isOne));
  };
  return inner(reshape.getX()) == inner(reshape.getY());
}

/// The common space of all ops, if every op is elementwise, a fill, a broadcast or a reduction with
/// kept dimensions.
std::optional<Collapsing> analyse(GroupOp group) {
  Block &body = group.getBody().front();
  Dims domain;
  for (Operation &op : body.without_terminator()) {
    Dims dims = dimsOf(isa<ReductionOpInterface>(op) ? op.getOperand(0) : op.getResult(0));
    if (dims.size() > domain.size())
      domain = dims;
    else if (dims.size() == domain.size())
      for (auto [a, b] : llvm::zip(domain, dims))
        if (isOne(a))
          a = b;
  }
  Collapsing collapsing(domain);
  for (Operation &op : body.without_terminator()) {
    SmallVector<Value> values(op.getOperands());
    llvm::append_range(values, op.getResults());
    for (Value value : values) {
      Dims dims = dimsOf(value);
      if (dims.size() > domain.size()) // an index map, from a larger tensor
        return std::nullopt;
      SmallVector<Use> uses(domain.size() - dims.size(), Use::Broadcast);
      for (auto [i, dim] : llvm::enumerate(dims)) {
        AffineExpr full = domain[domain.size() - dims.size() + i];
        if (!isOne(dim) && dim != full)
          return std::nullopt;
        uses.push_back(isOne(dim) && !isOne(full) ? Use::Broadcast : Use::Full);
      }
      collapsing.constrain(uses);
    }
    if (auto reduction = dyn_cast<ReductionOpInterface>(op)) {
      if (!reduction.keepsDims())
        return std::nullopt;
      SmallVector<Use> uses(domain.size(), Use::Full);
      size_t missing = domain.size() - dimsOf(op.getOperand(0)).size();
      for (int64_t dim : reduction.reducedDims())
        uses[missing + dim] = Use::Reduced;
      collapsing.constrain(uses);
      continue;
    }
    auto element = dyn_cast<ElementOpInterface>(op);
    if (!isa<ExpandOp>(op) && !dropsLeadingOnes(op) && !(element && element.isPointwise()))
      return std::nullopt;
  }
  return collapsing;
}

} // namespace

/// Rewrites reductions to keep their dimensions and reshapes that only move sizes of 1, so that ops
/// align at the right.
static void normalise(GroupOp group) {
  for (Operation &op : llvm::make_early_inc_range(group.getBody().front().without_terminator())) {
    auto reduction = dyn_cast<ReductionOpInterface>(op);
    if (!reduction || reduction.keepsDims())
      continue;
    OpBuilder builder(&op);
    builder.setInsertionPointAfter(&op);
    Dims kept = dimsOf(op.getOperand(0));
    for (int64_t dim : reduction.reducedDims())
      kept[dim] = constantDim(1, op.getContext());
    Value result = op.getResult(0);
    Type plain = result.getType();
    op.setAttr("keepdim", builder.getUnitAttr());
    result.setType(tensorType(kept, elementType(result)));
    auto back = ReshapeOp::create(builder, op.getLoc(), plain, result);
    result.replaceAllUsesExcept(back.getY(), back);
  }
}

/// Results that are mere reshapes (sizes of 1) of values of the group are reshaped outside instead.
static void sinkReshapes(GroupOp group) {
  Operation *yield = group.getBody().front().getTerminator();
  OpBuilder builder(group.getContext());
  builder.setInsertionPointAfter(group);
  for (auto [operand, result] : llvm::zip(yield->getOpOperands(), group.getResults())) {
    auto reshape = operand.get().getDefiningOp<ReshapeOp>();
    if (!reshape || !isUnitReshape(reshape))
      continue;
    Type plain = result.getType();
    operand.set(reshape.getX());
    result.setType(reshape.getX().getType());
    auto back = ReshapeOp::create(builder, group.getLoc(), plain, result);
    result.replaceAllUsesExcept(back.getY(), back);
  }
}

/// expand(reshape(reduce keepdim)) that lands on the reduction's own dimensions reads the kept form
/// directly.
static void readKeptForms(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
    auto expand = dyn_cast<ExpandOp>(op);
    if (!expand)
      continue;
    Value source = expand.getX();
    while (auto reshape = source.getDefiningOp<ReshapeOp>())
      source = reshape.getX();
    auto reduction = source.getDefiningOp<ReductionOpInterface>();
    if (reduction && dimsOf(reduction->getOperand(0)) == dimsOf(expand.getY()) &&
        source != expand.getX())
      expand.getXMutable().assign(source);
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (op.use_empty() && !isa<YieldOp>(op))
      op.erase();
}

/// The dimensions a reduction reduces, once those that `position` numbers alike are one.
static SmallVector<int64_t> collapsedDims(ReductionOpInterface reduction, const Dims &domain,
                                          ArrayRef<int64_t> position) {
  SmallVector<int64_t> dims, ones;
  size_t missing = domain.size() - dimsOf(reduction->getResult(0)).size();
  for (int64_t dim : reduction.reducedDims())
    (isOne(domain[missing + dim]) ? ones : dims).push_back(position[missing + dim]);
  if (dims.empty()) // only sizes of 1: any one of them
    dims = ones;
  llvm::sort(dims);
  dims.erase(llvm::unique(dims), dims.end());
  return dims;
}

void collapseGroup(GroupOp group) {
  normalise(group);
  sinkReshapes(group);
  Block &body = group.getBody().front();
  readKeptForms(body);
  auto collapsing = analyse(group);
  if (!collapsing || !llvm::is_contained(collapsing->joined, true))
    return;
  OpBuilder builder(group);
  MLIRContext *context = group.getContext();
  auto collapsed = [&](Value value) {
    return tensorType(collapsing->collapse(dimsOf(value), context), elementType(value));
  };
  // Operands and results are reshaped outside, which costs nothing: tensors are contiguous.
  for (auto [operand, argument] : llvm::zip(group->getOpOperands(), body.getArguments())) {
    Type type = collapsed(argument);
    operand.set(ReshapeOp::create(builder, group.getLoc(), type, operand.get()));
    argument.setType(type);
  }
  SmallVector<int64_t> position; // collapsed number of each old dimension
  for (bool join : collapsing->joined)
    position.push_back(position.empty() ? 0 : position.back() + (join ? 0 : 1));
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
    if (isa<ReshapeOp>(op)) { // both sides collapse to the same
      op.getResult(0).replaceAllUsesWith(op.getOperand(0));
      op.erase();
      continue;
    }
    if (auto reduction = dyn_cast<ReductionOpInterface>(op))
      op.setAttr("dims", builder.getDenseI64ArrayAttr(
                             collapsedDims(reduction, collapsing->domain, position)));
    op.getResult(0).setType(collapsed(op.getResult(0)));
  }
  builder.setInsertionPointAfter(group);
  for (Value result : group.getResults()) {
    Type plain = result.getType();
    result.setType(collapsed(result));
    if (result.use_empty())
      continue;
    auto back = ReshapeOp::create(builder, group.getLoc(), plain, result);
    result.replaceAllUsesExcept(back.getY(), back);
  }
}

} // namespace sinter::passes
