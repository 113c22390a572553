// Accumulators that several threads of a block have made together.
#pragma once

#include "ThreadKernel.h"

#include "kernel/Reducer.h"

namespace sinter::codegen::cuda {

constexpr int64_t kWarp = 32;

/// Combines `state` over each group of `width` neighbouring threads (a power of two that divides
/// the block); every thread gets the result of its group. All threads of the block must be here.
Values acrossThreads(Reducer &reducer, ThreadKernel &k, Reducer::Reductions reductions,
                     Values state, int64_t width);
/// Combines `state` over the threads whose numbers differ by multiples of `width`; thread numbers
/// below `width` get the result, others anything. All threads of the block must be here.
Values acrossRows(Reducer &reducer, ThreadKernel &k, Reducer::Reductions reductions, Values state,
                  int64_t width);
/// Combines the lanes of each accumulator, in order.
Values acrossLanes(Reducer &reducer, ThreadKernel &k, Reducer::Reductions reductions, Values state,
                   int64_t lanes);

} // namespace sinter::codegen::cuda
