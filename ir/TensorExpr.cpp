#include "sinter/ir/Dialect.h"

using namespace mlir;

namespace sinter::ir {

TensorExpr TensorExpr::constant(double number) const {
  return with(FullOp::create(builder, loc, tensorTypeOf(value), number));
}

static bool isZero(const TensorExpr &x) {
  auto full = x.value.getDefiningOp<FullOp>();
  return full && full.number() == 0;
}

template <class OpTy> static TensorExpr binary(const TensorExpr &a, const TensorExpr &b) {
  return a.with(a.builder.createOrFold<OpTy>(a.loc, a.value, b.value));
}

template <class OpTy> static TensorExpr unary(const TensorExpr &x) {
  return x.with(x.builder.createOrFold<OpTy>(x.loc, x.value));
}

// Formulas write a zero derivative as `0.0 * g`; it is zero for infinite g too.
TensorExpr operator*(const TensorExpr &a, const TensorExpr &b) {
  if (isZero(a))
    return a;
  return isZero(b) ? b : binary<MulOp>(a, b);
}

#define SINTER_BINARY(NAME, OP)                                                                    \
  TensorExpr NAME(const TensorExpr &a, const TensorExpr &b) { return binary<OP>(a, b); }
#define SINTER_UNARY(NAME, OP)                                                                     \
  TensorExpr NAME(const TensorExpr &x) { return unary<OP>(x); }
SINTER_BINARY(operator+, AddOp)
SINTER_BINARY(operator-, SubOp)
SINTER_BINARY(operator/, DivOp)
SINTER_BINARY(operator<, LtOp)
SINTER_BINARY(operator<=, LeOp)
SINTER_BINARY(operator>, GtOp)
SINTER_BINARY(operator>=, GeOp)
SINTER_BINARY(operator&, LogicalAndOp)
SINTER_BINARY(operator|, LogicalOrOp)
SINTER_BINARY(eq, EqOp)
SINTER_BINARY(ne, NeOp)
SINTER_BINARY(max, MaximumOp)
SINTER_BINARY(min, MinimumOp)
SINTER_BINARY(pow, PowOp)
SINTER_BINARY(atan2, Atan2Op)
SINTER_UNARY(operator-, NegOp)
SINTER_UNARY(operator!, LogicalNotOp)
SINTER_UNARY(abs, AbsOp)
SINTER_UNARY(sign, SignOp)
SINTER_UNARY(exp, ExpOp)
SINTER_UNARY(expm1, Expm1Op)
SINTER_UNARY(log, LogOp)
SINTER_UNARY(log1p, Log1pOp)
SINTER_UNARY(sqrt, SqrtOp)
SINTER_UNARY(rsqrt, RsqrtOp)
SINTER_UNARY(sin, SinOp)
SINTER_UNARY(cos, CosOp)
SINTER_UNARY(tan, TanOp)
SINTER_UNARY(tanh, TanhOp)
SINTER_UNARY(erf, ErfOp)
SINTER_UNARY(floor, FloorOp)
SINTER_UNARY(ceil, CeilOp)
SINTER_UNARY(round, RoundOp)
#undef SINTER_UNARY
#undef SINTER_BINARY

TensorExpr select(const TensorExpr &condition, const TensorExpr &a, const TensorExpr &b) {
  return a.with(a.builder.createOrFold<WhereOp>(a.loc, condition.value, a.value, b.value));
}

} // namespace sinter::ir
