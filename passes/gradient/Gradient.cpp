#include "decompose/Parts.h"
#include "sinter/passes/Passes.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace sinter::passes {

#define GEN_PASS_DEF_GRADIENTPASS
#include "sinter/passes/Passes.h.inc"

namespace {

/// One gradients op being expanded: reverse accumulation over the ops between the values asked for
/// and y.
class Expansion {
public:
  explicit Expansion(ir::GradientsOp request) : request(request), builder(request) {}
  LogicalResult run();

private:
  LogicalResult checkBlock();
  void findPath();
  LogicalResult openComposites();
  void differentiate(ir::DifferentiableOpInterface op);
  void accumulate(Value value, Value grad, Location loc);

  ir::GradientsOp request;
  OpBuilder builder;
  llvm::DenseSet<Value> active;  ///< depends on a value asked for, differentiably
  SmallVector<Operation *> path; ///< ops from active operands to y, last first
  llvm::DenseMap<Value, Value> grads;
};

} // namespace

static bool isFloat(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && isa<FloatType>(tensor.getElementType());
}

/// A pointwise op without gradient is constant but for steps (sign, floor), or means to be
/// (stop_gradient).
static bool stopsGradients(Operation *op) {
  auto element = dyn_cast<ir::ElementOpInterface>(op);
  return element && element.isPointwise() &&
         !isa<ir::DifferentiableOpInterface, ir::DecomposableOpInterface>(op);
}

LogicalResult Expansion::run() {
  if (failed(checkBlock()) || failed(openComposites()))
    return failure();
  Value y = request.getY();
  ir::TensorExpr like(builder, request.getLoc(), y);
  grads[y] = request.getSeed() ? request.getSeed() : like.constant(1).value;
  for (Operation *op : path)
    differentiate(cast<ir::DifferentiableOpInterface>(op));
  SmallVector<Value> results;
  for (Value value : request.getWrt()) {
    Value grad = grads.lookup(value);
    results.push_back(grad ? grad
                           : ir::TensorExpr(builder, request.getLoc(), value).constant(0).value);
  }
  request->replaceAllUsesWith(results);
  request->erase();
  return success();
}

LogicalResult Expansion::checkBlock() {
  for (Value value : request->getOperands())
    if (value.getParentBlock() != request->getBlock())
      return request->emitError(
          "gradients of a value computed in another region; ask for them where it is computed");
  return success();
}

void Expansion::findPath() {
  active.clear();
  path.clear();
  active.insert_range(request.getWrt());
  Operation *last = request.getY().getDefiningOp();
  if (!last)
    return;
  for (Operation &op :
       llvm::make_range(request->getBlock()->begin(), std::next(last->getIterator()))) {
    if (stopsGradients(&op) ||
        llvm::none_of(op.getOperands(), [&](Value value) { return active.contains(value); }))
      continue;
    for (Value result : llvm::make_filter_range(op.getResults(), isFloat))
      active.insert(result);
  }
  llvm::DenseSet<Value> reached{request.getY()};
  for (Operation *op = last; op; op = op->getPrevNode()) {
    auto isOn = [&](Value value) { return active.contains(value); };
    if (stopsGradients(op) || llvm::none_of(op->getOperands(), isOn) ||
        llvm::none_of(op->getResults(),
                      [&](Value value) { return isOn(value) && reached.contains(value); }))
      continue;
    path.push_back(op);
    for (Value operand : llvm::make_filter_range(op->getOperands(), isOn))
      reached.insert(operand);
  }
}

/// Finds the path, with ops that have no gradient of their own replaced by their parts.
LogicalResult Expansion::openComposites() {
  for (bool changed = true; changed;) {
    findPath();
    changed = false;
    for (Operation *op : path) {
      if (isa<ir::DifferentiableOpInterface>(op))
        continue;
      auto composite = dyn_cast<ir::DecomposableOpInterface>(op);
      if (!composite) {
        auto diagnostic = op->emitOpError(
            "has no gradient; use stop_gradient on its input if none is meant to flow");
        diagnostic.attachNote(request.getLoc()) << "gradients asked for here";
        return diagnostic;
      }
      replaceByParts(composite);
      changed = true;
    }
  }
  return success();
}

void Expansion::differentiate(ir::DifferentiableOpInterface op) {
  auto resultGrads =
      llvm::map_to_vector(op->getResults(), [&](Value result) { return grads.lookup(result); });
  if (llvm::none_of(resultGrads, [](Value grad) { return bool(grad); }))
    return;
  auto needed = llvm::map_to_vector(op->getOperands(),
                                    [&](Value operand) { return active.contains(operand); });
  SmallVector<Value> operandGrads(op->getNumOperands());
  op.buildGradient(builder, resultGrads, needed, operandGrads);
  for (auto [operand, wanted, grad] : llvm::zip(op->getOperands(), needed, operandGrads))
    if (wanted && grad)
      accumulate(operand, grad, op->getLoc());
}

void Expansion::accumulate(Value value, Value grad, Location loc) {
  assert(value.getType() == grad.getType() && "a gradient has its value's type");
  Value &sum = grads[value];
  sum = sum ? (ir::TensorExpr(builder, loc, sum) + ir::TensorExpr(builder, loc, grad)).value : grad;
}

namespace {
struct GradientPass : impl::GradientPassBase<GradientPass> {
  void runOnOperation() override {
    SmallVector<ir::GradientsOp> requests;
    getOperation().walk([&](ir::GradientsOp op) { requests.push_back(op); });
    for (ir::GradientsOp request : requests)
      if (failed(Expansion(request).run()))
        return signalPassFailure();
  }
};
} // namespace

} // namespace sinter::passes
