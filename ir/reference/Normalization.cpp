// Normalisations, softmax and losses, each straight from its formula and independent of its
// decomposition.
#include "sinter/ir/Dialect.h"

#include <cmath>

using namespace mlir;
using namespace sinter::ir;

using Operands = ArrayRef<const ReferenceTensor *>;
using Results = MutableArrayRef<ReferenceTensor>;

/// Replaces each line of `x` along `dim` by its log_softmax.
static std::vector<double> logSoftmax(const ReferenceTensor &x, int64_t dim) {
  std::vector<double> y(x.size());
  int64_t length = x.dim(dim), stride = 1;
  for (int64_t i = dim + 1; i < x.rank(); ++i)
    stride *= x.dim(i);
  int64_t lines = length ? x.size() / length : 0;
  for (int64_t line = 0; line < lines; ++line) {
    int64_t begin = line / stride * stride * length + line % stride;
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < length; ++i) {
      double element = x.real(begin + i * stride);
      largest = std::isnan(largest) || largest > element ? largest : element;
    }
    for (int64_t i = 0; i < length; ++i)
      sum += std::exp(x.real(begin + i * stride) - largest);
    for (int64_t i = 0; i < length; ++i)
      y[begin + i * stride] = x.real(begin + i * stride) - largest - std::log(sum);
  }
  return y;
}

LogicalResult SoftmaxOp::evaluate(Operands in, Results out) {
  std::vector<double> logarithms = logSoftmax(*in[0], int64_t(getDim()));
  for (int64_t i = 0; i < out[0].size(); ++i)
    out[0].set(i, std::exp(logarithms[i]));
  return success();
}

LogicalResult LogSoftmaxOp::evaluate(Operands in, Results out) {
  std::vector<double> logarithms = logSoftmax(*in[0], int64_t(getDim()));
  for (int64_t i = 0; i < out[0].size(); ++i)
    out[0].set(i, logarithms[i]);
  return success();
}

struct Statistics {
  double sum = 0, squares = 0;
  int64_t count = 0;
  double mean() const { return sum / double(count); }
  double variance() const {
    return squares / double(count);
  } ///< biased; `squares` are of distances from the mean
};

/// Mean and variance of the elements of x that `groupOf` puts into each group, in two passes.
template <class GroupOf>
static std::vector<Statistics> statisticsOf(const ReferenceTensor &x, int64_t groups,
                                            GroupOf groupOf) {
  std::vector<Statistics> all(groups);
  for (int64_t i = 0; i < x.size(); ++i) {
    Statistics &s = all[groupOf(i)];
    s.sum += x.real(i);
    ++s.count;
  }
  for (int64_t i = 0; i < x.size(); ++i) {
    Statistics &s = all[groupOf(i)];
    double distance = x.real(i) - s.mean();
    s.squares += distance * distance;
  }
  return all;
}

LogicalResult LayerNormOp::evaluate(Operands in, Results out) {
  const ReferenceTensor &x = *in[0], &scale = *in[1], &bias = *in[2];
  int64_t length = scale.size();
  if (x.size() == 0)
    return success();
  auto statistics = statisticsOf(x, x.size() / length, [&](int64_t i) { return i / length; });
  for (int64_t i = 0; i < x.size(); ++i) {
    const Statistics &s = statistics[i / length];
    double normalized = (x.real(i) - s.mean()) / std::sqrt(s.variance() + d(getEpsilon()));
    out[0].set(i, normalized * scale.real(i % length) + bias.real(i % length));
  }
  return success();
}

/// Elements of an image or row tensor [batch, channels, ...] to one channel.
static int64_t channelStride(const ReferenceTensor &x) {
  int64_t stride = 1;
  for (int64_t i = 2; i < x.rank(); ++i)
    stride *= x.dim(i);
  return stride;
}

LogicalResult BatchNormOp::evaluate(Operands in, Results out) {
  const ReferenceTensor &x = *in[0], &scale = *in[1], &bias = *in[2], &mean = *in[3],
                        &variance = *in[4];
  int64_t stride = channelStride(x);
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t c = i / stride % x.dim(1);
    double normalized = (x.real(i) - mean.real(c)) / std::sqrt(variance.real(c) + d(getEpsilon()));
    out[0].set(i, normalized * scale.real(c) + bias.real(c));
  }
  return success();
}

LogicalResult BatchNormTrainingOp::evaluate(Operands in, Results out) {
  const ReferenceTensor &x = *in[0], &scale = *in[1], &bias = *in[2];
  int64_t stride = channelStride(x), channels = x.dim(1);
  auto channelOf = [&](int64_t i) { return i / stride % channels; };
  auto statistics = statisticsOf(x, channels, channelOf);
  for (int64_t i = 0; i < x.size(); ++i) {
    const Statistics &s = statistics[channelOf(i)];
    double normalized = (x.real(i) - s.mean()) / std::sqrt(s.variance() + d(getEpsilon()));
    out[0].set(i, normalized * scale.real(channelOf(i)) + bias.real(channelOf(i)));
  }
  for (int64_t c = 0; c < channels; ++c) {
    out[1].set(c, statistics[c].mean());
    out[2].set(c, statistics[c].variance());
  }
  return success();
}

LogicalResult CrossEntropyOp::evaluate(Operands in, Results out) {
  const ReferenceTensor &logits = *in[0], &labels = *in[1];
  std::vector<double> logarithms = logSoftmax(logits, 1);
  int64_t classes = logits.dim(1), rows = 0;
  double smoothing = d(getLabelSmoothing()), total = 0;
  for (int64_t row = 0; row < labels.size(); ++row) {
    int64_t label = labels.at(row).integer;
    if (label == int64_t(getIgnoreIndex()) || label < 0 || label >= classes)
      continue;
    ++rows;
    total -= (1 - smoothing) * logarithms[row * classes + label];
    for (int64_t c = 0; smoothing != 0 && c < classes; ++c)
      total -= smoothing / double(classes) * logarithms[row * classes + c];
  }
  out[0].set(0, total / double(rows));
  return success();
}

LogicalResult MseOp::evaluate(Operands in, Results out) {
  double sum = 0;
  for (int64_t i = 0; i < in[0]->size(); ++i) {
    double difference = in[0]->real(i) - in[1]->real(i);
    sum += difference * difference;
  }
  out[0].set(0, sum / double(in[0]->size()));
  return success();
}
