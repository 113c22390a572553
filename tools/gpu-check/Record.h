// Makes packs: compiles a module for cards and, beside it, for the emulated one, on which the same
// cases run without a GPU. Compiler side; one thread each MLIRContext.
#pragma once

#include "Pack.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/SmallVector.h"

#include <string>

namespace sinter::gpucheck {

struct Recording {
  Pack pack;                           ///< the caller adds cases
  llvm::SmallVector<char, 0> emulated; ///< an object file; empty if there is no kernel
};

/// Compiles `module` (consumed). `assemble`: cubins too, where there is a ptxas. A failure has been
/// reported as a diagnostic.
llvm::FailureOr<Recording> record(mlir::ModuleOp module, const std::string &name, bool assemble);

/// Writes `<folder>/packs/<name>.pack` and `<folder>/emulated/<name>.o`.
Status write(const Recording &recording, const std::string &folder);

} // namespace sinter::gpucheck
