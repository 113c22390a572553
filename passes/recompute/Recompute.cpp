// sinter-recompute: cheap values are computed again where the backward pass uses them, instead of
// being kept from the forward pass.
//
// Contractions divide the graph into stages (an op's stage is the number of contractions on the
// longest way to it). A value that is read in a later stage than its own must be kept in between.
// Where few pointwise ops make it from values that are kept or written anyway, its late readers get
// copies of those ops, which fusion then pulls into their kernels.
#include "FreeOps.h"

#include "sinter/passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
#define GEN_PASS_DEF_RECOMPUTEPASS
#include "sinter/passes/Passes.h.inc"

namespace {

/// Ops that a late reader may have a copy of.
bool isRepeatable(Operation *op) {
  auto element = dyn_cast_or_null<ElementOpInterface>(op);
  return element && isMemoryEffectFree(op) && op->getNumResults() == 1 &&
         (element.isPointwise() || isFree(op));
}

int64_t costOf(Operation *op) {
  return isFree(op) ? 0 : cast<ElementOpInterface>(op).elementCost();
}

struct RecomputePass : impl::RecomputePassBase<RecomputePass> {
  using RecomputePassBase::RecomputePassBase;

  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    for (Operation &op : block) {
      unsigned stage = isa<ContractionOpInterface>(op) ? 1 : 0, before = 0;
      for (Value operand : op.getOperands())
        before = std::max(before, stageOf(operand));
      stages[&op] = before + stage;
    }
    SmallVector<Operation *> candidates;
    for (Operation &op : block)
      if (isRepeatable(&op))
        candidates.push_back(&op);
    // From the end: what a copy reads late counts as kept when its own makers are looked at.
    for (Operation *op : llvm::reverse(candidates))
      repeatForLateUsers(op);
  }

private:
  /// Copies that cost little beside the memory they save.
  static constexpr int64_t kMostCost = 12, kFewestElements = 4096;

  /// What has to be evaluated again for a value, and from what.
  struct Recipe {
    llvm::SetVector<Operation *> ops;
    llvm::SetVector<Value> roots; ///< large values it starts from
    int64_t cost = 0;
  };

  unsigned stageOf(Value value) const {
    Operation *op = value.getDefiningOp();
    return op ? stages.lookup(op) : 0;
  }
  /// Part of what a contraction does to its result before it writes it: a second reader of what
  /// lies before would take the epilogue away from it.
  static bool isEpilogue(Operation *op) {
    return op && op->getNumResults() == 1 && llvm::any_of(op->getOperands(), [&](Value operand) {
             Operation *maker = operand.getDefiningOp();
             return maker && operand.hasOneUse() &&
                    operand.getType() == op->getResult(0).getType() &&
                    (isa<ContractionOpInterface>(maker) || isEpilogue(maker));
           });
  }
  bool isLate(OpOperand &use) const { return stages.lookup(use.getOwner()) > stageOf(use.get()); }
  bool isKept(Value value) const {
    return isa<BlockArgument>(value) ||
           llvm::any_of(value.getUses(), [&](OpOperand &use) { return isLate(use); });
  }

  void collect(Value value, int64_t large, Recipe &recipe) const {
    Operation *op = value.getDefiningOp();
    bool isSmall = estimatedElements(value) * 8 <= large;
    if (!isRepeatable(op) || isEpilogue(op) || (isSmall && costOf(op) > 0)) {
      if (!isSmall)
        recipe.roots.insert(value);
      return;
    }
    if (recipe.ops.contains(op))
      return;
    recipe.cost += costOf(op);
    if (recipe.cost > kMostCost)
      return;
    for (Value operand : op->getOperands())
      collect(operand, large, recipe);
    recipe.ops.insert(op);
  }

  void repeatForLateUsers(Operation *op) {
    Value value = op->getResult(0);
    if (estimatedElements(value) < kFewestElements || isEpilogue(op))
      return;
    SmallVector<OpOperand *> late;
    for (OpOperand &use : value.getUses()) {
      if (!isa<ElementOpInterface, ReductionOpInterface>(use.getOwner()))
        return; // it is needed in memory anyway
      if (isLate(use))
        late.push_back(&use);
    }
    if (late.empty())
      return;
    Recipe recipe;
    collect(value, estimatedElements(value), recipe);
    if (recipe.cost == 0 || recipe.cost > kMostCost ||
        llvm::count_if(recipe.roots, [&](Value root) { return !isKept(root); }) > 1)
      return;
    for (OpOperand *use : late) {
      OpBuilder builder(use->getOwner());
      IRMapping mapping;
      for (Operation *part : recipe.ops)
        stages[builder.clone(*part, mapping)] = stages.lookup(use->getOwner());
      use->set(mapping.lookup(value));
    }
  }

  DenseMap<Operation *, unsigned> stages;
};

} // namespace
} // namespace sinter::passes
