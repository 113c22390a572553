#include "GroupCode.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen {

bool lanesPossible(Value value, int64_t dim) {
  DenseMap<std::pair<Value, int64_t>, bool> known;
  std::function<bool(Value, int64_t)> possible = [&](Value value, int64_t dim) -> bool {
    Operation *op = value.getDefiningOp();
    auto element = dyn_cast_or_null<ElementOpInterface>(op);
    if (!element || dim < 0) // a load, a finished reduction, or the same in every lane
      return true;
    auto [entry, isNew] = known.try_emplace({value, dim}, true);
    if (!isNew)
      return entry->second;
    bool result = true;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      auto inner = element.laneDim(unsigned(i), dim);
      result = result && inner && possible(operand, *inner);
    }
    return known[{value, dim}] = result;
  };
  return possible(value, dim);
}

int64_t groupCost(GroupOp group) {
  int64_t cost = 0;
  for (Operation &op : group.getBody().front().without_terminator())
    if (auto element = dyn_cast<ElementOpInterface>(op))
      cost += element.elementCost();
  return std::max<int64_t>(cost, 1);
}

int64_t grainElements(GroupOp group) {
  // About 5 to 10 microseconds: far above the cost of a hand-over, far below that of an idle core.
  constexpr int64_t kInstructions = 131072, kFewest = 512;
  return llvm::alignTo(std::max(kFewest, kInstructions / (groupCost(group) + 3)), 64);
}

SmallVector<unsigned> allOperands(GroupOp group) {
  return llvm::to_vector(
      llvm::seq<unsigned>(0, group.getInputs().size() + group.getOutputs().size()));
}

int64_t lanesFor(AffineExpr size, const TargetInfo &target) {
  auto constant = constantSize(size);
  if (!constant || *constant >= target.lanes)
    return target.lanes;
  return *constant <= 1 ? 1 : int64_t(llvm::bit_floor(uint64_t(*constant)));
}

GroupCode emitGroup(ModuleOp module, GroupOp group, StringRef name, const TargetInfo &target) {
  StringRef kind = group.getKind();
  if (kind == "pointwise")
    return emitPointwise(module, group, name, target);
  if (kind == "reduction")
    return emitReduction(module, group, name, target);
  if (kind == "scatter")
    return emitScatter(module, group, name, target);
  return emitContraction(module, group, name, target);
}

} // namespace sinter::codegen
