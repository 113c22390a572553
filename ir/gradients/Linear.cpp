// Matrix products: gradients, and linear layers as products.
#include "gradients/Build.h"

using namespace mlir;
using namespace sinter::ir;

// With A and B the factors as read, dA = g B^T and dB = A^T g; a factor stored transposed takes the
// transpose of that.
void MatmulOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool> needed,
                             MutableArrayRef<Value> operandGrads) {
  Value g = resultGrads[0], a = getA(), b = getB();
  bool ta = getTransposeA(), tb = getTransposeB();
  if (needed[0])
    operandGrads[0] = ta ? MatmulOp::create(builder, getLoc(), b, g, tb, true)
                         : MatmulOp::create(builder, getLoc(), g, b, false, !tb);
  if (needed[1])
    operandGrads[1] = tb ? MatmulOp::create(builder, getLoc(), g, a, true, ta)
                         : MatmulOp::create(builder, getLoc(), a, g, !ta, false);
}

// Leading dimensions become rows of one product. The bias joins before they are restored, so that
// it stays beside the product that can take it in.
SmallVector<Value> LinearOp::decompose(OpBuilder &builder) {
  auto x = exprOf(builder, *this, getX());
  Dims dims = dimsOf(getX()), result = dimsOf(getY());
  auto rows = product(ArrayRef(dims).drop_back(), getContext());
  auto flat = reshaped(x, {rows, dims.back()});
  auto y = x.with(
      MatmulOp::create(builder, getLoc(), flat.value, getWeight(), false, /*transpose_b=*/true));
  auto biased = getBias() ? y + expanded(x.with(getBias()), dimsOf(y.value)) : y;
  return {reshaped(biased, result).value};
}
