#include "sinter/layers.h"

#include "sinter/ops/elementwise.h"
#include "sinter/ops/shape.h"

#include "layers/ModuleImpl.h"
#include "tracing/Call.h"

namespace sinter {
using detail::Call;
using detail::ModuleScope;
using detail::required;

Linear::Linear(Slot at, LinearOptions options)
    : ModuleBase(std::move(at), "Linear"),
      weight({this, "weight", internals().made},
             {required(*this, "out", options.out), required(*this, "in", options.in)},
             Init::fanIn(options.in)) {
  if (options.bias)
    bias.emplace(Slot(this, "bias", internals().made), Shape{options.out}, Init::fanIn(options.in));
}

Tensor Linear::operator()(const Operand &x) const {
  ModuleScope scope(*this);
  return bias ? linear(x, {weight, x.at}, {*bias, x.at}) : linear(x, {weight, x.at});
}

static Shape kernelShape(const ModuleBase &layer, const Conv2dOptions &options) {
  int64_t in = required(layer, "in", options.in), out = required(layer, "out", options.out);
  int64_t groups = required(layer, "groups", options.groups);
  if (in % groups || out % groups)
    detail::fail(layer.internals().made, layer.fullName(), ": .in = ", in, " and .out = ", out,
                 " must be multiples of .groups = ", groups);
  return {out, in / groups, required(layer, "kernel", options.kernel.height),
          required(layer, "kernel", options.kernel.width)};
}

Conv2d::Conv2d(Slot at, Conv2dOptions options)
    : ModuleBase(std::move(at), "Conv2d"),
      weight({this, "weight", internals().made}, kernelShape(*this, options),
             Init::fanIn(options.in / std::max<int64_t>(options.groups, 1) * options.kernel.height *
                         options.kernel.width)),
      convolution{options.stride, options.padding, options.dilation, options.groups} {
  if (options.bias)
    bias.emplace(
        Slot(this, "bias", internals().made), Shape{options.out},
        Init::fanIn(options.in / options.groups * options.kernel.height * options.kernel.width));
}

Tensor Conv2d::operator()(const Operand &x) const {
  ModuleScope scope(*this);
  return bias ? conv2d(x, {weight, x.at}, {*bias, x.at}, convolution)
              : conv2d(x, {weight, x.at}, convolution);
}

BatchNorm::BatchNorm(Slot at, int64_t channels, BatchNormOptions options)
    : ModuleBase(std::move(at), "BatchNorm"),
      weight({this, "weight", internals().made}, {required(*this, "channels", channels)},
             Init::constant(1)),
      bias({this, "bias", internals().made}, {channels}, Init::constant(0)),
      running_mean({this, "running_mean", internals().made}, {channels}, Init::constant(0)),
      running_var({this, "running_var", internals().made}, {channels}, Init::constant(1)),
      num_batches_tracked({this, "num_batches_tracked", internals().made}, {}, Init::constant(0),
                          i64),
      options(options) {}

/// n / (n - 1) for n values a channel: makes the variance of a batch unbiased.
static Tensor besselFactor(Call &call, mlir::Value x) {
  ir::Dims dims = ir::dimsOf(x);
  dims.erase(dims.begin() + 1);
  mlir::AffineExpr product = ir::product(dims, &call.trace->session->context);
  if (auto count = ir::constantSize(product)) {
    if (*count < 2)
      call.fail("training needs more than one value a channel, not " + call.type(x), {x});
    return call.trace->tensor(call.value(double(*count) / double(*count - 1)), call.at);
  }
  mlir::Type f32Type = detail::elementType(call.trace->session->context, f32);
  Tensor elements = call.trace->tensor(call.filled(ir::tensorType(dims, f32Type), 1.0), call.at);
  Tensor count = sum(elements);
  return count / (count - 1);
}

Tensor BatchNorm::operator()(const Operand &x) const {
  ModuleScope scope(*this);
  Operand scale(weight, x.at), shift(bias, x.at);
  if (!training())
    return batch_norm(x, {running_mean, x.at}, {running_var, x.at}, scale, shift, options.epsilon);
  Call call("batch_norm", {&x, &scale});
  mlir::Value input = call.value(x);
  if (ir::dimsOf(input).size() < 2)
    call.fail("needs [batch, channels, …], not " + call.type(input), {input});
  BatchStatistics batch = batch_norm_training(x, scale, shift, options.epsilon);
  double keep = 1 - options.momentum;
  running_mean.assign(keep * running_mean + options.momentum * batch.mean);
  running_var.assign(keep * running_var +
                     options.momentum * besselFactor(call, input) * batch.variance);
  num_batches_tracked.assign(num_batches_tracked + 1);
  return call.done(call.value(batch.y));
}

LayerNorm::LayerNorm(Slot at, const Shape &shape, double epsilon)
    : ModuleBase(std::move(at), "LayerNorm"),
      weight({this, "weight", internals().made}, shape, Init::constant(1)),
      bias({this, "bias", internals().made}, shape, Init::constant(0)), epsilon(epsilon) {}

Tensor LayerNorm::operator()(const Operand &x) const {
  ModuleScope scope(*this);
  return layer_norm(x, {weight, x.at}, {bias, x.at}, epsilon);
}

Embedding::Embedding(Slot at, int64_t rows, int64_t width)
    : ModuleBase(std::move(at), "Embedding"),
      weight({this, "weight", internals().made},
             {required(*this, "rows", rows), required(*this, "width", width)}, Init::normal(0, 1)) {
}

Tensor Embedding::operator()(const Operand &index) const {
  ModuleScope scope(*this);
  return embedding({weight, index.at}, index);
}

Dropout::Dropout(Slot at, double probability)
    : ModuleBase(std::move(at), "Dropout"), probability(probability) {
  if (!(probability >= 0 && probability < 1))
    detail::fail(internals().made, fullName(), ": the probability is ", probability,
                 ", not within [0, 1)");
}

Tensor Dropout::operator()(const Operand &x) const {
  ModuleScope scope(*this);
  return dropout(x, training() ? probability : 0);
}

} // namespace sinter
