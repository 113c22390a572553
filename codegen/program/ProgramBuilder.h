// Turns fused functions into the command list, emitting the kernels on the way. Equal groups share
// one kernel.
#pragma once

#include "kernel/GroupCode.h"
#include "sinter/core/program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace sinter::codegen {

/// Whether the target's library takes a call on operands of the type.
using LibraryTakes = std::function<bool(const rt::LibraryCall &, DType)>;

struct ProgramOptions {
  EmitGroup emit;
  EmitForeach emitForeach = {}; ///< null: every group has launches of its own
  LibraryTakes library = {};    ///< null: there is no library
};

/// What CompileOptions::vendor stands for; null for "none".
LibraryTakes libraryOf(llvm::StringRef vendor);

/// Builds the program of all public functions of `module`; kernels go to `kernels`. A failure has
/// been reported.
llvm::FailureOr<rt::Program> buildProgram(mlir::ModuleOp module, mlir::ModuleOp kernels,
                                          const ProgramOptions &options);

} // namespace sinter::codegen
