#include "sinter/ops/elementwise.h"
#include "sinter/ops/math.h"

#include "tracing/Call.h"

#include <algorithm>

namespace sinter {
using detail::Call;
using mlir::Value;

namespace {

/// Axes as the dialect wants them: ascending, from 0; all for none.
std::vector<int64_t> axesOf(Call &call, Value x, const Axes &axes) {
  int64_t rank = int64_t(ir::dimsOf(x).size());
  std::vector<int64_t> result;
  for (int64_t axis : axes.values())
    result.push_back(detail::axisOf(axis, rank, call.op, call.at));
  for (int64_t axis = 0; axes.empty() && axis < rank; ++axis)
    result.push_back(axis);
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    call.fail("a dimension is named twice", {x});
  return result;
}

Value reduced(Call &call, const char *op, Value x, const std::vector<int64_t> &axes, bool keepdim) {
  return call.emit(op, x, {{"dims", axes}, {"keepdim", keepdim}});
}

enum class Input { Any, Float, Wide };

Tensor reduce(const char *op, const Operand &x, const Axes &axes, ReduceOptions options,
              Input input) {
  Call call(op, {&x});
  Value value = call.value(x);
  mlir::Type element = ir::elementType(value);
  if (input == Input::Float)
    value = call.floating(x);
  else if (element.isInteger(1) || (input == Input::Wide && !mlir::isa<mlir::FloatType>(element)))
    value = call.cast(value, i64);
  return call.done(reduced(call, op, value, axesOf(call, value, axes), options.keepdim));
}

/// Number of elements a reduction to `result` (keepdim) takes in, in x's element type.
Value countOf(Call &call, Value x, const std::vector<int64_t> &axes) {
  return reduced(call, "sum", call.like(x, 1), axes, true);
}

} // namespace

Tensor sum(const Operand &x, const Axes &axes, ReduceOptions options) {
  return reduce("sum", x, axes, options, Input::Wide);
}
Tensor mean(const Operand &x, const Axes &axes, ReduceOptions options) {
  return reduce("mean", x, axes, options, Input::Float);
}
Tensor prod(const Operand &x, const Axes &axes, ReduceOptions options) {
  return reduce("prod", x, axes, options, Input::Wide);
}
Tensor max(const Operand &x, const Axes &axes, ReduceOptions options) {
  return reduce("max", x, axes, options, Input::Any);
}
Tensor min(const Operand &x, const Axes &axes, ReduceOptions options) {
  return reduce("min", x, axes, options, Input::Any);
}
Tensor argmax(const Operand &x, const Axes &axes, ReduceOptions options) {
  return reduce("argmax", x, axes, options, Input::Any);
}
Tensor argmin(const Operand &x, const Axes &axes, ReduceOptions options) {
  return reduce("argmin", x, axes, options, Input::Any);
}

Tensor norm(const Operand &x, const Axes &axes, ReduceOptions options) {
  Call call("norm", {&x});
  Value value = call.floating(x);
  Value squares = call.emit("mul", {value, value});
  Value total = reduced(call, "sum", squares, axesOf(call, value, axes), options.keepdim);
  return call.done(call.emit("sqrt", total));
}

/// Reshapes a keepdim result to the shape without the reduced dimensions.
static Value dropped(Call &call, Value kept, const std::vector<int64_t> &axes, bool keepdim) {
  if (keepdim)
    return kept;
  ir::Dims dims = ir::dimsOf(kept), left;
  for (size_t i = 0; i < dims.size(); ++i)
    if (!std::binary_search(axes.begin(), axes.end(), int64_t(i)))
      left.push_back(dims[i]);
  return call.reshape(kept, left);
}

Tensor logsumexp(const Operand &x, const Axes &axes, ReduceOptions options) {
  Call call("logsumexp", {&x});
  Value value = call.floating(x);
  std::vector<int64_t> along = axesOf(call, value, axes);
  // The maximum cancels in the result, so no gradient passes through it.
  Value largest = call.emit("stop_gradient", reduced(call, "max", value, along, true));
  Value shifted = call.emit("sub", {value, call.broadcast(largest, ir::dimsOf(value))});
  Value total = reduced(call, "sum", call.emit("exp", shifted), along, true);
  Value result = call.emit("add", {call.emit("log", total), largest});
  return call.done(dropped(call, result, along, options.keepdim));
}

Tensor variance(const Operand &x, const Axes &axes, VarianceOptions options) {
  Call call("variance", {&x});
  Value value = call.floating(x);
  std::vector<int64_t> along = axesOf(call, value, axes);
  Value average = reduced(call, "mean", value, along, true);
  Value centred = call.emit("sub", {value, call.broadcast(average, ir::dimsOf(value))});
  Value squares = call.emit("mul", {centred, centred});
  if (!options.unbiased)
    return call.done(reduced(call, "mean", squares, along, options.keepdim));
  Value total = reduced(call, "sum", squares, along, true), count = countOf(call, value, along);
  Value result = call.emit("div", {total, call.emit("sub", {count, call.like(count, 1)})});
  return call.done(dropped(call, result, along, options.keepdim));
}

} // namespace sinter
