// Gradients of the elementwise ops whose formula ops/Elementwise.td doesn't hold.
#include "gradients/Build.h"

using namespace mlir;
using namespace sinter::ir;

void WhereOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool> needed,
                            MutableArrayRef<Value> operandGrads) {
  auto g = exprOf(builder, *this, resultGrads[0]), zero = filled(g, 0),
       condition = g.with(getCondition());
  if (needed[1])
    operandGrads[1] = select(condition, g, zero).value;
  if (needed[2])
    operandGrads[2] = select(condition, zero, g).value;
}

void CastOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                           MutableArrayRef<Value> operandGrads) {
  operandGrads[0] = converted(exprOf(builder, *this, resultGrads[0]), elementType(getX())).value;
}
