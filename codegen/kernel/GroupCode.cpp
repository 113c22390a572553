#include "GroupCode.h"

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

SmallVector<unsigned> allOperands(GroupOp group) {
  return llvm::to_vector(
      llvm::seq<unsigned>(0, group.getInputs().size() + group.getOutputs().size()));
}

} // namespace sinter::codegen
