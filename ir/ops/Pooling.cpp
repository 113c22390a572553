#include "ops/Verify.h"

using namespace mlir;
using namespace sinter::ir;

/// Dimensions of pooled `image`; `op` is any op or adaptor with the attributes of a pooling.
template <class Pool> static FailureOr<Dims> pool(Where where, Type image, Pool op) {
  return slide(where, image, op.getChannelsLast(),
               {op.getKernel(), op.getStride(), op.getPadding(), op.getDilation()});
}

template <class Adaptor>
static LogicalResult inferPool(Where where, Adaptor op, Type element, Types &types) {
  auto dims = pool(where, op.getX().getType(), op);
  if (failed(dims))
    return failure();
  types.push_back(tensorType(*dims, element));
  return success();
}

LogicalResult MaxPool2dOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op, Types &types) {
  return inferPool(where, op, elementType(op.getX()), types);
}

LogicalResult AvgPool2dOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op, Types &types) {
  return inferPool(where, op, elementType(op.getX()), types);
}

LogicalResult MaxPool2dIndexOp::inferReturnTypes(MLIRContext *context, Where where, Adaptor op,
                                                 Types &types) {
  return inferPool(where, op, IntegerType::get(context, 32), types);
}

/// Checks that pooling `image` gives the shape of `pooled`.
template <class Pool>
static LogicalResult checkPooled(Where where, Value image, StringRef name, Value pooled, Pool op) {
  auto dims = pool(where, image.getType(), op);
  if (failed(dims))
    return failure();
  if (*dims == dimsOf(pooled))
    return success();
  return emitOptionalError(where, name, " is ", shapeText(pooled), " where the windows over ",
                           shapeText(image), " give ", toString(*dims));
}

LogicalResult PoolGatherOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op, Types &types) {
  types.push_back(withDims(dimsOf(op.getIndex()), op.getX()));
  return checkPooled(where, op.getX(), "index", op.getIndex(), op);
}

LogicalResult PoolScatterOp::verify() {
  if (failed(checkSameElement(getLoc(), getDy(), getY())) ||
      failed(checkPooled(getLoc(), getY(), "index", getIndex(), *this)))
    return failure();
  return checkPooled(getLoc(), getY(), "dy", getDy(), *this);
}

LogicalResult AvgPool2dGradOp::verify() {
  if (failed(checkSameElement(getLoc(), getDy(), getY())))
    return failure();
  return checkPooled(getLoc(), getY(), "dy", getDy(), *this);
}
