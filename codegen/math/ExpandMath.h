// Mathematical functions as plain arithmetic, on scalars and vectors alike, so that one accurate
// definition serves every target without a library: the same bits in JIT, artifact and emulator.
#pragma once

#include "mlir/Pass/Pass.h"

namespace sinter::codegen {

/// Rewrites math.exp, expm1, log, log1p, sin, cos, tanh, erf and atan2 on f32 into arithmetic. What
/// is left (f64, tan, pow) is libm's, or, without `libm`, arithmetic too.
std::unique_ptr<mlir::Pass> createExpandMathPass(bool libm);

} // namespace sinter::codegen
