// Compilation for CUDA cards: needs no GPU, and the toolkit only for cubins.
#pragma once

#include "sinter/codegen/Compile.h"

namespace sinter::codegen {

struct CudaOptions {
  std::vector<std::string> architectures; ///< {"sm_90", "sm_80"}
  /// ptxas; empty: $SINTER_PTXAS, or the one in CUDA_HOME, PATH or /usr/local/cuda, and none if
  /// there is none.
  std::string ptxas = {};
  bool assemble = true;        ///< false: PTX alone, for the driver of the card at hand
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
  int toolkit = 0;                    ///< CUDA version of ptxas, 1000 major + 10 minor
  std::vector<CudaKernelUsage> usage; ///< empty without ptxas
};

struct CudaImage {
  rt::Program program;
  std::vector<CudaCode> code; ///< one an architecture
  CompileStats stats;
};

/// The assembler that compileCuda takes by itself and its version, "CUDA 13.0,
/// /usr/local/cuda/bin/ptxas"; empty: there is none.
std::string describeToolkit();

/// The newest architecture whose code a card of capability `capability` (10 major + minor) runs;
/// empty: the card is too old.
std::string architectureFor(int capability);

/// Compiles `module` (consumed). A failure has been reported as a diagnostic.
llvm::FailureOr<CudaImage> compileCuda(mlir::ModuleOp module, const CudaOptions &options);

} // namespace sinter::codegen
