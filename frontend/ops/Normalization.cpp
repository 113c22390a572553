#include "sinter/losses.h"
#include "sinter/ops/elementwise.h"
#include "sinter/ops/math.h"
#include "sinter/ops/shape.h"

#include "tracing/Call.h"

namespace sinter {
using detail::axisOf;
using detail::Call;
using detail::text;
using ir::Dims;
using mlir::Value;

namespace {

Tensor alongAxis(const char *op, const Operand &x, int64_t axis) {
  Call call(op, {&x});
  Value value = call.floating(x);
  axis = axisOf(axis, int64_t(ir::dimsOf(value).size()), op, call.at);
  return call.done(call.emit(op, value, {{"dim", axis}}));
}

/// Class numbers as the dialect takes them.
Value labelsOf(Call &call, const Operand &labels) {
  Value value = call.value(labels);
  mlir::Type element = ir::elementType(value);
  if (mlir::isa<mlir::FloatType>(element) || element.isInteger(1))
    call.fail("the labels are " + call.type(value) + ", not class numbers: cast them to i64",
              {value});
  return element.isInteger(64) || element.isInteger(32) ? value : call.cast(value, i64);
}

/// Logits [rows, classes, …] and labels [rows, …] with the places behind the classes made rows.
void flattenRows(Call &call, Value &logits, Value &labels) {
  Dims dims = ir::dimsOf(logits), places = dims;
  if (dims.size() < 2)
    call.fail("the logits are " + call.type(logits) + "; they need [rows, classes]",
              {logits, labels});
  places.erase(places.begin() + 1);
  if (ir::dimsOf(labels) != places)
    call.fail(text("logits ", call.type(logits), " need one label a row, ",
                   call.trace->symbols.shape(ir::tensorType(places, ir::elementType(labels))).str(),
                   ", not ", call.type(labels)),
              {logits, labels});
  if (dims.size() == 2)
    return;
  std::vector<int64_t> order{0};
  for (int64_t i = 2; i < int64_t(dims.size()); ++i)
    order.push_back(i);
  order.push_back(1);
  mlir::AffineExpr rows = ir::product(places, &call.trace->session->context);
  logits = call.reshape(call.permute(logits, order), {rows, dims[1]});
  labels = call.reshape(labels, {rows});
}

Tensor meanOf(Call &call, const Tensor &elements) {
  return call.done(call.value({mean({elements, call.at}), call.at}));
}

} // namespace

Tensor softmax(const Operand &x, int64_t axis) { return alongAxis("softmax", x, axis); }
Tensor log_softmax(const Operand &x, int64_t axis) { return alongAxis("log_softmax", x, axis); }

Tensor layer_norm(const Operand &x, const Operand &weight, const Operand &bias, double epsilon) {
  Call call("layer_norm", {&x, &weight, &bias});
  return call.done(call.emit("layer_norm", {call.floating(x), call.value(weight), call.value(bias)},
                             {{"epsilon", epsilon}}));
}

Tensor rms_norm(const Operand &x, const Operand &weight, double epsilon) {
  Call call("rms_norm", {&x, &weight});
  Operand value(call.trace->tensor(call.floating(x), call.at), call.at);
  Tensor scale = rsqrt({mean({square(value), call.at}, -1, {.keepdim = true}) + epsilon, call.at});
  return call.done(call.value({value * scale * weight, call.at}));
}

Tensor batch_norm(const Operand &x, const Operand &mean, const Operand &variance,
                  const Operand &weight, const Operand &bias, double epsilon) {
  Call call("batch_norm", {&x, &mean, &variance, &weight, &bias});
  return call.done(call.emit("batch_norm",
                             {call.floating(x), call.value(weight), call.value(bias),
                              call.value(mean), call.value(variance)},
                             {{"epsilon", epsilon}}));
}

BatchStatistics batch_norm_training(const Operand &x, const Operand &weight, const Operand &bias,
                                    double epsilon) {
  Call call("batch_norm_training", {&x, &weight, &bias});
  std::vector<Value> results =
      call.emitMany("batch_norm_training", {call.floating(x), call.value(weight), call.value(bias)},
                    {{"epsilon", epsilon}});
  std::vector<Tensor> tensors = call.done(results);
  return {tensors[0], tensors[1], tensors[2]};
}

Tensor cross_entropy(const Operand &logits, const Operand &labels, CrossEntropyOptions options) {
  Call call("cross_entropy", {&logits, &labels});
  Value scores = call.floating(logits), classes = labelsOf(call, labels);
  flattenRows(call, scores, classes);
  return call.done(call.emit(
      "cross_entropy", {scores, classes},
      {{"label_smoothing", options.labelSmoothing}, {"ignore_index", options.ignoreIndex}}));
}

Tensor nll(const Operand &logProbabilities, const Operand &labels) {
  Call call("nll", {&logProbabilities, &labels});
  Value scores = call.floating(logProbabilities), classes = labelsOf(call, labels);
  flattenRows(call, scores, classes);
  Value column = call.reshape(classes, {ir::dimsOf(classes)[0], call.number(1)});
  Value chosen = call.emit("gather", {scores, column}, {{"dim", int64_t(1)}});
  Value average = call.emit("mean", chosen, {{"dims", std::vector<int64_t>{0, 1}}});
  return call.done(call.emit("neg", average));
}

Tensor mse(const Operand &x, const Operand &target) {
  Call call("mse", {&x, &target});
  auto [left, right] = call.matched(x, target, true);
  return call.done(call.emit("mse", {left, right}));
}

Tensor l1(const Operand &x, const Operand &target) {
  Call call("l1", {&x, &target});
  return meanOf(call, abs({x - target, call.at}));
}

Tensor huber(const Operand &x, const Operand &target, double delta) {
  Call call("huber", {&x, &target});
  Tensor distance = abs({x - target, call.at});
  Tensor near = 0.5 * square(distance), far = delta * (distance - 0.5 * delta);
  return meanOf(call, where(distance <= delta, near, far));
}

Tensor binary_cross_entropy_with_logits(const Operand &logits, const Operand &target) {
  Call call("binary_cross_entropy_with_logits", {&logits, &target});
  Tensor x = call.trace->tensor(call.floating(logits), call.at);
  // max(x, 0) - x t + log(1 + exp(-|x|)): no exponential of a large number.
  return meanOf(call, relu(x) - x * target + log1p(exp(-abs(x))));
}

Tensor kl_div(const Operand &x, const Operand &target) {
  Call call("kl_div", {&x, &target});
  Tensor p = call.trace->tensor(call.floating(target), call.at);
  Tensor terms = where(p > 0, p * (log(where(p > 0, p, 1.0)) - x), 0.0);
  Tensor rows = sum(ones_like(select(terms, -1, 0)));
  return call.done(call.value({sum(terms) / rows, call.at}));
}

} // namespace sinter
