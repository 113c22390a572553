// Threads that work beside the computation.
#pragma once

#include "sinter/base/status.h"

#include <functional>
#include <thread>

namespace sinter::rt::data {

/// Runs `body` on a thread that takes no signals (they are the application's)
/// and has a lower priority than the one that starts it.
StatusOr<std::thread> startBackground(std::function<void()> body);

/// Bytes of memory this process may use: the machine's, or its control group's if that is less.
int64_t availableMemory();

} // namespace sinter::rt::data
