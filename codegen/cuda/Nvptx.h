// From CUDA kernels in structured dialects to LLVM IR for nvptx64, and from there to PTX. The same
// LLVM IR is what the emulator executes.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace sinter::codegen::cuda {

/// A compute capability with the oldest PTX ISA that has its features, so that old drivers take it.
struct Architecture {
  llvm::StringRef name; ///< "sm_90"
  llvm::StringRef ptx;  ///< "7.8"
  llvm::StringRef features;
};
llvm::ArrayRef<Architecture> allArchitectures();
/// Null for an unknown name.
const Architecture *findArchitecture(llvm::StringRef name);

/// Lowers `kernels` in place and translates them, optimised. Null: a failure, which has been
/// reported on `kernels`.
std::unique_ptr<llvm::Module> translate(mlir::ModuleOp kernels, llvm::LLVMContext &context,
                                        const Architecture &architecture);
/// PTX of a translated module, which is changed by it.
llvm::FailureOr<std::string> emitPtx(llvm::Module &module, const Architecture &architecture,
                                     mlir::Location loc);

} // namespace sinter::codegen::cuda
