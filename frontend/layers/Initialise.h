// First values of parameters: reproducible numbers that depend on the seed and the parameter's
// path alone, not on the order of construction or on other parameters.
#pragma once

#include "sinter/module.h"

namespace sinter::detail {

/// Fills `array` (of a float type) in place.
void initialise(const Array &array, const Init &init, uint64_t seed, std::string_view path);

} // namespace sinter::detail
