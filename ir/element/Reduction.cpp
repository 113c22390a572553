// Accumulators of the reductions.
#include "sinter/ir/Dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

#include <limits>

using namespace mlir;

namespace sinter::ir {

static Value constant(OpBuilder &b, Location loc, Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  Attribute attribute = isa<FloatType>(element)
                            ? Attribute(b.getFloatAttr(element, value))
                            : Attribute(b.getIntegerAttr(element, int64_t(value)));
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, attribute);
  return arith::ConstantOp::create(b, loc, cast<TypedAttr>(attribute));
}

/// The value every other of the type beats.
static Value worst(OpBuilder &b, Location loc, Type type, bool largest, bool isUnsigned) {
  Type element = getElementTypeOrSelf(type);
  if (isa<FloatType>(element))
    return constant(b, loc, type,
                    largest ? -std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::infinity());
  unsigned width = element.getIntOrFloatBitWidth();
  APInt value = isUnsigned
                    ? (largest ? APInt::getMinValue(width) : APInt::getMaxValue(width))
                    : (largest ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width));
  Attribute attribute = b.getIntegerAttr(element, value);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, attribute);
  return arith::ConstantOp::create(b, loc, cast<TypedAttr>(attribute));
}

using Values = SmallVector<Value>;
static ScalarExpr expr(OpBuilder &b, Location loc, Value value, bool isUnsigned = false) {
  return {b, loc, value, isUnsigned};
}
static bool isUnsigned(Value tensor) { return elementType(tensor).isUnsignedInteger(); }

Values SumOp::initial(OpBuilder &b, Location loc, Type type) { return {constant(b, loc, type, 0)}; }
Values SumOp::lift(OpBuilder &, Location, Value element, Value) { return {element}; }
Values SumOp::combine(OpBuilder &b, Location loc, ValueRange x, ValueRange y) {
  return {(expr(b, loc, x[0]) + expr(b, loc, y[0])).value};
}
Value SumOp::finish(OpBuilder &, Location, ValueRange state, Value) { return state[0]; }

Values MeanOp::initial(OpBuilder &b, Location loc, Type type) {
  return {constant(b, loc, type, 0)};
}
Values MeanOp::lift(OpBuilder &, Location, Value element, Value) { return {element}; }
Values MeanOp::combine(OpBuilder &b, Location loc, ValueRange x, ValueRange y) {
  return {(expr(b, loc, x[0]) + expr(b, loc, y[0])).value};
}
Value MeanOp::finish(OpBuilder &b, Location loc, ValueRange state, Value count) {
  Type type = state[0].getType(), element = getElementTypeOrSelf(type);
  Value integer = arith::IndexCastOp::create(b, loc, b.getI64Type(), count);
  Value number = arith::SIToFPOp::create(b, loc, element, integer);
  if (auto vector = dyn_cast<VectorType>(type))
    number = vector::BroadcastOp::create(b, loc, vector, number);
  return (expr(b, loc, state[0]) / expr(b, loc, number)).value;
}

Values ProdOp::initial(OpBuilder &b, Location loc, Type type) {
  return {constant(b, loc, type, 1)};
}
Values ProdOp::lift(OpBuilder &, Location, Value element, Value) { return {element}; }
Values ProdOp::combine(OpBuilder &b, Location loc, ValueRange x, ValueRange y) {
  return {(expr(b, loc, x[0]) * expr(b, loc, y[0])).value};
}
Value ProdOp::finish(OpBuilder &, Location, ValueRange state, Value) { return state[0]; }

Values MaxOp::initial(OpBuilder &b, Location loc, Type type) {
  return {worst(b, loc, type, true, isUnsigned(getX()))};
}
Values MaxOp::lift(OpBuilder &, Location, Value element, Value) { return {element}; }
Values MaxOp::combine(OpBuilder &b, Location loc, ValueRange x, ValueRange y) {
  return {
      max(expr(b, loc, x[0], isUnsigned(getX())), expr(b, loc, y[0], isUnsigned(getX()))).value};
}
Value MaxOp::finish(OpBuilder &, Location, ValueRange state, Value) { return state[0]; }

