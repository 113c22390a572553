// CUDA kernels as machine code of the CPU, for the emulated card.
#pragma once

#include "cpu/Lowering.h"
#include "sinter/codegen/Compile.h"

namespace sinter::codegen {

/// An object file with the description of each kernel, `sinter_emu_<kernel>`. A failure has been
/// reported on `kernels`, which is lowered in place.
llvm::FailureOr<llvm::SmallVector<char, 0>> emulatedObject(mlir::ModuleOp kernels, const Isa &isa,
                                                           bool instrument);
/// Puts them into this process and `image`.
llvm::LogicalResult loadEmulated(mlir::ModuleOp kernels, const Isa &isa, bool instrument,
                                 JitImage &image);

} // namespace sinter::codegen
