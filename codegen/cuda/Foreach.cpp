// The same pointwise group over several sets of tensors in one launch: each block belongs to one of
// them, and chooses its buffers by its number.
#include "GroupKernels.h"

#include "kernel/Points.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen::cuda {
namespace {

constexpr int64_t kForeachThreads = 256;

/// Where the blocks of each set end.
struct Sets {
  SmallVector<int64_t> elements, ends;

  Sets(ArrayRef<GroupOp> groups, int64_t blockElements) {
    for (GroupOp group : groups) {
      Dims dims = dimsOf(group.getResult(0));
      elements.push_back(*constantSize(product(dims, group->getContext())));
      ends.push_back((ends.empty() ? 0 : ends.back()) +
                     int64_t(llvm::divideCeil(elements.back(), blockElements)));
    }
  }
};

/// The index of element `linear` of the group's results: only the last dimension that has a size
/// counts, and goes on through all of them.
SmallVector<Index> through(KernelEmitter &k, const Dims &domain, Value linear, int64_t step) {
  SmallVector<Index> at(domain.size(), k.at(0));
  size_t last = domain.size() - 1;
  while (isOne(domain[last]))
    --last;
  at[last] = {linear, step};
  return at;
}

} // namespace

GroupCode emitForeach(ModuleOp module, ArrayRef<GroupOp> groups, StringRef name,
                      const Target &target) {
  GroupOp first = groups.front();
  unsigned count = unsigned(groups.size()), inputs = unsigned(first.getInputs().size()),
           outputs = unsigned(first.getOutputs().size());
  int64_t lanes = lanesPossible(first) ? vectorWidth(first) : 1;
  Sets sets(groups, lanes * kForeachThreads);
  ThreadKernel k(module, name, first.getLoc(), first.getBody().getArguments(),
                 count * (inputs + outputs) - inputs, target.symbols, kForeachThreads);
  SmallVector<Value> isBefore;
  for (int64_t end : sets.ends)
    isBefore.push_back(k.less(k.block(), k.index(end)));
  auto choose = [&](function_ref<Value(unsigned)> of) {
    Value chosen = of(count - 1);
    for (unsigned i = count - 1; i-- > 0;)
      chosen = k.select(isBefore[i], of(i), chosen);
    return chosen;
  };
  SmallVector<Value> buffers;
  for (unsigned i = 0; i < inputs; ++i)
    buffers.push_back(choose([&](unsigned set) { return k.buffer(set * inputs + i); }));
  for (unsigned i = 0; i < outputs; ++i)
    buffers.push_back(
        choose([&](unsigned set) { return k.buffer(count * inputs + set * outputs + i); }));
  k.rebind(buffers);
  Value begin = choose([&](unsigned set) { return k.index(set ? sets.ends[set - 1] : 0); });
  Value size = choose([&](unsigned set) { return k.index(sets.elements[set]); });
  Value number = k.add(k.mul(k.sub(k.block(), begin), k.index(kForeachThreads)), k.thread());
  Value from = k.mul(number, k.index(lanes)), to = k.add(from, k.index(lanes));
  Points points{first, k};
  auto emitAt = [&](Value element, int64_t width) {
    k.withLanes(width, [&] { points.emit(through(k, points.domain, element, width > 1 ? 1 : 0)); });
  };
  Value isCut = k.less(size, to);
  k.when(isCut, [&] { k.loop(from, size, 1, [&](Value i) { emitAt(i, 1); }); });
  k.when(k.inverse(isCut), [&] { emitAt(from, lanes); });
  k.finish();
  GroupCode code;
  code.kernels.push_back({name.str(),
                          constantDim(sets.ends.back(), first.getContext()),
                          0,
                          {},
                          count * outputs,
                          kForeachThreads});
  return code;
}

} // namespace sinter::codegen::cuda
