// Gradients of reads and writes at given positions: each other's.
#include "gradients/Build.h"

using namespace mlir;
using namespace sinter::ir;

void EmbeddingOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                                MutableArrayRef<Value> operandGrads) {
  operandGrads[0] =
      EmbeddingGradOp::create(builder, getLoc(), getWeight().getType(), resultGrads[0], getIndex());
}

void EmbeddingGradOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                                    MutableArrayRef<Value> operandGrads) {
  operandGrads[0] = EmbeddingOp::create(builder, getLoc(), resultGrads[0], getIndex());
}

void GatherOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                             MutableArrayRef<Value> operandGrads) {
  auto g = exprOf(builder, *this, resultGrads[0]), zeros = filled(g, tensorTypeOf(getX()), 0);
  operandGrads[0] =
      ScatterAddOp::create(builder, getLoc(), zeros.value, getIndex(), g.value, getDim());
}

void ScatterAddOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool> needed,
                                 MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] = resultGrads[0];
  if (needed[2])
    operandGrads[2] = GatherOp::create(builder, getLoc(), resultGrads[0], getIndex(), getDim());
}
