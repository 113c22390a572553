// The parts of an artifact that lie outside this program: the system's compiler driver, and the
// runtime's static libraries, in a build tree and in an installation alike. One thread.
#pragma once

#include "sinter/base/status.h"

#include <string>
#include <vector>

namespace sinter::tools {

/// The command that links: $CXX, or the first of c++, g++ and clang++ in PATH.
StatusOr<std::string> compilerDriver();
/// The folder that holds the runtime's static libraries.
StatusOr<std::string> runtimeFolder();
/// What an artifact needs beside the runtime's core.
enum class RuntimeExtra { None, OneDnn, Cuda, Emulator };
/// What follows the objects on the command line that links an artifact with the runtime.
StatusOr<std::vector<std::string>> runtimeArguments(RuntimeExtra extra);

} // namespace sinter::tools
