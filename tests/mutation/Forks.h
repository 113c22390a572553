// Runs jobs in children of this process, so that what hangs or crashes takes nothing along.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace sinter::mutation {

struct Ended {
  enum How { Answered, TimedOut, Crashed, Failed } how;
  std::string text; ///< the answer, the signal, or what `run` threw
};

/// Answers of jobs 0 to `count` - 1, at most `parallel` at a time. `run` is called in the child;
/// `seconds` is a job's limit. This process has one thread.
void runForked(size_t count, unsigned parallel, const std::function<double(size_t)> &seconds,
               const std::function<std::string(size_t)> &run,
               const std::function<void(size_t, const Ended &)> &done);

} // namespace sinter::mutation
