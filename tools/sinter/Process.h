// Starting other programs and waiting for them. Any thread.
#pragma once

#include "sinter/base/status.h"

#include <string>
#include <vector>

namespace sinter::tools {

struct Outcome {
  int exitCode = 0;   ///< 128 + signal if one ended it, as shells count
  std::string output; ///< stdout and stderr, if captured
};

/// Runs `arguments[0]`, looked up in PATH unless it has a slash, until it ends; an error if it
/// cannot be started. Without `capture` it shares our stdout and stderr.
StatusOr<Outcome> runProgram(const std::vector<std::string> &arguments, bool capture);

} // namespace sinter::tools
