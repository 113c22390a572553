// The graph half of the compiler, which JIT and artifact share.
#pragma once

#include "sinter/codegen/Compile.h"

namespace sinter::codegen {

/// From a traced module to fused groups, in place; counts ops and groups.
llvm::LogicalResult optimiseGraph(mlir::ModuleOp module, const CompileOptions &options,
                                  CompileStats &stats);

} // namespace sinter::codegen
