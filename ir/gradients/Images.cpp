// Gradients of convolution and pooling. The three convolutions are each other's gradients, as are
// the pools and their transposes, so any order of differentiation stays within them.
#include "gradients/Build.h"

using namespace mlir;
using namespace sinter::ir;

/// The op `OpTy` over the same windows (stride, padding, layout, ...) as `like`.
template <class OpTy>
static Value sameWindows(OpBuilder &builder, Operation *like, Type type, ValueRange operands) {
  return OpTy::create(builder, like->getLoc(), TypeRange(type), operands, like->getAttrs());
}

void Conv2dOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool> needed,
                             MutableArrayRef<Value> operandGrads) {
  Value g = resultGrads[0], x = getX(), weight = getWeight();
  if (needed[0])
    operandGrads[0] = sameWindows<Conv2dInputGradOp>(builder, *this, x.getType(), {g, weight});
  if (needed[1])
    operandGrads[1] = sameWindows<Conv2dWeightGradOp>(builder, *this, weight.getType(), {x, g});
}

void Conv2dInputGradOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                      ArrayRef<bool> needed, MutableArrayRef<Value> operandGrads) {
  Value g = resultGrads[0], dy = getDy(), weight = getWeight();
  if (needed[0])
    operandGrads[0] = sameWindows<Conv2dOp>(builder, *this, dy.getType(), {g, weight});
  if (needed[1])
    operandGrads[1] = sameWindows<Conv2dWeightGradOp>(builder, *this, weight.getType(), {g, dy});
}

void Conv2dWeightGradOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                       ArrayRef<bool> needed, MutableArrayRef<Value> operandGrads) {
  Value g = resultGrads[0], x = getX(), dy = getDy();
  if (needed[0])
    operandGrads[0] = sameWindows<Conv2dInputGradOp>(builder, *this, x.getType(), {dy, g});
  if (needed[1])
    operandGrads[1] = sameWindows<Conv2dOp>(builder, *this, dy.getType(), {x, g});
}

void MaxPool2dOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                                MutableArrayRef<Value> operandGrads) {
  Type indices = tensorType(dimsOf(getY()), builder.getI32Type());
  Value index = sameWindows<MaxPool2dIndexOp>(builder, *this, indices, getX());
  operandGrads[0] =
      sameWindows<PoolScatterOp>(builder, *this, getX().getType(), {resultGrads[0], index});
}

void PoolGatherOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                                 MutableArrayRef<Value> operandGrads) {
  operandGrads[0] =
      sameWindows<PoolScatterOp>(builder, *this, getX().getType(), {resultGrads[0], getIndex()});
}

void PoolScatterOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                                  MutableArrayRef<Value> operandGrads) {
  operandGrads[0] =
      sameWindows<PoolGatherOp>(builder, *this, getDy().getType(), {resultGrads[0], getIndex()});
}

void AvgPool2dOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                                MutableArrayRef<Value> operandGrads) {
  operandGrads[0] = sameWindows<AvgPool2dGradOp>(builder, *this, getX().getType(), resultGrads[0]);
}

void AvgPool2dGradOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                                    MutableArrayRef<Value> operandGrads) {
  operandGrads[0] = sameWindows<AvgPool2dOp>(builder, *this, getDy().getType(), resultGrads[0]);
}
