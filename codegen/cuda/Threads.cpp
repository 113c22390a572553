#include "Threads.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen::cuda {

static Values warpWide(Reducer &reducer, ThreadKernel &k, Reducer::Reductions reductions,
                       Values state, int64_t width) {
  for (int64_t distance = width / 2; distance >= 1; distance /= 2) {
    Values other;
    for (Value value : state)
      other.push_back(k.exchange(value, distance));
    state = reducer.combine(reductions, state, other);
  }
  return state;
}

Values acrossThreads(Reducer &reducer, ThreadKernel &k, Reducer::Reductions reductions,
                     Values state, int64_t width) {
  state = warpWide(reducer, k, reductions, std::move(state), std::min(width, kWarp));
  if (width <= kWarp)
    return state;
  // One accumulator a warp through shared memory; then every warp combines those of its group.
  int64_t warps = width / kWarp;
  Value warp = k.quotient(k.thread(), kWarp), lane = k.remainder(k.thread(), kWarp);
  Values arrays;
  for (Value value : state)
    arrays.push_back(k.shared(value.getType(), k.threads() / kWarp));
  k.when(k.less(lane, k.index(1)), [&] {
    for (auto [array, value] : llvm::zip(arrays, state))
      k.storeShared(array, value, warp);
  });
  k.barrier();
  Value from =
      k.add(k.mul(k.quotient(k.thread(), width), k.index(warps)), k.remainder(lane, warps));
  for (auto [array, value] : llvm::zip(arrays, state))
    value = k.loadShared(array, value.getType(), from);
  return warpWide(reducer, k, reductions, std::move(state), warps);
}

Values acrossRows(Reducer &reducer, ThreadKernel &k, Reducer::Reductions reductions, Values state,
                  int64_t width) {
  int64_t rows = k.threads() / width;
  if (rows == 1)
    return state;
  Values arrays;
  for (Value value : state) {
    arrays.push_back(k.shared(value.getType(), k.threads()));
    k.storeShared(arrays.back(), value, k.thread());
  }
  for (int64_t live = rows / 2; live >= 1; live /= 2) {
    k.barrier();
    Value isBelow = k.less(k.thread(), k.index(live * width));
    k.when(isBelow, [&] {
      Values own, other;
      for (auto [array, value] : llvm::zip(arrays, state)) {
        own.push_back(k.loadShared(array, value.getType(), k.thread()));
        other.push_back(
            k.loadShared(array, value.getType(), k.add(k.thread(), k.index(live * width))));
      }
      for (auto [array, value] : llvm::zip(arrays, reducer.combine(reductions, own, other)))
        k.storeShared(array, value, k.thread());
    });
  }
  k.barrier();
  for (auto [array, value] : llvm::zip(arrays, state))
    value = k.loadShared(array, value.getType(), k.thread());
  return state;
}

Values acrossLanes(Reducer &reducer, ThreadKernel &k, Reducer::Reductions reductions, Values state,
                   int64_t lanes) {
  Values sum;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Values scalars;
    for (Value vector : state)
      scalars.push_back(k.extract(vector, lane));
    sum = lane == 0 ? scalars : reducer.combine(reductions, sum, scalars);
  }
  return sum;
}

} // namespace sinter::codegen::cuda
