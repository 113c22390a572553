// Reductions, products, images, normalisation and random numbers.
#pragma once

#include "sinter/tensor.h"

namespace sinter {

struct ReduceOptions {
  bool keepdim = false;
};
/// No axes: all of them. Integers and bools are summed as i64.
Tensor sum(const Operand &x, const Axes &axes = {}, ReduceOptions options = {});
Tensor mean(const Operand &x, const Axes &axes = {}, ReduceOptions options = {});
Tensor prod(const Operand &x, const Axes &axes = {}, ReduceOptions options = {});
Tensor max(const Operand &x, const Axes &axes = {}, ReduceOptions options = {});
Tensor min(const Operand &x, const Axes &axes = {}, ReduceOptions options = {});
Tensor argmax(const Operand &x, const Axes &axes = {}, ReduceOptions options = {}); ///< i64
Tensor argmin(const Operand &x, const Axes &axes = {}, ReduceOptions options = {}); ///< i64
Tensor logsumexp(const Operand &x, const Axes &axes = {}, ReduceOptions options = {});
Tensor norm(const Operand &x, const Axes &axes = {}, ReduceOptions options = {}); ///< Euclidean
struct VarianceOptions {
  bool unbiased = true, keepdim = false;
};
Tensor variance(const Operand &x, const Axes &axes = {}, VarianceOptions options = {});

/// As PyTorch's: one-dimensional operands are vectors, leading dimensions broadcast.
Tensor matmul(const Operand &a, const Operand &b);
Tensor linear(const Operand &x, const Operand &weight);                      ///< x weight^T
Tensor linear(const Operand &x, const Operand &weight, const Operand &bias); ///< + bias

struct ConvOptions {
  Pair stride = 1, padding = 0, dilation = 1;
  int64_t groups = 1;
};
/// x [batch, in, height, width], weight [out, in / groups, height, width].
Tensor conv2d(const Operand &x, const Operand &weight, ConvOptions options = {});
Tensor conv2d(const Operand &x, const Operand &weight, const Operand &bias,
              ConvOptions options = {});

struct PoolOptions {
  Pair kernel = 0; ///< required
  Pair stride = 0; ///< 0: the kernel
  Pair padding = 0, dilation = 1;
};
Tensor max_pool2d(const Operand &x, PoolOptions options);
Tensor avg_pool2d(const Operand &x, PoolOptions options); ///< padding counts
/// Mean over equal windows; the input's sizes must be multiples of the output's.
Tensor adaptive_avg_pool2d(const Operand &x, Pair output);

Tensor softmax(const Operand &x, int64_t axis);
Tensor log_softmax(const Operand &x, int64_t axis);
Tensor layer_norm(const Operand &x, const Operand &weight, const Operand &bias,
                  double epsilon = 1e-5);
Tensor rms_norm(const Operand &x, const Operand &weight, double epsilon = 1e-6);
/// With given statistics, one a channel (dimension 1).
Tensor batch_norm(const Operand &x, const Operand &mean, const Operand &variance,
                  const Operand &weight, const Operand &bias, double epsilon = 1e-5);
struct BatchStatistics {
  Tensor y, mean, variance; ///< the variance is the biased one
};
BatchStatistics batch_norm_training(const Operand &x, const Operand &weight, const Operand &bias,
                                    double epsilon = 1e-5);

/// Counter-based: values depend on the seed, the number of the step and the place in the program.
Tensor random_uniform(const Shape &shape, double low = 0, double high = 1, DType dtype = f32,
                      Where at = Where::current());
Tensor random_normal(const Shape &shape, double mean = 0, double deviation = 1, DType dtype = f32,
                     Where at = Where::current());
Tensor random_bernoulli(const Shape &shape, double probability, Where at = Where::current());
/// The identity in Mode::Inference.
Tensor dropout(const Operand &x, double probability);

/// Shows a value while the step runs: under its label on stderr, or to Session::onProbe.
Tensor probe(const Operand &x, const std::string &label);

} // namespace sinter
