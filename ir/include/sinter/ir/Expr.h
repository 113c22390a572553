// The three readings of an elementwise formula in ops/Elementwise.td: `Number` computes it
// (interpreter), `ScalarExpr` emits arith/math ops on scalars or vectors (codegen), `TensorExpr`
// builds sinter ops (gradients). All have the same operators and functions, found by
// argument-dependent lookup.
#pragma once

#include "sinter/ir/Element.h"
#include "sinter/ir/Reference.h"

#include "llvm/ADT/APFloat.h"

namespace sinter::ir {

inline double d(const llvm::APFloat &value) { return value.convertToDouble(); }

/// A scalar or vector value. Integers know their signedness, which MLIR's signless types don't.
struct ScalarExpr {
  ScalarExpr(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
             bool isUnsigned = false)
      : builder(builder), loc(loc), value(value), isUnsigned(isUnsigned) {}
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value value;
  bool isUnsigned;
  ScalarExpr with(mlir::Value v) const { return {builder, loc, v, isUnsigned}; }
  ScalarExpr constant(double number) const;
};

struct TensorExpr {
  TensorExpr(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value)
      : builder(builder), loc(loc), value(value) {}
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value value;
  TensorExpr with(mlir::Value v) const { return {builder, loc, v}; }
  TensorExpr constant(double number) const;
};

inline Number constantLike(const Number &like, double number) {
  return like.isInteger ? Number{true, 0, int64_t(number)} : Number{false, number, 0};
}
inline ScalarExpr constantLike(const ScalarExpr &like, double number) {
  return like.constant(number);
}
inline TensorExpr constantLike(const TensorExpr &like, double number) {
  return like.constant(number);
}

#define SINTER_BINARY(NAME)                                                                        \
  Number NAME(const Number &a, const Number &b);                                                   \
  ScalarExpr NAME(const ScalarExpr &a, const ScalarExpr &b);                                       \
  TensorExpr NAME(const TensorExpr &a, const TensorExpr &b);                                       \
  template <class E, class = decltype(constantLike(std::declval<E>(), 0.0))>                       \
  E NAME(const E &a, double b) {                                                                   \
    return NAME(a, constantLike(a, b));                                                            \
  }                                                                                                \
  template <class E, class = decltype(constantLike(std::declval<E>(), 0.0))>                       \
  E NAME(double a, const E &b) {                                                                   \
    return NAME(constantLike(b, a), b);                                                            \
  }
#define SINTER_UNARY(NAME)                                                                         \
  Number NAME(const Number &x);                                                                    \
  ScalarExpr NAME(const ScalarExpr &x);                                                            \
  TensorExpr NAME(const TensorExpr &x);
SINTER_BINARY(operator+)
SINTER_BINARY(operator-)
SINTER_BINARY(operator*)
SINTER_BINARY(operator/)
SINTER_BINARY(operator<)
SINTER_BINARY(operator<=)
SINTER_BINARY(operator>)
SINTER_BINARY(operator>=)
SINTER_BINARY(operator&)
SINTER_BINARY(operator|)
SINTER_BINARY(eq)
SINTER_BINARY(ne)
SINTER_BINARY(max) // NaN wins
SINTER_BINARY(min) // NaN wins
SINTER_BINARY(pow)
SINTER_BINARY(atan2)
SINTER_UNARY(operator-)
SINTER_UNARY(operator!)
SINTER_UNARY(abs)
SINTER_UNARY(sign)
SINTER_UNARY(exp)
SINTER_UNARY(expm1)
SINTER_UNARY(log)
SINTER_UNARY(log1p)
SINTER_UNARY(sqrt)
SINTER_UNARY(rsqrt)
SINTER_UNARY(sin)
SINTER_UNARY(cos)
SINTER_UNARY(tan)
SINTER_UNARY(tanh)
SINTER_UNARY(erf)
SINTER_UNARY(floor)
SINTER_UNARY(ceil)
SINTER_UNARY(round)
#undef SINTER_UNARY
#undef SINTER_BINARY

Number select(const Number &condition, const Number &a, const Number &b);
ScalarExpr select(const ScalarExpr &condition, const ScalarExpr &a, const ScalarExpr &b);
TensorExpr select(const TensorExpr &condition, const TensorExpr &a, const TensorExpr &b);

/// Logistic function. The power is at most 1, so that small results are rounded, not lost.
template <class E> E sigmoid(const E &x) {
  E power = exp(-abs(x)), upper = 1.0 / (1.0 + power);
  return select(x >= 0.0, upper, power * upper);
}
/// x sigmoid(x), with the power as two factors, so that a small one is not rounded before x scales
/// it.
template <class E> E silu(const E &x) {
  E root = exp(-0.5 * abs(x)), upper = 1.0 / (1.0 + root * root);
  return select(x >= 0.0, x * upper, x * root * upper * root);
}
/// log(1 + exp(x)) without overflow.
template <class E> E softplus(const E &x) { return max(x, 0.0) + log1p(exp(-abs(x))); }
/// Derivative of the tanh form of GELU (Hendrycks and Gimpel, 2016).
template <class E> E geluTanhSlope(const E &x) {
  E t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
  return 0.5 * (1.0 + t) +
         0.5 * x * (1.0 - t * t) * (0.7978845608028654 * (1.0 + 0.134145 * x * x));
}

} // namespace sinter::ir
