// Turns fused functions into the command list, emitting the kernels on the way. Equal groups share
// one kernel.
#pragma once

#include "kernel/GroupCode.h"
#include "sinter/core/program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace sinter::codegen {

struct ProgramOptions {
  EmitGroup emit;
  bool vendor = true; ///< library calls where the vendor library supports them
};

/// Builds the program of all public functions of `module`; kernels go to `kernels`. A failure has
/// been reported.
llvm::FailureOr<rt::Program> buildProgram(mlir::ModuleOp module, mlir::ModuleOp kernels,
                                          const ProgramOptions &options);

} // namespace sinter::codegen
