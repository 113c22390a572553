// Pointwise groups: a thread computes one vector of neighbouring elements, so that a warp's
// accesses are whole sectors.
#include "Emitters.h"
#include "ThreadKernel.h"

#include "kernel/Points.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen::cuda {

constexpr int64_t kPointThreads = 256;

GroupCode emitPointwise(ModuleOp module, GroupOp group, StringRef name, const Target &target) {
  ThreadKernel k(module, name, group.getLoc(), group.getBody().getArguments(),
                 group.getOutputs().size(), target.symbols, kPointThreads);
  Points points{group, k};
  MLIRContext *context = group.getContext();
  Dims domain = points.domain;
  AffineExpr total = product(domain, context);
  int64_t lanes = 1;
  bool oneRow = false;
  if (!domain.empty() && points.lanesPossible()) {
    int64_t width = vectorWidth(group);
    oneRow = isOne(product(ArrayRef<AffineExpr>(domain).drop_back(), context));
    lanes = oneRow ? width : dividingLanes(domain.back(), width);
    oneRow &= !total.isMultipleOf(lanes); // then its end needs single elements
  }
  auto emitAt = [&](Value first, int64_t width) {
    SmallVector<Index> at;
    for (Value index : k.delinearize(first, domain))
      at.push_back({index, 0});
    if (width > 1)
      at.back().step = 1;
    k.withLanes(width, [&] { points.emit(at); });
  };
  Value number = k.add(k.mul(k.block(), k.index(kPointThreads)), k.thread());
  Value first = k.mul(number, k.index(lanes)), size = k.dim(total);
  if (!oneRow || lanes == 1) {
    k.when(k.less(first, size), [&] { emitAt(first, lanes); });
  } else {
    Value end = k.add(first, k.index(lanes)), isCut = k.less(size, end);
    k.when(isCut, [&] { k.loop(first, size, 1, [&](Value i) { emitAt(i, 1); }); });
    k.when(k.inverse(isCut), [&] { emitAt(first, lanes); });
  }
  k.finish();
  GroupCode code;
  code.kernels.push_back({name.str(), simplify(total.ceilDiv(lanes * kPointThreads)), 0,
                          allOperands(group), unsigned(group.getOutputs().size()), kPointThreads});
  return code;
}

} // namespace sinter::codegen::cuda
