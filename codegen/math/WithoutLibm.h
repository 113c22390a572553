// f64 functions, and those on f32 that need f64 inside, as arithmetic: for devices, which have no
// libm.
#pragma once

#include "mlir/IR/Operation.h"

namespace sinter::codegen {

/// The value of a math op on f64, or of tan or pow on f32; null for others. Good to a few units in
/// the last place, sin, cos and tan while |x| < 2^20.
mlir::Value expandWithoutLibm(mlir::Operation *op);

} // namespace sinter::codegen
