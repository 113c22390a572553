// What kernels of all targets go through on their way to LLVM's code generators.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace sinter::codegen {

/// Lowers a module of kernels to the llvm dialect in place. What has no expansion of ours becomes a
/// call of libm, or, without `libm`, stays as it is.
llvm::LogicalResult lowerKernels(mlir::ModuleOp kernels, bool libm);
/// Simplifies, hoists and strength-reduces kernels, which are already vectorised and unrolled.
void optimise(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace sinter::codegen