Values MinOp::initial(OpBuilder &b, Location loc, Type type) {
  return {worst(b, loc, type, false, isUnsigned(getX()))};
}
Values MinOp::lift(OpBuilder &, Location, Value element, Value) { return {element}; }
Values MinOp::combine(OpBuilder &b, Location loc, ValueRange x, ValueRange y) {
  return {
      min(expr(b, loc, x[0], isUnsigned(getX())), expr(b, loc, y[0], isUnsigned(getX()))).value};
}
Value MinOp::finish(OpBuilder &, Location, ValueRange state, Value) { return state[0]; }

//===-- argmax, argmin: (value, position), ordered so that any grouping gives the first best --===//

static constexpr int64_t kNowhere = std::numeric_limits<int64_t>::max();

static Values argInitial(OpBuilder &b, Location loc, Type type, bool largest, bool isUnsigned) {
  Type position = b.getI64Type();
  if (auto vector = dyn_cast<VectorType>(type))
    position = VectorType::get(vector.getShape(), position);
  Attribute nowhere = b.getI64IntegerAttr(kNowhere);
  if (auto vector = dyn_cast<VectorType>(position))
    nowhere = DenseElementsAttr::get(vector, nowhere);
  return {worst(b, loc, type, largest, isUnsigned),
          arith::ConstantOp::create(b, loc, cast<TypedAttr>(nowhere))};
}

/// x unless y is better, or as good and earlier. A NaN is better than any number.
static Values argCombine(OpBuilder &b, Location loc, ValueRange x, ValueRange y, bool largest,
                         bool isUnsigned) {
  ScalarExpr left = expr(b, loc, x[0], isUnsigned), right = expr(b, loc, y[0], isUnsigned);
  ScalarExpr leftAt = expr(b, loc, x[1]), rightAt = expr(b, loc, y[1]);
  ScalarExpr better = largest ? right > left : right < left, same = eq(right, left);
  ScalarExpr take = better | (same & (rightAt < leftAt));
  if (isa<FloatType>(getElementTypeOrSelf(x[0]))) {
    ScalarExpr leftNan = ne(left, left), rightNan = ne(right, right), earlier = rightAt < leftAt;
    ScalarExpr takeNan = take | (rightNan & ((!leftNan) | earlier));
    return {select(takeNan, right, left).value, select(takeNan, rightAt, leftAt).value};
  }
  return {select(take, right, left).value, select(take, rightAt, leftAt).value};
}

static Value argFinish(OpBuilder &b, Location loc, ValueRange state, Type element) {
  ScalarExpr at = expr(b, loc, state[1]);
  Type type = state[1].getType();
  Attribute nowhere = b.getI64IntegerAttr(kNowhere);
  if (auto vector = dyn_cast<VectorType>(type))
    nowhere = DenseElementsAttr::get(vector, nowhere);
  ScalarExpr none = eq(at, at.with(arith::ConstantOp::create(b, loc, cast<TypedAttr>(nowhere))));
  Value result = select(none, at.constant(0), at).value;
  if (element.isInteger(64))
    return result;
  Type narrow = element;
  if (auto vector = dyn_cast<VectorType>(type))
    narrow = VectorType::get(vector.getShape(), element);
  return arith::TruncIOp::create(b, loc, narrow, result);
}

unsigned ArgmaxOp::stateSize() { return 2; }
Values ArgmaxOp::initial(OpBuilder &b, Location loc, Type type) {
  return argInitial(b, loc, type, true, isUnsigned(getX()));
}
Values ArgmaxOp::lift(OpBuilder &, Location, Value element, Value position) {
  return {element, position};
}
Values ArgmaxOp::combine(OpBuilder &b, Location loc, ValueRange x, ValueRange y) {
  return argCombine(b, loc, x, y, true, isUnsigned(getX()));
}
Value ArgmaxOp::finish(OpBuilder &b, Location loc, ValueRange state, Value) {
  return argFinish(b, loc, state, elementType(getY()));
}

unsigned ArgminOp::stateSize() { return 2; }
Values ArgminOp::initial(OpBuilder &b, Location loc, Type type) {
  return argInitial(b, loc, type, false, isUnsigned(getX()));
}
Values ArgminOp::lift(OpBuilder &, Location, Value element, Value position) {
  return {element, position};
}
Values ArgminOp::combine(OpBuilder &b, Location loc, ValueRange x, ValueRange y) {
  return argCombine(b, loc, x, y, false, isUnsigned(getX()));
}
Value ArgminOp::finish(OpBuilder &b, Location loc, ValueRange state, Value) {
  return argFinish(b, loc, state, elementType(getY()));
}

} // namespace sinter::ir
