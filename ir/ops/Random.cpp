#include "ops/Verify.h"

using namespace mlir;
using namespace sinter::ir;

static LogicalResult checkState(Where where, Value state) {
  if (tensorTypeOf(state).getShape() == ArrayRef<int64_t>{2})
    return success();
  return emitOptionalError(where, "state ", shapeText(state),
                           " must be the two numbers seed and step");
}

LogicalResult RandomUniformOp::verify() { return checkState(getLoc(), getState()); }
LogicalResult RandomNormalOp::verify() { return checkState(getLoc(), getState()); }

LogicalResult RandomBernoulliOp::verify() {
  if (failed(checkState(getLoc(), getState())))
    return failure();
  return checkProbability(getLoc(), "probability", getProbability().convertToDouble());
}

LogicalResult DropoutOp::verify() {
  if (failed(checkState(getLoc(), getState())))
    return failure();
  return checkProbability(getLoc(), "probability", getProbability().convertToDouble());
}
