#include "sinter/ops/shape.h"

#include "tracing/Call.h"

#include <algorithm>
#include <numeric>

namespace sinter {
using detail::axisOf;
using detail::Call;
using detail::text;
using ir::Dims;
using mlir::AffineExpr;
using mlir::Value;

namespace {

/// What a dimension of -1 stands for: the elements over the product of the other sizes, equal
/// factors cancelled.
std::optional<AffineExpr> remainder(const Dims &from, const Dims &others) {
  Dims rest;
  int64_t have = 1, divide = 1;
  auto split = [](const Dims &dims, Dims &symbolic, int64_t &constant) {
    for (AffineExpr dim : dims)
      if (auto size = ir::constantSize(dim))
        constant *= *size;
      else
        symbolic.push_back(dim);
  };
  split(from, rest, have);
  Dims divisors;
  split(others, divisors, divide);
  for (AffineExpr divisor : divisors) {
    auto *equal = std::find(rest.begin(), rest.end(), divisor);
    if (equal == rest.end())
      return std::nullopt;
    rest.erase(equal);
  }
  if (from.empty() && others.empty())
    return std::nullopt;
  if (divide == 0 || (rest.empty() && have % divide))
    return std::nullopt;
  mlir::MLIRContext *context = from.empty() ? others[0].getContext() : from[0].getContext();
  AffineExpr product = ir::product(rest, context);
  return ir::simplify((product * have).floorDiv(divide));
}

Dims resolve(Call &call, Value x, const Shape &shape) {
  Dims from = ir::dimsOf(x), sizes, known;
  std::optional<size_t> open;
  for (const Dim &dim : shape) {
    if (dim.isStatic() && dim.value() == -1) {
      if (open)
        call.fail("only one size may be -1: " + shape.str());
      open = sizes.size();
      sizes.push_back(call.number(1));
      continue;
    }
    if (dim.isStatic() && dim.value() < 0)
      call.fail("a size is negative: " + shape.str());
    sizes.push_back(call.dims(Shape{dim})[0]);
    known.push_back(sizes.back());
  }
  mlir::MLIRContext *context = &call.trace->session->context;
  if (open) {
    auto size =
        from.empty() && known.empty() ? std::optional(call.number(1)) : remainder(from, known);
    if (!size)
      call.fail("the -1 in " + shape.str() + " is no whole number for " + call.type(x), {x});
    sizes[*open] = *size;
  } else if (ir::product(from, context) != ir::product(sizes, context)) {
    call.fail(
        text("the numbers of elements differ: ", call.type(x), " cannot become ", shape.str()),
        {x});
  }
  return sizes;
}

Dims replaced(Dims dims, size_t at, AffineExpr size) {
  dims[at] = size;
  return dims;
}

std::vector<int64_t> identity(size_t rank) {
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Value sliced(Call &call, Value x, int64_t axis, int64_t start, int64_t step, AffineExpr count) {
  size_t rank = ir::dimsOf(x).size();
  std::vector<int64_t> starts(rank), strides(rank, 1);
  starts[size_t(axis)] = start;
  strides[size_t(axis)] = step;
  auto type = ir::tensorType(replaced(ir::dimsOf(x), size_t(axis), count), ir::elementType(x));
  return call.emit("slice", x, {{"starts", starts}, {"strides", strides}}, type);
}

int64_t staticSize(Call &call, Value x, int64_t axis) {
  auto size = ir::constantSize(ir::dimsOf(x)[size_t(axis)]);
  if (!size)
    call.fail(text("dimension ", axis, " of ", call.type(x), " is symbolic; this needs a number"),
              {x});
  return *size;
}

Value joined(Call &call, const std::vector<Value> &values, int64_t axis) {
  return values.size() == 1 ? values[0] : call.emit("concat", values, {{"dim", axis}});
}

/// The values of a list, cast to the type all promote to.
std::vector<Value> listOf(Call &call, const std::vector<Tensor> &inputs, Where at) {
  if (inputs.empty())
    call.fail("no Tensors to join");
  std::vector<Value> values;
  for (const Tensor &input : inputs)
    values.push_back(call.value({input, at}));
  mlir::Type type = ir::elementType(values[0]);
  for (size_t i = 1; i < values.size(); ++i)
    if (ir::elementType(values[i]) != type)
      call.fail(text("element types differ: ", call.type(values[0]), " and ", call.type(values[i]),
                     "; cast one of them"),
                {values[0], values[i]});
  return values;
}

} // namespace

Tensor reshape(const Operand &x, const Shape &shape) {
  Call call("reshape", {&x});
  Value value = call.value(x);
  return call.done(call.reshape(value, resolve(call, value, shape)));
}

Tensor flatten(const Operand &x, FlattenOptions options) {
  Call call("flatten", {&x});
  Value value = call.value(x);
  Dims dims = ir::dimsOf(value);
  int64_t rank = int64_t(dims.size());
  if (rank == 0)
    return call.done(call.reshape(value, {call.number(1)}));
  int64_t first = axisOf(options.first, rank, "flatten", call.at);
  int64_t last = axisOf(options.last, rank, "flatten", call.at);
  if (first > last)
    call.fail(text("the first dimension, ", first, ", comes after the last, ", last));
  Dims result(dims.begin(), dims.begin() + first);
  result.push_back(ir::product(llvm::ArrayRef(dims).slice(size_t(first), size_t(last - first + 1)),
                               &call.trace->session->context));
  result.append(dims.begin() + last + 1, dims.end());
  return call.done(call.reshape(value, result));
}

Tensor squeeze(const Operand &x, int64_t axis) {
  Call call("squeeze", {&x});
  Value value = call.value(x);
  Dims dims = ir::dimsOf(value);
  axis = axisOf(axis, int64_t(dims.size()), "squeeze", call.at);
  if (!ir::isOne(dims[size_t(axis)]))
    call.fail(text("dimension ", axis, " of ", call.type(value), " is not of size 1"), {value});
  dims.erase(dims.begin() + axis);
  return call.done(call.reshape(value, dims));
}

Tensor unsqueeze(const Operand &x, int64_t axis) {
  Call call("unsqueeze", {&x});
  Value value = call.value(x);
  Dims dims = ir::dimsOf(value);
  axis = axisOf(axis, int64_t(dims.size()) + 1, "unsqueeze", call.at);
  dims.insert(dims.begin() + axis, call.number(1));
  return call.done(call.reshape(value, dims));
}

Tensor transpose(const Operand &x, int64_t axis0, int64_t axis1) {
  Call call("transpose", {&x});
  Value value = call.value(x);
  int64_t rank = int64_t(ir::dimsOf(value).size());
  std::vector<int64_t> order = identity(size_t(rank));
  std::swap(order[size_t(axisOf(axis0, rank, "transpose", call.at))],
            order[size_t(axisOf(axis1, rank, "transpose", call.at))]);
  return call.done(call.permute(value, order));
}

Tensor permute(const Operand &x, const Axes &axes) {
  Call call("permute", {&x});
  Value value = call.value(x);
  int64_t rank = int64_t(ir::dimsOf(value).size());
  std::vector<int64_t> order;
  for (int64_t axis : axes.values())
    order.push_back(axisOf(axis, rank, "permute", call.at));
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != identity(size_t(rank)))
    call.fail(text("the order must name each of the ", rank, " dimensions of ", call.type(value),
                   " once"),
              {value});
  return call.done(call.permute(value, order));
}

Tensor expand(const Operand &x, const Shape &shape) {
  Call call("expand", {&x});
  Value value = call.value(x);
  Dims from = ir::dimsOf(value), to;
  int64_t shift = shape.rank() - int64_t(from.size());
  for (int64_t i = 0; i < shape.rank(); ++i) {
    bool keep = shape[i].isStatic() && shape[i].value() == -1;
    if (shift < 0 || (keep && i < shift))
      call.fail(text(call.type(value), " cannot be expanded to ", shape.str()), {value});
    to.push_back(keep ? from[size_t(i - shift)] : call.dims(Shape{shape[i]})[0]);
    if (i >= shift && !ir::isOne(from[size_t(i - shift)]) && from[size_t(i - shift)] != to.back())
      call.fail(text(call.type(value), " cannot be expanded to ", shape.str(),
                     ": only sizes of 1 are repeated"),
                {value});
  }
  if (shift < 0)
    call.fail(text(call.type(value), " cannot be expanded to ", shape.str()), {value});
  return call.done(call.broadcast(value, to));
}

Tensor slice(const Operand &x, int64_t axis, SliceOptions options) {
  Call call("slice", {&x});
  Value value = call.value(x);
  axis = axisOf(axis, int64_t(ir::dimsOf(value).size()), "slice", call.at);
  if (options.step < 1)
    call.fail(text("the step is ", options.step, "; it must be 1 or more"));
  AffineExpr whole = ir::dimsOf(value)[size_t(axis)];
  if (options.start == 0 && options.stop == SliceOptions().stop && options.step == 1)
    return call.done(value);
  if (!ir::constantSize(whole) && options.start >= 0 && options.stop == SliceOptions().stop) {
    AffineExpr count = (whole - options.start + (options.step - 1)).floorDiv(options.step);
    return call.done(sliced(call, value, axis, options.start, options.step, count));
  }
  int64_t size = staticSize(call, value, axis);
  auto clip = [&](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? position + size : position, 0, size);
  };
  int64_t start = clip(options.start), stop = std::max(start, clip(options.stop));
  int64_t count = (stop - start + options.step - 1) / options.step;
  return call.done(sliced(call, value, axis, start, options.step, call.number(count)));
}

