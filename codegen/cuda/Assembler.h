// ptxas, the assembler of the CUDA toolkit. Artifacts and the JIT use it where it is; without it
// PTX alone is shipped, which the driver assembles when it loads it.
#pragma once

#include "sinter/codegen/Cuda.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace sinter::codegen::cuda {

struct Assembly {
  std::string cubin;
  int toolkit; ///< the CUDA version, 1000 major + 10 minor; 0: not told
  std::vector<CudaKernelUsage> kernels;
};

/// Path of ptxas: `given` if not empty, else $SINTER_PTXAS ("none": there is none), else in
/// CUDA_HOME/bin, PATH, /usr/local/cuda/bin. Empty: there is none.
std::string findPtxas(llvm::StringRef given = "");

/// Assembles PTX for "sm_90". The error holds what ptxas said.
llvm::Expected<Assembly> assemble(llvm::StringRef ptxas, llvm::StringRef ptx,
                                  llvm::StringRef architecture);

/// 12080 of what `ptxas --version` says of release 12.8; 0 if it says nothing of that kind.
int parseToolkit(llvm::StringRef output);
/// The kernels that `ptxas --verbose` tells of.
std::vector<CudaKernelUsage> parseUsage(llvm::StringRef output);

} // namespace sinter::codegen::cuda
