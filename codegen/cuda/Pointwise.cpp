// Pointwise groups: a thread computes one vector of neighbouring elements, so that a warp's
// accesses are whole sectors.
#include "GroupKernels.h"
#include "Strides.h"

#include "kernel/Points.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen::cuda {

constexpr int64_t kPointThreads = 256;

/// Whether neighbouring elements of the results are made of neighbouring elements, as far as the
/// first input tells; pooling windows lie further apart, and lanes would tear their sectors.
static bool readsNeighbours(const GroupKernels &kernels, const Dims &domain) {
  auto stride = strideOfLoad(kernels.group, kernels.target.symbols, [&](ThreadKernel &k, Value i) {
    SmallVector<Index> at(domain.size(), k.at(0));
    at.back() = {i, 0};
    k.valueAt(kernels.yield->getOperand(0), at);
  });
  return !stride || std::abs(*stride) <= 1;
}

GroupCode emitPointwise(ModuleOp module, GroupOp group, StringRef name, const Target &target) {
  if (std::optional<GroupCode> transposed = emitTransposed(module, group, name, target))
    return *std::move(transposed);
  GroupKernels kernels{module, group, name.str(), target};
  Dims domain = dimsOf(kernels.yield->getOperand(0));
  AffineExpr total = product(domain, kernels.context);
  int64_t lanes = 1;
  bool oneRow = false;
  if (!domain.empty() && lanesPossible(group) && readsNeighbours(kernels, domain)) {
    int64_t width = vectorWidth(group);
    oneRow = isOne(product(ArrayRef<AffineExpr>(domain).drop_back(), kernels.context));
    lanes = oneRow ? width : dividingLanes(domain.back(), width);
    oneRow &= !total.isMultipleOf(lanes); // then its end needs single elements
  }
  ThreadKernel k =
      kernels.start("", total.ceilDiv(lanes * kPointThreads), kPointThreads, {}, kernels.results());
  Points points{group, k};
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
  return std::move(kernels.code);
}

} // namespace sinter::codegen::cuda