Tensor select(const Operand &x, int64_t axis, int64_t position) {
  Call call("select", {&x});
  Value value = call.value(x);
  axis = axisOf(axis, int64_t(ir::dimsOf(value).size()), "select", call.at);
  if (position < 0)
    position += staticSize(call, value, axis);
  if (auto size = ir::constantSize(ir::dimsOf(value)[size_t(axis)]);
      position < 0 || (size && position >= *size))
    call.fail(text("position ", position, " is outside dimension ", axis, " of ", call.type(value)),
              {value});
  Value one = sliced(call, value, axis, position, 1, call.number(1));
  Dims dims = ir::dimsOf(one);
  dims.erase(dims.begin() + axis);
  return call.done(call.reshape(one, dims));
}

Tensor concat(const std::vector<Tensor> &inputs, int64_t axis, Where at) {
  Call call("concat", at);
  std::vector<Value> values = listOf(call, inputs, at);
  axis = axisOf(axis, int64_t(ir::dimsOf(values[0]).size()), "concat", at);
  return call.done(joined(call, values, axis));
}

Tensor stack(const std::vector<Tensor> &inputs, int64_t axis, Where at) {
  Call call("stack", at);
  std::vector<Value> values = listOf(call, inputs, at);
  for (Value &value : values) {
    Dims dims = ir::dimsOf(value);
    int64_t place = axisOf(axis, int64_t(dims.size()) + 1, "stack", at);
    dims.insert(dims.begin() + place, call.number(1));
    value = call.reshape(value, dims);
  }
  return call.done(
      joined(call, values, axisOf(axis, int64_t(ir::dimsOf(values[0]).size()), "stack", at)));
}

