// Object files of an artifact: kernels for each instruction set, and the image that describes them
// to the runtime.
#pragma once

#include "sinter/codegen/Artifact.h"

#include "cpu/Lowering.h"

namespace sinter::codegen {

/// An object with the artifact's image and its one exported function; `symbols` are the kernels of
/// each variant.
llvm::FailureOr<llvm::SmallVector<char, 0>>
emitImage(const ArtifactOptions &options, llvm::ArrayRef<std::byte> program,
          llvm::ArrayRef<const Isa *> isas, llvm::ArrayRef<std::vector<std::string>> symbols);

} // namespace sinter::codegen
