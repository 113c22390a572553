// Shorthand for writing gradients and decompositions as tensor expressions: what Expr.h's
// arithmetic lacks to reduce, broadcast and move tensors. Everything is built at the expression's
// builder and location.
#pragma once

#include "sinter/ir/Dialect.h"

namespace sinter::ir {

/// An operand or result of `op`, for formulas built in its place.
inline TensorExpr exprOf(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Value value) {
  return {builder, op->getLoc(), value};
}

/// Every element is `number`; the type is `like`'s.
TensorExpr filled(const TensorExpr &like, double number);
TensorExpr filled(const TensorExpr &at, mlir::RankedTensorType type, double number);
/// start, start + step, ... along `dim` of a tensor of these sizes, the same along its other
/// dimensions.
TensorExpr positions(const TensorExpr &at, llvm::ArrayRef<mlir::AffineExpr> dims, int64_t dim,
                     mlir::Type element, int64_t start = 0, int64_t step = 1);

/// No op where the type is right already.
TensorExpr reshaped(const TensorExpr &x, llvm::ArrayRef<mlir::AffineExpr> dims);
TensorExpr expanded(const TensorExpr &x, llvm::ArrayRef<mlir::AffineExpr> dims);
TensorExpr converted(const TensorExpr &x, mlir::Type element);
/// As f32 where elements are f16 or bf16: statistics and sums of many elements need it.
TensorExpr widened(const TensorExpr &x);

/// Reductions that keep the reduced dimensions with size 1.
TensorExpr summed(const TensorExpr &x, llvm::ArrayRef<int64_t> dims);
TensorExpr averaged(const TensorExpr &x, llvm::ArrayRef<int64_t> dims);
TensorExpr largest(const TensorExpr &x, llvm::ArrayRef<int64_t> dims);
/// The transpose of `expanded`: x summed where a tensor of these sizes is repeated to get x's.
TensorExpr summedTo(const TensorExpr &x, llvm::ArrayRef<mlir::AffineExpr> dims);

/// x / size. A size that is known only at run time is counted then.
TensorExpr dividedBy(const TensorExpr &x, mlir::AffineExpr size);
/// `size` in every element of a tensor of `type`.
TensorExpr sizeOf(const TensorExpr &at, mlir::AffineExpr size, mlir::RankedTensorType type);
/// Number of elements along some dimensions.
mlir::AffineExpr extent(llvm::ArrayRef<mlir::AffineExpr> dims, llvm::ArrayRef<int64_t> along);
/// `dims` with size 1 in those of `reduced`.
Dims keptDims(llvm::ArrayRef<mlir::AffineExpr> dims, llvm::ArrayRef<int64_t> reduced);
/// Every dimension but one.
llvm::SmallVector<int64_t> allBut(int64_t rank, int64_t dim);

} // namespace sinter::ir
