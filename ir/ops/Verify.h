// What type inference and verifiers of all families share. Messages name the shapes involved and no
// op: whoever shows them (the DSL, an MLIR diagnostic) knows the op and its place.
#pragma once

#include "sinter/ir/Dialect.h"

namespace sinter::ir {

/// Where a failed inference reports; nothing is reported without.
using Where = std::optional<mlir::Location>;
using Types = llvm::SmallVectorImpl<mlir::Type>;

/// "[s0, 784]".
std::string shapeText(mlir::Type type);
inline std::string shapeText(mlir::Value value) { return shapeText(value.getType()); }
std::string sizeText(mlir::AffineExpr size);
std::string listText(llvm::ArrayRef<int64_t> list);

inline int64_t rankOf(mlir::Value value) { return tensorTypeOf(value).getRank(); }
inline mlir::Type withDims(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Value like) {
  return tensorType(dims, elementType(like));
}

/// Whether a permutation swaps the last two dimensions and nothing else: that of a transposed
/// matrix.
bool swapsLastTwo(llvm::ArrayRef<int64_t> permutation);

llvm::LogicalResult checkDim(Where where, int64_t dim, mlir::Type type);
llvm::LogicalResult checkCount(Where where, llvm::StringRef name, llvm::ArrayRef<int64_t> list,
                               int64_t count);
llvm::LogicalResult checkRank(Where where, llvm::StringRef name, mlir::Type type, int64_t rank);
llvm::LogicalResult checkSameElement(Where where, mlir::Value left, mlir::Value right);
llvm::LogicalResult checkProbability(Where where, llvm::StringRef name, double value);

/// Smallest value of `expr` over the symbols' bounds as `op`'s module declares them (undeclared: 1
/// and up), or nullopt where it has none.
std::optional<int64_t> lowerBound(mlir::AffineExpr expr, mlir::Operation *op);

/// A window sliding over the height and width of an image. padding: top, left, bottom, right.
struct SlidingWindow {
  llvm::ArrayRef<int64_t> kernel, stride, padding, dilation;
};
/// Dimensions of `image` after `window` slid over it.
llvm::FailureOr<Dims> slide(Where where, mlir::Type image, bool channelsLast,
                            const SlidingWindow &window);

} // namespace sinter::ir
