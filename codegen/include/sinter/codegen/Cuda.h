// Compilation for CUDA cards: needs no GPU, and the toolkit only for cubins.
#pragma once

#include "sinter/codegen/Compile.h"

namespace sinter::codegen {

/// For CudaOptions::ptxas: PTX alone.
inline constexpr const char *kNoPtxas = "none";

struct CudaOptions {
  std::vector<std::string> architectures; ///< {"sm_90", "sm_80"}
  /// ptxas; empty: the one in CUDA_HOME, PATH or /usr/local/cuda, and none if there is none.
  /// `kNoPtxas`: none.
  std::string ptxas = {};
  CompileOptions compile = {}; ///< its `isa` has no meaning here
};

/// What the assembler says of a kernel on one architecture.
struct CudaKernelUsage {
  std::string symbol;
  int64_t registers = 0;                   ///< a thread
  int64_t sharedBytes = 0;                 ///< static, a block
  int64_t stackBytes = 0;                  ///< a thread
  int64_t spillStores = 0, spillLoads = 0; ///< bytes a thread
};

/// All kernels of a program for one architecture.
struct CudaCode {
  std::string architecture; ///< "sm_90"
  std::string ir;           ///< the LLVM IR that became PTX, as text
  std::string ptx;
  std::string cubin;                  ///< empty without ptxas
  std::vector<CudaKernelUsage> usage; ///< empty without ptxas
};

struct CudaImage {
  rt::Program program;
  std::vector<CudaCode> code; ///< one an architecture
  CompileStats stats;
};

/// Compiles `module` (consumed). A failure has been reported as a diagnostic.
llvm::FailureOr<CudaImage> compileCuda(mlir::ModuleOp module, const CudaOptions &options);

} // namespace sinter::codegen