std::vector<Tensor> split(const Operand &x, int64_t size, int64_t axis) {
  Call call("split", {&x});
  Value value = call.value(x);
  axis = axisOf(axis, int64_t(ir::dimsOf(value).size()), "split", call.at);
  if (size < 1)
    call.fail(text("the size of a part is ", size, "; it must be 1 or more"));
  int64_t whole = staticSize(call, value, axis);
  std::vector<Value> parts;
  for (int64_t at = 0; at < whole; at += size)
    parts.push_back(sliced(call, value, axis, at, 1, call.number(std::min(size, whole - at))));
  return call.done(parts);
}

std::vector<Tensor> chunk(const Operand &x, int64_t parts, int64_t axis) {
  Call call("chunk", {&x});
  Value value = call.value(x);
  int64_t whole =
      staticSize(call, value, axisOf(axis, int64_t(ir::dimsOf(value).size()), "chunk", call.at));
  if (parts < 1)
    call.fail(text("there must be 1 part or more, not ", parts));
  std::vector<Value> values;
  for (const Tensor &part : split(call.trace->tensor(value, call.at),
                                  std::max<int64_t>(1, (whole + parts - 1) / parts), axis))
    values.push_back(call.value({part, call.at}));
  return call.done(values);
}

Tensor pad(const Operand &x, const std::vector<int64_t> &amounts, double value) {
  Call call("pad", {&x});
  Value input = call.value(x);
  size_t rank = ir::dimsOf(input).size();
  if (amounts.size() % 2 || amounts.size() > 2 * rank)
    call.fail(
        text("needs pairs of low and high amounts, at most ", rank, " for ", call.type(input)),
        {input});
  std::vector<int64_t> low(rank), high(rank);
  for (size_t i = 0; i < amounts.size() / 2; ++i) {
    low[rank - 1 - i] = amounts[2 * i];
    high[rank - 1 - i] = amounts[2 * i + 1];
    if (amounts[2 * i] < 0 || amounts[2 * i + 1] < 0)
      call.fail("an amount is negative: use slice to cut");
  }
  return call.done(call.emit(
      "pad", input,
      {{"low", low}, {"high", high}, {"interior", std::vector<int64_t>(rank)}, {"value", value}}));
}

Tensor roll(const Operand &x, int64_t shift, int64_t axis) {
  Call call("roll", {&x});
  Value value = call.value(x);
  axis = axisOf(axis, int64_t(ir::dimsOf(value).size()), "roll", call.at);
  int64_t size = staticSize(call, value, axis);
  shift = size ? ((shift % size) + size) % size : 0;
  if (!shift)
    return call.done(value);
  Value tail = sliced(call, value, axis, size - shift, 1, call.number(shift));
  Value head = sliced(call, value, axis, 0, 1, call.number(size - shift));
  return call.done(joined(call, {tail, head}, axis));
}

} // namespace sinter
