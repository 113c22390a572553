// Shapes as affine expressions: static sizes are constants, symbolic ones expressions of the
// program's symbols s0, s1, ... Everything that infers or checks shapes works on these, so static
// and symbolic need no separate code.
#pragma once

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"

namespace sinter::ir {

using Dims = llvm::SmallVector<mlir::AffineExpr, 4>;

/// Symbols a program may have; expressions are simplified over this many.
inline constexpr unsigned kMaxSymbols = 16;

/// Whether a ranked tensor type is static and plain, or has its sizes in a #sinter.dims encoding.
bool hasKnownSizes(mlir::Type type);
/// Size of each dimension of a ranked tensor type.
Dims dimsOf(mlir::Type type);
inline Dims dimsOf(mlir::Value value) { return dimsOf(value.getType()); }
/// The tensor type with these sizes: plain when all are constant, else `?` with a #sinter.dims
/// encoding.
mlir::RankedTensorType tensorType(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type element);
mlir::AffineExpr constantDim(int64_t size, mlir::MLIRContext *context);
/// Canonical form, in which equal sizes are equal pointers.
mlir::AffineExpr simplify(mlir::AffineExpr expr);
/// Product of the sizes, 1 for none.
mlir::AffineExpr product(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::MLIRContext *context);
std::optional<int64_t> constantSize(mlir::AffineExpr dim);
/// Elements of a tensor of this shape, for decisions made before a symbolic size is known: each
/// such size counts as 256.
int64_t estimatedElements(llvm::ArrayRef<mlir::AffineExpr> dims);
inline int64_t estimatedElements(mlir::Value value) { return estimatedElements(dimsOf(value)); }
bool isOne(mlir::AffineExpr dim);
/// "[s0, 784]".
std::string toString(llvm::ArrayRef<mlir::AffineExpr> dims);
mlir::Type elementType(mlir::Value value);
inline mlir::RankedTensorType tensorTypeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}
/// Output size of a window over `size` elements padded by `low` + `high`.
mlir::AffineExpr windowSize(mlir::AffineExpr size, int64_t kernel, int64_t stride, int64_t low,
                            int64_t high, int64_t dilation);

/// Row-major sizes times strides, for whoever indexes by hand.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> sizes);

} // namespace sinter::ir
