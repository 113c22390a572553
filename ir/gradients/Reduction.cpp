// Gradients of reductions.
#include "gradients/Build.h"

using namespace mlir;
using namespace sinter::ir;

/// A reduction's result (or its gradient) repeated along the reduced dimensions, of x's shape.
static TensorExpr spread(const TensorExpr &reduced, Value x, ArrayRef<int64_t> dims) {
  return expanded(reshaped(reduced, keptDims(dimsOf(x), dims)), dimsOf(x));
}

void SumOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                          MutableArrayRef<Value> operandGrads) {
  operandGrads[0] = spread(exprOf(builder, *this, resultGrads[0]), getX(), getDims()).value;
}

void MeanOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                           MutableArrayRef<Value> operandGrads) {
  auto g = exprOf(builder, *this, resultGrads[0]), wide = widened(g);
  auto share = getDims().empty() ? wide : dividedBy(wide, extent(dimsOf(getX()), getDims()));
  operandGrads[0] = spread(converted(share, elementType(getX())), getX(), getDims()).value;
}

/// Largest and smallest elements: equal shares to all that are equal.
static Value extremumGradient(OpBuilder &builder, Operation *op, Value x, Value y,
                              ArrayRef<int64_t> dims, Value grad) {
  auto g = exprOf(builder, op, grad);
  auto chosen = eq(g.with(x), spread(g.with(y), x, dims));
  auto wide = widened(reshaped(g, keptDims(dimsOf(x), dims)));
  auto ties = summed(converted(chosen, elementType(wide.value)), dims);
  auto share = converted(expanded(wide / ties, dimsOf(x)), elementType(x));
  return select(chosen, share, filled(share, 0)).value;
}

void MaxOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                          MutableArrayRef<Value> operandGrads) {
  operandGrads[0] = extremumGradient(builder, *this, getX(), getY(), getDims(), resultGrads[0]);
}

void MinOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                          MutableArrayRef<Value> operandGrads) {
  operandGrads[0] = extremumGradient(builder, *this, getX(), getY(), getDims(), resultGrads[0]);
}

// The product of the others is y / x where nothing is zero; where one element is, only that one's
// is not zero.
void ProdOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                           MutableArrayRef<Value> operandGrads) {
  auto g = exprOf(builder, *this, resultGrads[0]), x = g.with(getX());
  auto isZero = eq(x, 0.0);
  auto nonzero = select(isZero, filled(x, 1), x);
  auto product = expanded(
      g.with(ProdOp::create(builder, getLoc(), nonzero.value, getDims(), /*keepdim=*/true)),
      dimsOf(getX()));
  auto zeros = expanded(summed(converted(isZero, builder.getI32Type()), getDims()), dimsOf(getX()));
  auto ofOthers = select(isZero, select(eq(zeros, 1.0), product, filled(x, 0)),
                         select(eq(zeros, 0.0), product / nonzero, filled(x, 0)));
  operandGrads[0] = (spread(g, getX(), getDims()) * ofOthers).value;
}
