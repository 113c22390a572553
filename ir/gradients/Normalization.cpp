// Softmax and normalisations in simpler ops, and their gradients in the form that fits one pass
// over the data. Statistics are computed in f32 for f16 and bf16, the variance from centred values.
// Both readings build the statistics by the same functions, so that CSE makes one of them.
#include "gradients/Build.h"

using namespace mlir;
using namespace sinter::ir;

namespace {

struct Softened {
  TensorExpr shifted; ///< x minus its largest
  TensorExpr exps, total;
};

/// x less its mean, and its (biased) variance along dims.
struct Moments {
  TensorExpr mean, centred, variance;
};

} // namespace

static Softened soften(const TensorExpr &x, int64_t dim) {
  auto shifted = x - expanded(largest(x, dim), dimsOf(x.value));
  auto exps = exp(shifted);
  return {shifted, exps, summed(exps, dim)};
}

static Moments momentsOf(const TensorExpr &x, ArrayRef<int64_t> dims) {
  auto mean = averaged(x, dims);
  auto centred = x - expanded(mean, dimsOf(x.value));
  return {mean, centred, averaged(centred * centred, dims)};
}

SmallVector<Value> SoftmaxOp::decompose(OpBuilder &builder) {
  auto x = exprOf(builder, *this, getX());
  auto parts = soften(widened(x), getDim());
  return {converted(parts.exps / expanded(parts.total, dimsOf(getX())), elementType(getX())).value};
}

void SoftmaxOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                              MutableArrayRef<Value> operandGrads) {
  auto g = widened(exprOf(builder, *this, resultGrads[0])), y = widened(g.with(getY()));
  auto grad = y * (g - expanded(summed(g * y, getDim()), dimsOf(getX())));
  operandGrads[0] = converted(grad, elementType(getX())).value;
}

SmallVector<Value> LogSoftmaxOp::decompose(OpBuilder &builder) {
  auto parts = soften(widened(exprOf(builder, *this, getX())), getDim());
  auto y = parts.shifted - expanded(log(parts.total), dimsOf(getX()));
  return {converted(y, elementType(getX())).value};
}

void LogSoftmaxOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                                 MutableArrayRef<Value> operandGrads) {
  auto g = widened(exprOf(builder, *this, resultGrads[0])), y = widened(g.with(getY()));
  auto grad = g - exp(y) * expanded(summed(g, getDim()), dimsOf(getX()));
  operandGrads[0] = converted(grad, elementType(getX())).value;
}

/// The dimensions layer_norm works over: the trailing ones, as many as its scale has.
static SmallVector<int64_t> normalizedDims(LayerNormOp op) {
  int64_t rank = tensorTypeOf(op.getX()).getRank();
  return llvm::to_vector(llvm::seq(rank - tensorTypeOf(op.getScale()).getRank(), rank));
}

SmallVector<Value> LayerNormOp::decompose(OpBuilder &builder) {
  auto x = widened(exprOf(builder, *this, getX()));
  Type element = elementType(x.value);
  Dims dims = dimsOf(getX());
  auto moments = momentsOf(x, normalizedDims(*this));
  auto normal = moments.centred * expanded(rsqrt(moments.variance + d(getEpsilon())), dims);
  auto y = normal * expanded(converted(x.with(getScale()), element), dims) +
           expanded(converted(x.with(getBias()), element), dims);
  return {converted(y, elementType(getX())).value};
}

void LayerNormOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool> needed,
                                MutableArrayRef<Value> operandGrads) {
  auto x = widened(exprOf(builder, *this, getX())), g = widened(x.with(resultGrads[0]));
  Type element = elementType(x.value);
  Dims dims = dimsOf(getX());
  auto along = normalizedDims(*this);
  auto moments = momentsOf(x, along);
  auto slope = expanded(rsqrt(moments.variance + d(getEpsilon())), dims);
  auto normal = moments.centred * slope;
  if (needed[0]) {
    auto dnormal = g * expanded(converted(x.with(getScale()), element), dims);
    auto grad = slope * (dnormal - expanded(averaged(dnormal, along), dims) -
                         normal * expanded(averaged(dnormal * normal, along), dims));
    operandGrads[0] = converted(grad, elementType(getX())).value;
  }
  if (needed[1])
    operandGrads[1] =
        converted(summedTo(g * normal, dimsOf(getScale())), elementType(getScale())).value;
  if (needed[2])
    operandGrads[2] = converted(summedTo(g, dimsOf(getBias())), elementType(getBias())).value;
}

