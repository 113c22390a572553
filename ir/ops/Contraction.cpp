#include "ops/Verify.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace sinter::ir;

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op, Types &types) {
  Value a = op.getA(), b = op.getB();
  auto shapes = [&] {
    return shapeText(a) + (op.getTransposeA() ? " transposed x " : " x ") + shapeText(b) +
           (op.getTransposeB() ? " transposed" : "");
  };
  if (failed(checkSameElement(where, a, b)))
    return failure();
  if (rankOf(a) < 2 || rankOf(a) != rankOf(b))
    return emitOptionalError(where,
                             "operands need equal numbers of dimensions, 2 or more: ", shapes());
  Dims dims = dimsOf(a), right = dimsOf(b);
  size_t row = dims.size() - 2, column = dims.size() - 1;
  if (op.getTransposeA())
    std::swap(dims[row], dims[column]);
  if (op.getTransposeB())
    std::swap(right[row], right[column]);
  if (dims[column] != right[row])
    return emitOptionalError(where, "inner dimensions differ: ", shapes());
  if (ArrayRef(dims).drop_back(2) != ArrayRef(right).drop_back(2))
    return emitOptionalError(where, "leading dimensions differ: ", shapes());
  dims[column] = right[column];
  types.push_back(withDims(dims, a));
  return success();
}

/// The operand of a transpose of matrices.
static Value swappedOperand(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  return transpose && swapsLastTwo(transpose.getPermutation()) ? transpose.getX() : Value();
}

LogicalResult MatmulOp::canonicalize(MatmulOp op, PatternRewriter &rewriter) {
  Value a = swappedOperand(op.getA()), b = swappedOperand(op.getB());
  if (!a && !b)
    return failure();
  rewriter.replaceOpWithNewOp<MatmulOp>(op, op.getType(), a ? a : op.getA(), b ? b : op.getB(),
                                        op.getTransposeA() != bool(a),
                                        op.getTransposeB() != bool(b));
  return success();
}

LogicalResult LinearOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op, Types &types) {
  Value x = op.getX(), weight = op.getWeight(), bias = op.getBias();
  if (failed(checkSameElement(where, x, weight)) ||
      (bias && failed(checkSameElement(where, x, bias))) ||
      failed(checkRank(where, "the weight", weight.getType(), 2)))
    return failure();
  Dims dims = dimsOf(x), matrix = dimsOf(weight);
  if (dims.empty())
    return emitOptionalError(where, "the input needs a last dimension of ", sizeText(matrix[1]),
                             " elements for the weight ", shapeText(weight), ", not ",
                             shapeText(x));
  if (dims.back() != matrix[1])
    return emitOptionalError(where, "inner dimensions differ: ", shapeText(x), " x ",
                             shapeText(weight), " transposed");
  if (bias && dimsOf(bias) != Dims{matrix[0]})
    return emitOptionalError(where, "the bias ", shapeText(bias), " doesn't fit the weight ",
                             shapeText(weight));
  dims.back() = matrix[0];
  types.push_back(withDims(dims, x));
  return success();
}

/// The result dimensions of a convolution of `x` by `weight`; `op` is any op or adaptor with the
/// attributes of one.
template <class Conv> static FailureOr<Dims> convolve(Where where, Type x, Type weight, Conv op) {
  if (failed(checkRank(where, "an image", x, 4)) ||
      failed(checkRank(where, "the weight", weight, 4)))
    return failure();
  Dims filter = dimsOf(weight);
  auto out = constantSize(filter[0]), height = constantSize(filter[2]),
       width = constantSize(filter[3]);
  if (!out || !height || !width)
    return emitOptionalError(where, "the weight ", shapeText(weight), " must have a static shape");
  int64_t groups = op.getGroups(), channelDim = op.getChannelsLast() ? 3 : 1;
  if (groups < 1 || *out % groups)
    return emitOptionalError(where, groups, " groups don't divide the ", *out,
                             " output channels of the weight ", shapeText(weight));
  AffineExpr channels = dimsOf(x)[channelDim];
  if (channels != simplify(filter[1] * groups))
    return emitOptionalError(where, "input channels differ: the image ", shapeText(x),
                             " x the weight ", shapeText(weight), " in ", groups,
                             groups == 1 ? " group" : " groups");
  int64_t kernel[] = {*height, *width};
  auto dims = slide(where, x, op.getChannelsLast(),
                    {kernel, op.getStride(), op.getPadding(), op.getDilation()});
  if (succeeded(dims))
    (*dims)[channelDim] = filter[0];
  return dims;
}

LogicalResult Conv2dOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op, Types &types) {
  if (failed(checkSameElement(where, op.getX(), op.getWeight())))
    return failure();
  auto dims = convolve(where, op.getX().getType(), op.getWeight().getType(), op);
  if (failed(dims))
    return failure();
  types.push_back(withDims(*dims, op.getX()));
  return success();
}

/// Checks that `x` convolved by `weight` has the shape of `dy`.
template <class Conv> static LogicalResult verifyConvGrad(Conv op, Value x, Value weight) {
  Value dy = op.getDy();
  if (failed(checkSameElement(op.getLoc(), x, dy)) ||
      failed(checkSameElement(op.getLoc(), weight, dy)))
    return failure();
  auto dims = convolve(op.getLoc(), x.getType(), weight.getType(), op);
  if (failed(dims))
    return failure();
  if (*dims == dimsOf(dy))
    return success();
  return op.emitError("dy is ") << shapeText(dy) << " where the convolution of " << shapeText(x)
                                << " by " << shapeText(weight) << " gives " << toString(*dims);
}

LogicalResult Conv2dInputGradOp::verify() { return verifyConvGrad(*this, getY(), getWeight()); }
LogicalResult Conv2dWeightGradOp::verify() { return verifyConvGrad(*this, getX(), getY()); }
