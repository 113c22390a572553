// Layers with PyTorch's names, layouts, defaults and initialisers. Each belongs to a Slot of its
// parent and is called on a Tensor: sn::Linear head{{this, "head"}, 128, 10}; y = head(x).
// A required option that is not given is an Error naming the layer.
#pragma once

#include "sinter/module.h"
#include "sinter/ops/math.h"

#include <optional>

namespace sinter {

struct LinearOptions {
  int64_t in = 0, out = 0; ///< required
  bool bias = true;
};
class Linear : public ModuleBase {
public:
  Linear(Slot at, LinearOptions options);
  Linear(Slot at, int64_t in, int64_t out) : Linear(std::move(at), LinearOptions{in, out}) {}
  Tensor operator()(const Operand &x) const;
  Parameter weight; ///< [out, in]
  std::optional<Parameter> bias;
};

struct Conv2dOptions {
  int64_t in = 0, out = 0; ///< required
  Pair kernel = 0;         ///< required
  Pair stride = 1, padding = 0, dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};
class Conv2d : public ModuleBase {
public:
  Conv2d(Slot at, Conv2dOptions options);
  Tensor operator()(const Operand &x) const;
  Parameter weight; ///< [out, in / groups, height, width]
  std::optional<Parameter> bias;

private:
  ConvOptions convolution;
};

struct BatchNormOptions {
  double epsilon = 1e-5, momentum = 0.1;
};
/// Channels are dimension 1; x has rank 2 to 5.
class BatchNorm : public ModuleBase {
public:
  BatchNorm(Slot at, int64_t channels, BatchNormOptions options = {});
  Tensor operator()(const Operand &x) const;
  Parameter weight, bias;
  Buffer running_mean, running_var, num_batches_tracked;

private:
  BatchNormOptions options;
};
using BatchNorm1d = BatchNorm;
using BatchNorm2d = BatchNorm;

class LayerNorm : public ModuleBase {
public:
  /// `shape`: the trailing dimensions that are normalised together.
  LayerNorm(Slot at, const Shape &shape, double epsilon = 1e-5);
  LayerNorm(Slot at, int64_t width, double epsilon = 1e-5)
      : LayerNorm(std::move(at), Shape{width}, epsilon) {}
  Tensor operator()(const Operand &x) const;
  Parameter weight, bias;

private:
  double epsilon;
};

class Embedding : public ModuleBase {
public:
  Embedding(Slot at, int64_t rows, int64_t width);
  Tensor operator()(const Operand &index) const;
  Parameter weight; ///< [rows, width], standard normal
};

class Dropout : public ModuleBase {
public:
  Dropout(Slot at, double probability);
  Tensor operator()(const Operand &x) const;

private:
  double probability;
};

} // namespace sinter
