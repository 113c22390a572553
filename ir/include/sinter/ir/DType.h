// The runtime's element types and MLIR's, one to one.
#pragma once

#include "sinter/base/dtype.h"

#include "mlir/IR/Types.h"

namespace sinter::ir {

mlir::Type elementType(mlir::MLIRContext &context, DType dtype);
/// The runtime's name of an element type, or of a tensor's. Integers of no runtime type count as
/// the widest below them.
DType dtypeOf(mlir::Type elementOrTensor);

} // namespace sinter::ir
