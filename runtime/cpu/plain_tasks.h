// The tasks that need no library: zeroing, partial sums, bf16 staging.
#pragma once

#include "task_list.h"

namespace sinter::rt::onednn {

/// Fills with zero bytes.
Phase zeroPhase(Place place, int64_t bytes);
/// destination[i] = sum of the f32 partials[i], added in the order given.
/// The destination may be the first partial.
Phase sumPhase(std::vector<Place> partials, Place destination, int64_t elements);
/// Converts between f32 and bf16 (round to nearest even).
Phase convertPhase(Place source, DType from, Place destination, int64_t elements);

} // namespace sinter::rt::onednn
