// How long things take on a card: the copy bandwidth, each kernel of a training step by events, and
// whole steps by the clock. One thread.
#pragma once

#include "RunPack.h"

#include <string>
#include <vector>

namespace sinter::gpucheck {

/// Bytes a second that a copy on the card moves, reads and writes together; of several, the best.
StatusOr<double> copyBandwidth(rt::CudaDevice &device);

struct KernelTime {
  std::string command; ///< "conv.relu"
  std::string symbol;
  double seconds = 0; ///< a launch, of many in a row
  int64_t bytes = 0;  ///< that the command must move at least
};
/// Of each launch of a step. Kernels run over and over on the step's own buffers, so that what the
/// card's caches can hold stays there.
StatusOr<std::vector<KernelTime>> kernelTimes(LoadedPack &pack, const Case &c,
                                              rt::CudaDevice &device);

/// Seconds that `count` steps take, inputs, variables and results copied each time, as
/// rt::Executable does it; after a tenth of them to warm up. `executable` is prepared for `c`.
StatusOr<double> stepSeconds(rt::Executable &executable, const Case &c, int64_t count);

} // namespace sinter::gpucheck
