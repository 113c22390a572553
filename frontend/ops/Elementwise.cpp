#include "sinter/ops/elementwise.h"

#include "tracing/Call.h"

namespace sinter {
using detail::Attr;
using detail::Call;
using mlir::Value;
using std::initializer_list;

namespace {

/// An op on floats; integers become f32.
Tensor onFloats(const char *op, const Operand &x, const std::vector<Attr> &attributes = {}) {
  Call call(op, {&x});
  return call.done(call.emit(op, call.floating(x), attributes));
}

/// An op on numbers of any kind.
Tensor onNumbers(const char *op, const Operand &x) {
  Call call(op, {&x});
  Value value = call.value(x);
  if (ir::elementType(value).isInteger(1))
    value = call.cast(value, i64);
  return call.done(call.emit(op, value));
}

Tensor arithmetic(const char *op, const Operand &a, const Operand &b, bool onFloats = false) {
  Call call(op, {&a, &b});
  auto [left, right] = call.matched(a, b, onFloats);
  if (ir::elementType(left).isInteger(1))
    call.fail("bools have no arithmetic: cast them, or combine them with & | ^ ~", {left, right});
  return call.done(call.emit(op, {left, right}));
}

Tensor compare(const char *op, const Operand &a, const Operand &b) {
  Call call(op, {&a, &b});
  auto [left, right] = call.matched(a, b);
  return call.done(call.emit(op, {left, right}));
}

Tensor logic(const char *op, const Operand &a, const Operand &b) {
  Call call(op, {&a, &b});
  Value left = call.cast(call.value(a), boolean), right = call.cast(call.value(b), boolean);
  ir::Dims dims = call.commonShape(left, right);
  return call.done(call.emit(op, {call.broadcast(left, dims), call.broadcast(right, dims)}));
}

} // namespace

Tensor add(const Operand &a, const Operand &b) { return arithmetic("add", a, b); }
Tensor sub(const Operand &a, const Operand &b) { return arithmetic("sub", a, b); }
Tensor mul(const Operand &a, const Operand &b) { return arithmetic("mul", a, b); }
Tensor div(const Operand &a, const Operand &b) { return arithmetic("div", a, b, true); }
Tensor pow(const Operand &a, const Operand &b) { return arithmetic("pow", a, b, true); }
Tensor atan2(const Operand &a, const Operand &b) { return arithmetic("atan2", a, b, true); }
Tensor maximum(const Operand &a, const Operand &b) { return arithmetic("maximum", a, b); }
Tensor minimum(const Operand &a, const Operand &b) { return arithmetic("minimum", a, b); }

Tensor neg(const Operand &x) { return onNumbers("neg", x); }
Tensor abs(const Operand &x) { return onNumbers("abs", x); }
Tensor sign(const Operand &x) { return onNumbers("sign", x); }
Tensor reciprocal(const Operand &x) { return onFloats("reciprocal", x); }
Tensor square(const Operand &x) { return mul(x, x); }
Tensor exp(const Operand &x) { return onFloats("exp", x); }
Tensor expm1(const Operand &x) { return onFloats("expm1", x); }
Tensor log(const Operand &x) { return onFloats("log", x); }
Tensor log1p(const Operand &x) { return onFloats("log1p", x); }
Tensor sqrt(const Operand &x) { return onFloats("sqrt", x); }
Tensor rsqrt(const Operand &x) { return onFloats("rsqrt", x); }
Tensor sin(const Operand &x) { return onFloats("sin", x); }
Tensor cos(const Operand &x) { return onFloats("cos", x); }
Tensor tan(const Operand &x) { return onFloats("tan", x); }
Tensor erf(const Operand &x) { return onFloats("erf", x); }
Tensor floor(const Operand &x) { return onFloats("floor", x); }
Tensor ceil(const Operand &x) { return onFloats("ceil", x); }
Tensor round(const Operand &x) { return onFloats("round", x); }
Tensor clamp(const Operand &x, double lower, double upper) {
  return onFloats("clamp", x, {{"lower", lower}, {"upper", upper}});
}

Tensor relu(const Operand &x) { return onFloats("relu", x); }
Tensor relu6(const Operand &x) { return onFloats("relu6", x); }
Tensor leaky_relu(const Operand &x, double slope) {
  return onFloats("leaky_relu", x, {{"slope", slope}});
}
Tensor elu(const Operand &x, double alpha) { return onFloats("elu", x, {{"alpha", alpha}}); }
Tensor gelu(const Operand &x, GeluOptions options) {
  return onFloats(options.tanh ? "gelu_tanh" : "gelu", x);
}
Tensor sigmoid(const Operand &x) { return onFloats("sigmoid", x); }
Tensor tanh(const Operand &x) { return onFloats("tanh", x); }
Tensor silu(const Operand &x) { return onFloats("silu", x); }
Tensor softplus(const Operand &x) { return onFloats("softplus", x); }
Tensor mish(const Operand &x) { return onFloats("mish", x); }
Tensor softsign(const Operand &x) { return onFloats("softsign", x); }
Tensor hardswish(const Operand &x) { return onFloats("hardswish", x); }

Tensor prelu(const Operand &x, const Operand &slope) {
  Call call("prelu", {&x, &slope});
  Value input = call.floating(x), slopes = call.cast(call.floating(slope), ir::elementType(input));
  ir::Dims dims = ir::dimsOf(input), own = ir::dimsOf(slopes);
  if (own.size() == 1 && !ir::isOne(own[0]) && dims.size() >= 2) {
    if (own[0] != dims[1])
      call.fail(detail::text("slopes ", call.type(slopes),
                             " do not fit the channels (dimension 1) of ", call.type(input)),
                {input, slopes});
    ir::Dims column(dims.size() - 1, call.number(1));
    column[0] = own[0];
    slopes = call.reshape(slopes, column);
  }
  return call.done(
      call.emit("prelu", {input, call.broadcast(slopes, call.commonShape(input, slopes))}));
}

Tensor eq(const Operand &a, const Operand &b) { return compare("eq", a, b); }
Tensor ne(const Operand &a, const Operand &b) { return compare("ne", a, b); }
Tensor lt(const Operand &a, const Operand &b) { return compare("lt", a, b); }
Tensor le(const Operand &a, const Operand &b) { return compare("le", a, b); }
Tensor gt(const Operand &a, const Operand &b) { return compare("gt", a, b); }
Tensor ge(const Operand &a, const Operand &b) { return compare("ge", a, b); }

Tensor logical_and(const Operand &a, const Operand &b) { return logic("logical_and", a, b); }
Tensor logical_or(const Operand &a, const Operand &b) { return logic("logical_or", a, b); }
Tensor logical_xor(const Operand &a, const Operand &b) { return logic("logical_xor", a, b); }
Tensor logical_not(const Operand &x) {
  Call call("logical_not", {&x});
  return call.done(call.emit("logical_not", call.cast(call.value(x), boolean)));
}

Tensor where(const Operand &condition, const Operand &a, const Operand &b) {
  Call call("where", {&condition, &a, &b});
  Value chosen = call.value(condition);
  if (!ir::elementType(chosen).isInteger(1))
    call.fail("the condition is " + call.type(chosen) + ", not bool: compare it with something",
              {chosen});
  auto [left, right] = call.matched(a, b);
  ir::Dims dims = call.commonShape(chosen, left);
  return call.done(call.emit("where", {call.broadcast(chosen, dims), call.broadcast(left, dims),
                                       call.broadcast(right, dims)}));
}

Tensor cast(const Operand &x, DType to) {
  Call call("cast", {&x});
  return call.done(call.cast(call.value(x), to));
}

Tensor stop_gradient(const Operand &x) {
  Call call("stop_gradient", {&x});
  return call.done(call.emit("stop_gradient", call.value(x)));
}

} // namespace sinter
