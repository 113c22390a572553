// Counts what a test binary allocates through operator new, by replacing it.
#pragma once

#include <cstdint>

namespace sinter::rt::test {

int64_t allocations(); ///< since the process started

} // namespace sinter::rt::test
