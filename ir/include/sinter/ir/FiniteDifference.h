// Numeric gradients, the yardstick of the analytic ones. Slow: two runs of the function an element.
#pragma once

#include "sinter/ir/Reference.h"

namespace sinter::ir {

/// Gradient of the sum of the function's first result's elements with respect to argument
/// `argument`, by central differences over doubles: (f(x + h) - f(x - h)) / 2h with h = `step` *
/// max(1, |x|); error O(step^2) away from kinks. `variables` are those the function reads. The
/// result has the argument's shape and keeps doubles.
llvm::FailureOr<ReferenceTensor>
finiteDifference(mlir::Operation *function, llvm::ArrayRef<ReferenceTensor> arguments,
                 unsigned argument, const std::map<std::string, ReferenceTensor> &variables = {},
                 double step = 1e-5);

} // namespace sinter::ir
