// Gradients of data movement: each op's transpose, which moves back and adds where elements were
// repeated.
#include "gradients/Build.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace sinter::ir;

void ExpandOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                             MutableArrayRef<Value> operandGrads) {
  operandGrads[0] = summedTo(exprOf(builder, *this, resultGrads[0]), dimsOf(getX())).value;
}

void ReshapeOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                              MutableArrayRef<Value> operandGrads) {
  operandGrads[0] = reshaped(exprOf(builder, *this, resultGrads[0]), dimsOf(getX())).value;
}

void TransposeOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                                MutableArrayRef<Value> operandGrads) {
  operandGrads[0] = builder.createOrFold<TransposeOp>(getLoc(), resultGrads[0],
                                                      invertPermutationVector(getPermutation()));
}

/// Positions start + i * stride (i < taken) of `dim`: g's elements back at those of zeros of
/// `size`. Used where the padding that would do it depends on a symbol.
static TensorExpr scattered(const TensorExpr &g, int64_t dim, AffineExpr size, int64_t start,
                            int64_t stride) {
  Dims dims = dimsOf(g.value);
  auto index = positions(g, dims, dim, g.builder.getI64Type(), start, stride);
  dims[dim] = size;
  auto zeros = filled(g, tensorType(dims, elementType(g.value)), 0);
  return g.with(ScatterAddOp::create(g.builder, g.loc, zeros.value, index.value, g.value, dim));
}

void SliceOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                            MutableArrayRef<Value> operandGrads) {
  auto g = exprOf(builder, *this, resultGrads[0]);
  Dims whole = dimsOf(getX()), taken = dimsOf(getY());
  if (llvm::any_of(taken, [](AffineExpr size) { return constantSize(size) == 0; })) {
    operandGrads[0] = filled(g, tensorTypeOf(getX()), 0).value;
    return;
  }
  size_t rank = whole.size();
  SmallVector<int64_t> low(rank), high(rank), interior(rank), symbolic;
  for (size_t i = 0; i < rank; ++i) {
    int64_t start = getStarts()[i], stride = getStrides()[i];
    auto rest = constantSize(simplify(whole[i] - start - (taken[i] - 1) * stride - 1));
    if (!rest) {
      symbolic.push_back(int64_t(i));
      continue;
    }
    low[i] = start, high[i] = *rest, interior[i] = stride - 1;
  }
  auto grad = g.with(builder.createOrFold<PadOp>(
      getLoc(), resultGrads[0], builder.getDenseI64ArrayAttr(low),
      builder.getDenseI64ArrayAttr(high), builder.getDenseI64ArrayAttr(interior),
      builder.getF64FloatAttr(0)));
  // Every symbolic dimension makes a new expression, and expressions don't assign.
  Value result = grad.value;
  for (int64_t dim : symbolic)
    result = scattered(g.with(result), dim, whole[dim], getStarts()[dim], getStrides()[dim]).value;
  operandGrads[0] = result;
}

void PadOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                          MutableArrayRef<Value> operandGrads) {
  auto strides = llvm::map_to_vector(getInterior(), [](int64_t gap) { return gap + 1; });
  operandGrads[0] =
      builder.createOrFold<SliceOp>(getLoc(), getX().getType(), resultGrads[0], getLow(), strides);
}

void ConcatOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool> needed,
                             MutableArrayRef<Value> operandGrads) {
  auto g = exprOf(builder, *this, resultGrads[0]);
  auto dim = int64_t(getDim());
  Dims whole = dimsOf(getY());
  SmallVector<int64_t> starts(whole.size()), strides(whole.size(), 1);
  AffineExpr offset = constantDim(0, getContext());
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    Dims part = dimsOf(input);
    auto start = constantSize(offset);
    if (needed[i] && start) {
      starts[dim] = *start;
      operandGrads[i] =
          builder.createOrFold<SliceOp>(getLoc(), input.getType(), g.value, starts, strides);
    } else if (needed[i]) { // a slice starts at a number: gather from the symbol's value on
      Type i64 = builder.getI64Type();
      auto first = sizeOf(g, offset, tensorType(part, i64));
      auto index = positions(g, part, dim, i64) + first;
      operandGrads[i] = GatherOp::create(builder, getLoc(), g.value, index.value, dim);
    }
    offset = simplify(offset + part[dim]);
  }
}
