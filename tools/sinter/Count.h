// Counts what a package's kernels move, on the emulated card, for `sinter compile --count`.
#pragma once

#include "sinter/base/status.h"
#include "sinter/codegen/Artifact.h"

#include <cstdint>
#include <map>
#include <string>

namespace sinter::tools {

/// Calls every entry of `module` (consumed) once on an emulated card with the L2 of an H200:
/// random inputs, variables 0. `sizes` are those of symbolic dimensions by name; others have the
/// least size there is, but 1. Errors name a dimension that is not there or out of its bounds; why
/// a module does not compile is a diagnostic's to tell.
StatusOr<codegen::KernelTraffic> countTraffic(mlir::ModuleOp module,
                                              codegen::CompileOptions options,
                                              const std::map<std::string, int64_t> &sizes);

} // namespace sinter::tools
