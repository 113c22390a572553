#include "ops/Fold.h"
#include "ops/Verify.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace sinter::ir;

template <class Adaptor>
static LogicalResult inferReduction(Where where, Adaptor op, Type element, Types &types) {
  ArrayRef<int64_t> reduced = op.getDims();
  Dims dims = dimsOf(op.getX()), result;
  for (auto [i, dim] : llvm::enumerate(reduced)) {
    if (failed(checkDim(where, dim, op.getX().getType())))
      return failure();
    if (i && dim <= reduced[i - 1])
      return emitOptionalError(where, "the dimensions ", listText(reduced), " of ",
                               shapeText(op.getX()), " must ascend, each named once");
  }
  for (auto [i, size] : llvm::enumerate(dims)) {
    if (!llvm::is_contained(reduced, int64_t(i)))
      result.push_back(size);
    else if (op.getKeepdim())
      result.push_back(constantDim(1, element.getContext()));
  }
  types.push_back(tensorType(result, element));
  return success();
}

LogicalResult SumOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op, Types &types) {
  return inferReduction(where, op, elementType(op.getX()), types);
}
LogicalResult MeanOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op, Types &types) {
  return inferReduction(where, op, elementType(op.getX()), types);
}
LogicalResult ProdOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op, Types &types) {
  return inferReduction(where, op, elementType(op.getX()), types);
}
LogicalResult MaxOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op, Types &types) {
  return inferReduction(where, op, elementType(op.getX()), types);
}
LogicalResult MinOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op, Types &types) {
  return inferReduction(where, op, elementType(op.getX()), types);
}
LogicalResult ArgmaxOp::inferReturnTypes(MLIRContext *context, Where where, Adaptor op,
                                         Types &types) {
  return inferReduction(where, op, IntegerType::get(context, 64), types);
}
LogicalResult ArgminOp::inferReturnTypes(MLIRContext *context, Where where, Adaptor op,
                                         Types &types) {
  return inferReduction(where, op, IntegerType::get(context, 64), types);
}

/// Number of elements reduced to one, when it is static.
template <class Op> static std::optional<int64_t> reducedCount(Op op) {
  Dims dims = dimsOf(op.getX());
  int64_t count = 1;
  for (int64_t dim : op.getDims()) {
    auto size = constantSize(dims[dim]);
    if (!size)
      return std::nullopt;
    count *= *size;
  }
  return count;
}

/// Replaces a reduction of single elements by a reshape, and one of a filled tensor by `ofFilled`
/// of the number and count.
template <class Op>
static LogicalResult simplifyReduction(Op op, PatternRewriter &rewriter,
                                       function_ref<Number(Number, int64_t)> ofFilled) {
  auto count = reducedCount(op);
  if (!count || *count < 1)
    return failure();
  if (auto number = filledWith(op.getX())) {
    rewriter.replaceOpWithNewOp<FullOp>(
        op, op.getType(), scalarAttr(ofFilled(*number, *count), elementType(op.getY())));
    return success();
  }
  if (*count != 1)
    return failure();
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getX());
  return success();
}

static Number same(Number number, int64_t) { return number; }

LogicalResult SumOp::canonicalize(SumOp op, PatternRewriter &rewriter) {
  return simplifyReduction(op, rewriter, [](Number number, int64_t count) {
    return number * Number{true, double(count), count};
  });
}
LogicalResult ProdOp::canonicalize(ProdOp op, PatternRewriter &rewriter) {
  return simplifyReduction(op, rewriter, [](Number number, int64_t count) {
    Number result = constantLike(number, 1);
    for (int64_t i = 0; i < count && result.toDouble() != 0 && number.toDouble() != 1; ++i)
      result = result * number;
    return result;
  });
}
LogicalResult MeanOp::canonicalize(MeanOp op, PatternRewriter &rewriter) {
  return simplifyReduction(op, rewriter, same);
}
LogicalResult MaxOp::canonicalize(MaxOp op, PatternRewriter &rewriter) {
  return simplifyReduction(op, rewriter, same);
}
LogicalResult MinOp::canonicalize(MinOp op, PatternRewriter &rewriter) {
  return simplifyReduction(op, rewriter, same);
}

/// The first of equal elements wins, so where there is but one, or all are the same, the index is
/// 0.
template <class Op> static LogicalResult simplifyArg(Op op, PatternRewriter &rewriter) {
  if (reducedCount(op) != 1 && !filledWith(op.getX()))
    return failure();
  rewriter.replaceOpWithNewOp<FullOp>(op, tensorTypeOf(op.getY()), 0.0);
  return success();
}

LogicalResult ArgmaxOp::canonicalize(ArgmaxOp op, PatternRewriter &rewriter) {
  return simplifyArg(op, rewriter);
}
LogicalResult ArgminOp::canonicalize(ArgminOp op, PatternRewriter &rewriter) {
  return simplifyArg(op, rewriter);
}
