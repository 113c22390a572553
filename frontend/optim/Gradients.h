// Gradients of a value of the trace, for gradients() and the optimizers.
#pragma once

#include "tracing/Call.h"

#include "llvm/ADT/DenseSet.h"

namespace sinter::detail {

/// All values that `value` is computed from, itself included.
llvm::DenseSet<mlir::Value> ancestors(mlir::Value value);
/// The value of an operand to differentiate; an Error if it has no gradient.
mlir::Value differentiated(Call &call, const Operand &y);
std::vector<mlir::Value> gradientsOf(Call &call, mlir::Value y,
                                     const std::vector<mlir::Value> &wrt);
/// The newest value of a variable that is among `ancestors`; null if none is.
mlir::Value versionIn(Call &call, const std::shared_ptr<VariableState> &variable,
                      const llvm::DenseSet<mlir::Value> &ancestors);

} // namespace sinter::detail
