// CUDA kernels as machine code of this process, for the emulated device.
#pragma once

#include "cpu/Lowering.h"
#include "sinter/codegen/Compile.h"

namespace sinter::codegen {

/// Compiles `kernels` (consumed), those of `image.program`, and sets the image's device kernels. A
/// failure has been reported.
llvm::LogicalResult loadEmulated(mlir::ModuleOp kernels, const Isa &isa, bool instrument,
                                 JitImage &image);

} // namespace sinter::codegen
