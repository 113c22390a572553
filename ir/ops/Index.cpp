#include "ops/Verify.h"

using namespace mlir;
using namespace sinter::ir;

LogicalResult EmbeddingOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op, Types &types) {
  if (failed(checkRank(where, "the weight", op.getWeight().getType(), 2)))
    return failure();
  Dims dims = dimsOf(op.getIndex());
  dims.push_back(dimsOf(op.getWeight())[1]);
  types.push_back(withDims(dims, op.getWeight()));
  return success();
}

LogicalResult EmbeddingGradOp::verify() {
  if (failed(checkSameElement(getLoc(), getDy(), getY())) ||
      failed(checkRank(getLoc(), "the result", getType(), 2)))
    return failure();
  Dims dims = dimsOf(getIndex());
  dims.push_back(dimsOf(getY())[1]);
  if (dims == dimsOf(getDy()))
    return success();
  return emitError("dy is ") << shapeText(getDy()) << " where rows of " << shapeText(getY())
                             << " picked by index " << shapeText(getIndex()) << " are "
                             << toString(dims);
}

/// Checks that `index` addresses along `dim` of `x`: equal rank, nowhere else larger.
static LogicalResult checkIndex(Where where, Value x, Value index, int64_t dim) {
  if (failed(checkDim(where, dim, x.getType())))
    return failure();
  Dims sizes = dimsOf(x), picked = dimsOf(index);
  bool fits = sizes.size() == picked.size();
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    auto room = constantSize(simplify(sizes[i] - picked[i]));
    fits = int64_t(i) == dim || (room && *room >= 0);
  }
  if (fits)
    return success();
  return emitOptionalError(where, "index ", shapeText(index), " must have the rank of ",
                           shapeText(x), " and be no larger outside dimension ", dim);
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op, Types &types) {
  types.push_back(withDims(dimsOf(op.getIndex()), op.getX()));
  return checkIndex(where, op.getX(), op.getIndex(), op.getDim());
}

LogicalResult ScatterAddOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op, Types &types) {
  types.push_back(op.getX().getType());
  if (failed(checkSameElement(where, op.getX(), op.getSrc())))
    return failure();
  if (dimsOf(op.getSrc()) != dimsOf(op.getIndex()))
    return emitOptionalError(where, "shapes differ: src ", shapeText(op.getSrc()), " and index ",
                             shapeText(op.getIndex()));
  return checkIndex(where, op.getX(), op.getIndex(), op.getDim());
}

LogicalResult OneHotOp::inferReturnTypes(MLIRContext *context, Where where, Adaptor op,
                                         Types &types) {
  int64_t classes = op.getClasses();
  if (classes < 1)
    return emitOptionalError(where, "classes is ", classes, ", not 1 or more");
  if (!op.getType().isIntOrFloat() || op.getType().isInteger(1))
    return emitOptionalError(where, "the element type ", op.getType(), " is not a number's");
  Dims dims = dimsOf(op.getIndex());
  dims.push_back(constantDim(classes, context));
  types.push_back(tensorType(dims, op.getType()));
  return success();
}
