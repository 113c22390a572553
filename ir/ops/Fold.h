// Constants as the attributes folders see: a float or integer attribute of the element type stands
// for a tensor of any shape, symbolic too, filled with it (sinter.full); other values are an
// ElementsAttr (sinter.constant).
#pragma once

#include "sinter/ir/Dialect.h"

namespace sinter::ir {

/// The number a tensor is filled with, when `constant` is such an attribute.
std::optional<Number> filledWith(mlir::Attribute constant);
bool isFilledWith(mlir::Attribute constant, double number);
/// The same question about a value.
std::optional<Number> filledWith(mlir::Value value);
bool isFilledWith(mlir::Value value, double number);

/// `number`, rounded, as an attribute of the element type.
mlir::TypedAttr scalarAttr(Number number, mlir::Type element);
mlir::TypedAttr scalarAttr(double number, mlir::Type element);
/// The scalar attribute where all elements are the same, else `elements`.
mlir::Attribute canonicalConstant(mlir::ElementsAttr elements);

/// Folds ops over constants by evaluating them as the reference interpreter does: elementwise ops
/// over filled tensors of any size, others while they are small.
void addConstantFolding(SinterDialect &dialect);

} // namespace sinter::ir
