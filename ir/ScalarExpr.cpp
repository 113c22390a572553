// The codegen reading of a formula: arith and math ops on scalars or vectors.
#include "sinter/ir/Expr.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace sinter::ir {

static bool isFloat(const ScalarExpr &x) { return isa<FloatType>(getElementTypeOrSelf(x.value)); }
static bool isConstant(const ScalarExpr &x) { return matchPattern(x.value, m_Constant()); }

ScalarExpr ScalarExpr::constant(double number) const {
  Type type = value.getType(), element = getElementTypeOrSelf(type);
  TypedAttr attribute = isa<FloatType>(element)
                            ? TypedAttr(builder.getFloatAttr(element, number))
                            : TypedAttr(builder.getIntegerAttr(element, int64_t(number)));
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return with(arith::ConstantOp::create(builder, loc, attribute));
}

template <class FloatOp, class IntOp>
static ScalarExpr binary(const ScalarExpr &a, const ScalarExpr &b) {
  if (isFloat(a))
    return a.with(FloatOp::create(a.builder, a.loc, a.value, b.value));
  return a.with(IntOp::create(a.builder, a.loc, a.value, b.value));
}

static ScalarExpr compare(const ScalarExpr &a, const ScalarExpr &b, arith::CmpFPredicate real,
                          arith::CmpIPredicate isSigned, arith::CmpIPredicate isUnsigned) {
  if (isFloat(a))
    return a.with(arith::CmpFOp::create(a.builder, a.loc, real, a.value, b.value));
  return a.with(arith::CmpIOp::create(a.builder, a.loc, a.isUnsigned ? isUnsigned : isSigned,
                                      a.value, b.value));
}

ScalarExpr operator+(const ScalarExpr &a, const ScalarExpr &b) {
  return binary<arith::AddFOp, arith::AddIOp>(a, b);
}
ScalarExpr operator-(const ScalarExpr &a, const ScalarExpr &b) {
  return binary<arith::SubFOp, arith::SubIOp>(a, b);
}
ScalarExpr operator*(const ScalarExpr &a, const ScalarExpr &b) {
  return binary<arith::MulFOp, arith::MulIOp>(a, b);
}
ScalarExpr operator/(const ScalarExpr &a, const ScalarExpr &b) {
  return binary<arith::DivFOp, arith::DivSIOp>(a, b);
}
ScalarExpr operator&(const ScalarExpr &a, const ScalarExpr &b) {
  return a.with(arith::AndIOp::create(a.builder, a.loc, a.value, b.value));
}
ScalarExpr operator|(const ScalarExpr &a, const ScalarExpr &b) {
  return a.with(arith::OrIOp::create(a.builder, a.loc, a.value, b.value));
}
ScalarExpr operator<(const ScalarExpr &a, const ScalarExpr &b) {
  return compare(a, b, arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt,
                 arith::CmpIPredicate::ult);
}
ScalarExpr operator<=(const ScalarExpr &a, const ScalarExpr &b) {
  return compare(a, b, arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle,
                 arith::CmpIPredicate::ule);
}
ScalarExpr operator>(const ScalarExpr &a, const ScalarExpr &b) {
  return compare(a, b, arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt,
                 arith::CmpIPredicate::ugt);
}
ScalarExpr operator>=(const ScalarExpr &a, const ScalarExpr &b) {
  return compare(a, b, arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge,
                 arith::CmpIPredicate::uge);
}
ScalarExpr eq(const ScalarExpr &a, const ScalarExpr &b) {
  return compare(a, b, arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq,
                 arith::CmpIPredicate::eq);
}
ScalarExpr ne(const ScalarExpr &a, const ScalarExpr &b) {
  return compare(a, b, arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne,
                 arith::CmpIPredicate::ne);
}

