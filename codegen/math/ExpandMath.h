// Mathematical functions as plain arithmetic, on scalars and vectors alike, so that one accurate
// definition serves every target without a library: the same bits in JIT, artifact and emulator.
#pragma once

#include "mlir/Pass/Pass.h"

namespace sinter::codegen {

/// Rewrites math.exp, expm1, log, log1p, sin, cos, tan, tanh, erf, pow and atan2 on f32 into
/// arithmetic. f64 is left to libm.
std::unique_ptr<mlir::Pass> createExpandMathPass();

} // namespace sinter::codegen
