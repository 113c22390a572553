// Ahead-of-time compilation: from a packaged graph to object files that need nothing of the
// compiler.
#pragma once

#include "sinter/abi/artifact.h"
#include "sinter/codegen/Cuda.h"

#include <filesystem>
#include <optional>

namespace sinter::codegen {

/// What kernels moved on an emulated card.
struct KernelTraffic {
  std::string sizes;                          ///< of the symbols, "n=64"
  std::vector<sinter_kernel_traffic> kernels; ///< one a kernel of the program, in its order
};

struct ArtifactOptions {
  std::string name; ///< C identifier; the artifact exports `<name>_api`
  /// Where it runs, with what its code is for: "cpu" and `isas`, "cuda" and `architectures`, "emu".
  std::string target = "cpu";
  std::vector<std::string> isas;          ///< variants, e.g. {"x86-64-v3", "x86-64-v4"}
  std::vector<std::string> architectures; ///< {"sm_90", "sm_80"}
  std::string ptxas;                      ///< as CudaOptions has it
  std::filesystem::path weights;          ///< safetensors to embed; empty: external
  std::string weightsFile;                ///< external: file name relative to the artifact
  std::optional<KernelTraffic> traffic;   ///< to be told by `sinter inspect`; of a device alone
  CompileOptions compile;
};

struct ArtifactObjects {
  std::vector<llvm::SmallVector<char, 0>> objects;
  rt::Program program;
  CompileStats stats;
  std::vector<CudaCode> cuda; ///< one an architecture
};

/// Compiles `module` (consumed) for every variant or architecture. A failure has been reported as a
/// diagnostic.
llvm::FailureOr<ArtifactObjects> compileArtifact(mlir::ModuleOp module,
                                                 const ArtifactOptions &options);

/// The command list that compileArtifact would make of `module` (consumed), without machine code.
llvm::FailureOr<rt::Program> planArtifact(mlir::ModuleOp module, const CompileOptions &options);

/// The C header of an artifact: what its entries take and give, and how to call them.
std::string artifactHeader(const rt::Program &program, const std::string &name);

} // namespace sinter::codegen