/// With a constant (never NaN) on one side, one compare and select keeps the other's NaN and
/// becomes a single max or min.
static ScalarExpr extremum(const ScalarExpr &a, const ScalarExpr &b, bool largest) {
  if (!isFloat(a))
    return select(largest ? a > b : a < b, a, b);
  if (isConstant(a) && !isConstant(b))
    return extremum(b, a, largest);
  if (isConstant(b)) {
    auto predicate = largest ? arith::CmpFPredicate::UGT : arith::CmpFPredicate::ULT;
    return select(a.with(arith::CmpFOp::create(a.builder, a.loc, predicate, a.value, b.value)), a,
                  b);
  }
  Value result = largest ? Value(arith::MaximumFOp::create(a.builder, a.loc, a.value, b.value))
                         : Value(arith::MinimumFOp::create(a.builder, a.loc, a.value, b.value));
  return a.with(result);
}
ScalarExpr max(const ScalarExpr &a, const ScalarExpr &b) { return extremum(a, b, true); }
ScalarExpr min(const ScalarExpr &a, const ScalarExpr &b) { return extremum(a, b, false); }

ScalarExpr select(const ScalarExpr &condition, const ScalarExpr &a, const ScalarExpr &b) {
  return a.with(arith::SelectOp::create(a.builder, a.loc, condition.value, a.value, b.value));
}
ScalarExpr pow(const ScalarExpr &a, const ScalarExpr &b) {
  return a.with(math::PowFOp::create(a.builder, a.loc, a.value, b.value));
}
ScalarExpr atan2(const ScalarExpr &a, const ScalarExpr &b) {
  return a.with(math::Atan2Op::create(a.builder, a.loc, a.value, b.value));
}
ScalarExpr operator-(const ScalarExpr &x) {
  if (isFloat(x))
    return x.with(arith::NegFOp::create(x.builder, x.loc, x.value));
  return x.constant(0) - x;
}
ScalarExpr operator!(const ScalarExpr &x) {
  return x.with(arith::XOrIOp::create(x.builder, x.loc, x.value, x.constant(1).value));
}
ScalarExpr abs(const ScalarExpr &x) {
  if (isFloat(x))
    return x.with(math::AbsFOp::create(x.builder, x.loc, x.value));
  return x.isUnsigned ? x : max(x, -x);
}
ScalarExpr sign(const ScalarExpr &x) {
  ScalarExpr zero = x.constant(0), one = x.constant(1);
  // 0 and NaN give themselves.
  ScalarExpr result = select(x > zero, one, x);
  return x.isUnsigned ? result : select(x < zero, x.constant(-1), result);
}
template <class Op> static ScalarExpr unary(const ScalarExpr &x) {
  return x.with(Op::create(x.builder, x.loc, x.value));
}
ScalarExpr exp(const ScalarExpr &x) { return unary<math::ExpOp>(x); }
ScalarExpr expm1(const ScalarExpr &x) { return unary<math::ExpM1Op>(x); }
ScalarExpr log(const ScalarExpr &x) { return unary<math::LogOp>(x); }
ScalarExpr log1p(const ScalarExpr &x) { return unary<math::Log1pOp>(x); }
ScalarExpr sqrt(const ScalarExpr &x) { return unary<math::SqrtOp>(x); }
ScalarExpr rsqrt(const ScalarExpr &x) { return x.constant(1) / sqrt(x); }
ScalarExpr sin(const ScalarExpr &x) { return unary<math::SinOp>(x); }
ScalarExpr cos(const ScalarExpr &x) { return unary<math::CosOp>(x); }
ScalarExpr tan(const ScalarExpr &x) { return unary<math::TanOp>(x); }
ScalarExpr tanh(const ScalarExpr &x) { return unary<math::TanhOp>(x); }
ScalarExpr erf(const ScalarExpr &x) { return unary<math::ErfOp>(x); }
ScalarExpr floor(const ScalarExpr &x) { return unary<math::FloorOp>(x); }
ScalarExpr ceil(const ScalarExpr &x) { return unary<math::CeilOp>(x); }
ScalarExpr round(const ScalarExpr &x) { return unary<math::RoundEvenOp>(x); }

} // namespace sinter::ir
