#include "sinter/ir/Element.h"

#include "sinter/ir/Expr.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace sinter::ir {

Type computeType(Type element) {
  if (element.isF16() || element.isBF16())
    return Float32Type::get(element.getContext());
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

ScalarExpr ElementSource::expr(unsigned operand, ArrayRef<Index> at) {
  return {b, loc, element(operand, at), elementType(operandValue(operand)).isUnsignedInteger()};
}

Value ElementSource::index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

static std::optional<int64_t> constantIndex(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

Value ElementSource::add(Value a, Value b_) {
  auto x = constantIndex(a), y = constantIndex(b_);
  if (x && y)
    return index(*x + *y);
  if (x == 0)
    return b_;
  if (y == 0)
    return a;
  return arith::AddIOp::create(b, loc, a, b_);
}

Value ElementSource::mul(Value a, Value b_) {
  auto x = constantIndex(a), y = constantIndex(b_);
  if (x && y)
    return index(*x * *y);
  if (x == 0 || y == 0)
    return index(0);
  if (x == 1)
    return b_;
  if (y == 1)
    return a;
  return arith::MulIOp::create(b, loc, a, b_);
}

Index ElementSource::add(Index a, int64_t amount) { return {add(a.base, index(amount)), a.step}; }

Type ElementSource::laneType(Type type) const {
  return lanes() == 1 ? type : Type(VectorType::get({lanes()}, type));
}

Value ElementSource::number(double value, Type element) {
  Type scalar = computeType(element);
  TypedAttr attribute = isa<FloatType>(scalar)
                            ? TypedAttr(b.getFloatAttr(scalar, value))
                            : TypedAttr(b.getIntegerAttr(scalar, int64_t(value)));
  if (lanes() > 1)
    attribute = DenseElementsAttr::get(VectorType::get({lanes()}, scalar), Attribute(attribute));
  return arith::ConstantOp::create(b, loc, attribute);
}

Value ElementSource::asInteger(Index at) {
  Value base = arith::IndexCastOp::create(b, loc, b.getI64Type(), at.base);
  if (lanes() == 1)
    return base;
  auto type = VectorType::get({lanes()}, b.getI64Type());
  Value vector = vector::BroadcastOp::create(b, loc, type, base);
  if (at.step == 0)
    return vector;
  SmallVector<int64_t> offsets;
  for (int64_t lane = 0; lane < lanes(); ++lane)
    offsets.push_back(lane * at.step);
  Value steps =
      arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(offsets)));
  return arith::AddIOp::create(b, loc, vector, steps);
}

Value ElementSource::inRange(Value value, Value size) {
  // One unsigned comparison covers both ends.
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, value, size);
}

} // namespace sinter::ir