/// A value a channel, [channels], as [1, channels, 1, ...] of `like`'s rank and element type.
static TensorExpr perChannel(const TensorExpr &like, Value channels) {
  Dims dims = dimsOf(like.value);
  auto kept = keptDims(dims, allBut(int64_t(dims.size()), 1));
  return reshaped(converted(like.with(channels), elementType(like.value)), kept);
}

SmallVector<Value> BatchNormOp::decompose(OpBuilder &builder) {
  auto x = widened(exprOf(builder, *this, getX()));
  Dims dims = dimsOf(getX());
  auto slope = rsqrt(perChannel(x, getVariance()) + d(getEpsilon())) * perChannel(x, getScale());
  auto y = (x - expanded(perChannel(x, getMean()), dims)) * expanded(slope, dims) +
           expanded(perChannel(x, getBias()), dims);
  return {converted(y, elementType(getX())).value};
}

SmallVector<Value> BatchNormTrainingOp::decompose(OpBuilder &builder) {
  auto x = widened(exprOf(builder, *this, getX()));
  Dims dims = dimsOf(getX());
  auto moments = momentsOf(x, allBut(int64_t(dims.size()), 1));
  auto slope = rsqrt(moments.variance + d(getEpsilon())) * perChannel(x, getScale());
  auto y = moments.centred * expanded(slope, dims) + expanded(perChannel(x, getBias()), dims);
  auto statistic = [&](const TensorExpr &kept, Value result) {
    return converted(reshaped(kept, dimsOf(result)), elementType(result)).value;
  };
  return {converted(y, elementType(getX())).value, statistic(moments.mean, getMean()),
          statistic(moments.variance, getVariance())};
}

// With c = x - mean, r = 1 / sqrt(variance + epsilon), a = scale r and n elements a channel:
//   dx = a dy + c (2 dvariance - a r^2 sum(dy c)) / n + (dmean - a sum(dy)) / n,
// which is an affine function of dy and c with coefficients a channel.
void BatchNormTrainingOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                        ArrayRef<bool> needed,
                                        MutableArrayRef<Value> operandGrads) {
  auto x = widened(exprOf(builder, *this, getX()));
  Dims dims = dimsOf(getX());
  auto others = allBut(int64_t(dims.size()), 1);
  auto centred = x - expanded(perChannel(x, getMean()), dims);
  auto r = rsqrt(perChannel(x, getVariance()) + d(getEpsilon()));
  auto grad = [&](unsigned result) {
    return resultGrads[result] ? converted(x.with(resultGrads[result]), elementType(x.value))
                               : filled(x, 0);
  };
  auto channelGrad = [&](unsigned result) {
    return resultGrads[result] ? perChannel(x, resultGrads[result]) : filled(r, 0);
  };
  auto g = grad(0), sumG = summed(g, others), sumGC = summed(g * centred, others);
  if (needed[0]) {
    auto size = extent(dims, others);
    auto a = r * perChannel(x, getScale());
    auto slope = dividedBy(2.0 * channelGrad(2) - a * r * r * sumGC, size);
    auto offset = dividedBy(channelGrad(1) - a * sumG, size);
    auto dx = g * expanded(a, dims) + centred * expanded(slope, dims) + expanded(offset, dims);
    operandGrads[0] = converted(dx, elementType(getX())).value;
  }
  auto ofVector = [](const TensorExpr &kept, Value vector) {
    return converted(reshaped(kept, dimsOf(vector)), elementType(vector)).value;
  };
  if (needed[1])
    operandGrads[1] = ofVector(sumGC * r, getScale());
  if (needed[2])
    operandGrads[2] = ofVector(sumG, getBias());
}
