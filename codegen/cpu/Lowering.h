// From kernels in structured dialects to machine code: MLIR's conversions, LLVM's optimiser and
// code generator.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/SmallVector.h"

#include <string>

namespace llvm {
class Module;
}

namespace sinter::codegen {

/// An instruction-set variant, the same names in JIT and artifact.
struct Isa {
  llvm::StringRef name;     ///< "x86-64-v3"
  llvm::StringRef cpu;      ///< LLVM's name
  llvm::StringRef features; ///< beyond the cpu's
  int64_t lanes;            ///< f32 elements in a vector register
};
/// Null for an unknown name.
const Isa *findIsa(llvm::StringRef name);
llvm::ArrayRef<Isa> allIsas();

/// Machine code of a lowered module as a relocatable object file, its functions visible outside of
/// what it is linked into only if `exported`. A failure has been reported on `kernels`.
llvm::FailureOr<llvm::SmallVector<char, 0>> compileToObject(mlir::ModuleOp kernels, const Isa &isa,
                                                            bool exported);
/// Machine code of an LLVM module, not optimised further.
llvm::FailureOr<llvm::SmallVector<char, 0>> emitObject(llvm::Module &module, const Isa &isa);

} // namespace sinter::codegen
