// Ops that cost nothing where their result is used, which passes copy rather than keep.
#pragma once

#include "sinter/ir/Dialect.h"

namespace sinter::passes {

/// Ops so cheap that every consumer gets its own copy: fills, broadcasts, reshapes that only add or
/// drop dimensions of size 1.
bool isFree(mlir::Operation *op);
/// A reshape that only adds or drops dimensions of size 1.
bool isUnitReshape(mlir::Operation *op);
/// The dimensions that remain when those of size 1 are left out.
ir::Dims withoutOnes(llvm::ArrayRef<mlir::AffineExpr> dims);

} // namespace sinter::passes
