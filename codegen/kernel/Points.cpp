#include "Points.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen {

/// The index of an output, which differs from the domain in dimensions of size 1 at most.
SmallVector<Index> Points::indexOf(Value output, ArrayRef<Index> at) {
  SmallVector<Index> result;
  size_t next = 0;
  for (AffineExpr size : dimsOf(output)) {
    while (!isOne(size) && isOne(domain[next]))
      ++next;
    result.push_back(isOne(size) ? k.at(0) : at[next++]);
  }
  return result;
}

bool lanesPossible(GroupOp group) {
  Operation *yield = group.getBody().front().getTerminator();
  return llvm::all_of(yield->getOperands(), [](Value output) {
    Dims dims = dimsOf(output);
    int64_t last = int64_t(dims.size()) - 1;
    while (last >= 0 && isOne(dims[last]))
      --last;
    return codegen::lanesPossible(output, last);
  });
}

void Points::emit(ArrayRef<Index> at) {
  SmallVector<Value> values;
  for (Value output : yield->getOperands())
    values.push_back(k.valueAt(output, indexOf(output, at)));
  for (auto [i, value] : llvm::enumerate(values)) {
    Value output = yield->getOperand(i);
    k.store(unsigned(group.getInputs().size() + i), output, indexOf(output, at), value);
  }
}

} // namespace sinter::codegen
