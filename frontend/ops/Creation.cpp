#include "sinter/ops/elementwise.h"
#include "sinter/ops/math.h"
#include "sinter/ops/shape.h"

#include "tracing/Call.h"

namespace sinter {
using detail::Call;
using mlir::Value;

namespace {

mlir::RankedTensorType typeOf(Call &call, const Shape &shape, DType dtype) {
  for (const Dim &dim : shape)
    if (dim.isStatic() && dim.value() < 0)
      call.fail("a size is negative: " + shape.str());
  return ir::tensorType(call.dims(shape), detail::elementType(call.trace->session->context, dtype));
}

/// Position along the last two dimensions of `like`, as i64 of its shape.
std::pair<Value, Value> rowsAndColumns(Call &call, Value like) {
  ir::Dims dims = ir::dimsOf(like);
  mlir::Type i64Type = detail::elementType(call.trace->session->context, i64);
  auto along = [&](size_t axis) {
    std::vector<detail::Attr> attributes{{"start", 0.0}, {"step", 1.0}};
    Value line =
        call.emit("arange", Call::Values{}, attributes, ir::tensorType({dims[axis]}, i64Type));
    ir::Dims shape(dims.size() - axis, call.number(1));
    shape[0] = dims[axis];
    return call.broadcast(call.reshape(line, shape), dims);
  };
  return {along(dims.size() - 2), along(dims.size() - 1)};
}

/// Keeps elements where keep(column - row) holds, as comparison `op` with `diagonal`.
Tensor triangle(const char *name, const char *op, const Operand &x, int64_t diagonal) {
  Call call(name, {&x});
  Value value = call.value(x);
  if (ir::dimsOf(value).size() < 2)
    call.fail("needs two dimensions or more, not " + call.type(value), {value});
  auto [rows, columns] = rowsAndColumns(call, value);
  Value distance = call.emit("sub", {columns, rows});
  Value keep = call.emit(op, {distance, call.like(distance, double(diagonal))});
  return call.done(call.emit("where", {keep, value, call.like(value, 0)}));
}

} // namespace

Tensor full(const Shape &shape, double value, DType dtype, Where at) {
  Call call("full", at);
  auto type = typeOf(call, shape, dtype);
  return call.done(isFloat(dtype) ? call.filled(type, value) : call.filled(type, int64_t(value)));
}
Tensor zeros(const Shape &shape, DType dtype, Where at) { return full(shape, 0, dtype, at); }
Tensor ones(const Shape &shape, DType dtype, Where at) { return full(shape, 1, dtype, at); }

static Tensor filledLike(const char *op, const Operand &x, double value) {
  Call call(op, {&x});
  return call.done(call.like(call.value(x), value));
}
Tensor zeros_like(const Operand &x) { return filledLike("zeros_like", x, 0); }
Tensor ones_like(const Operand &x) { return filledLike("ones_like", x, 1); }

Tensor arange(const Dim &count, double start, double step, DType dtype, Where at) {
  Call call("arange", at);
  auto type = typeOf(call, {count}, dtype);
  return call.done(call.emit("arange", Call::Values{}, {{"start", start}, {"step", step}}, type));
}
Tensor arange(const Dim &count, Where at) { return arange(count, 0, 1, i64, at); }

Tensor eye(const Dim &rows, DType dtype, Where at) {
  Call call("eye", at);
  Value square = call.filled(typeOf(call, {rows, rows}, i64), int64_t(0));
  auto [row, column] = rowsAndColumns(call, square);
  return call.done(call.cast(call.emit("eq", {row, column}), dtype));
}

Tensor tril(const Operand &x, int64_t diagonal) { return triangle("tril", "le", x, diagonal); }
Tensor triu(const Operand &x, int64_t diagonal) { return triangle("triu", "ge", x, diagonal); }

static Tensor random(const char *op, const Shape &shape, DType dtype,
                     const std::vector<detail::Attr> &attributes, double scale, double shift,
                     Where at) {
  Call call(op, at);
  std::vector<detail::Attr> all = attributes;
  all.emplace_back("id", call.trace->nextRandomId());
  Value value = call.emit(op, call.trace->randomState(), all, typeOf(call, shape, dtype));
  if (scale != 1)
    value = call.emit("mul", {value, call.like(value, scale)});
  if (shift != 0)
    value = call.emit("add", {value, call.like(value, shift)});
  return call.done(value);
}
Tensor random_uniform(const Shape &shape, double low, double high, DType dtype, Where at) {
  return random("random_uniform", shape, dtype, {}, high - low, low, at);
}
Tensor random_normal(const Shape &shape, double mean, double deviation, DType dtype, Where at) {
  return random("random_normal", shape, dtype, {}, deviation, mean, at);
}
Tensor random_bernoulli(const Shape &shape, double probability, Where at) {
  return random("random_bernoulli", shape, boolean, {{"probability", probability}}, 1, 0, at);
}

Tensor dropout(const Operand &x, double probability) {
  Call call("dropout", {&x});
  Value value = call.floating(x);
  if (!(probability >= 0 && probability < 1))
    call.fail(detail::text("the probability is ", probability, ", not within [0, 1)"));
  if (call.trace->options.mode == Mode::Inference || probability == 0)
    return call.done(value);
  return call.done(call.emit("dropout", {value, call.trace->randomState()},
                             {{"id", call.trace->nextRandomId()}, {"probability", probability}}));
}

Tensor probe(const Operand &x, const std::string &label) {
  Call call("probe", {&x});
  Value value = call.value(x);
  call.emitMany("probe", {value}, {{"label", label}});
  return call.done(value);
}

} // namespace sinter
