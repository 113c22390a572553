// Object files of an artifact: kernels for each instruction set or device, and the image that
// describes them to the runtime.
#pragma once

#include "sinter/codegen/Artifact.h"

#include "cpu/Lowering.h"

namespace sinter::codegen {

/// What an image refers to.
struct ImageParts {
  explicit ImageParts(const rt::Program &program) : program(program) {}

  const rt::Program &program;
  // Of the CPU's artifacts: instruction sets and, for each, the kernels' symbols.
  llvm::SmallVector<const Isa *> isas;
  std::vector<std::vector<std::string>> symbols;
  // Of a device's.
  llvm::ArrayRef<CudaCode> cuda;
  std::vector<std::string> emulated; ///< symbols of the kernels' descriptions
};

/// An object with the artifact's image and its one exported function.
llvm::FailureOr<llvm::SmallVector<char, 0>> emitImage(const ArtifactOptions &options,
                                                      const ImageParts &parts);

} // namespace sinter::codegen
