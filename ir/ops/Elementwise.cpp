#include "ops/Fold.h"
#include "ops/Verify.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace sinter::ir;

static bool isInteger(Value value) { return isa<IntegerType>(elementType(value)); }

/// The operand of `value`'s op, when that is an `Op` of one operand.
template <class Op> static Value operandOf(Value value) {
  auto op = value.getDefiningOp<Op>();
  return op ? op.getX() : Value();
}

OpFoldResult AddOp::fold(FoldAdaptor constants) {
  if (isFilledWith(constants.getB(), 0))
    return getA();
  return isFilledWith(constants.getA(), 0) ? getB() : OpFoldResult();
}

LogicalResult AddOp::canonicalize(AddOp op, PatternRewriter &rewriter) {
  if (Value b = operandOf<NegOp>(op.getB()))
    rewriter.replaceOpWithNewOp<SubOp>(op, op.getA(), b);
  else if (Value a = operandOf<NegOp>(op.getA()))
    rewriter.replaceOpWithNewOp<SubOp>(op, op.getB(), a);
  else
    return failure();
  return success();
}

OpFoldResult SubOp::fold(FoldAdaptor constants) {
  if (isFilledWith(constants.getB(), 0))
    return getA();
  if (getA() == getB() && isInteger(getA()))
    return scalarAttr(0, elementType(getA()));
  return {};
}

LogicalResult SubOp::canonicalize(SubOp op, PatternRewriter &rewriter) {
  if (Value b = operandOf<NegOp>(op.getB()))
    rewriter.replaceOpWithNewOp<AddOp>(op, op.getA(), b);
  else if (isFilledWith(op.getA(), 0))
    rewriter.replaceOpWithNewOp<NegOp>(op, op.getB());
  else
    return failure();
  return success();
}

OpFoldResult MulOp::fold(FoldAdaptor constants) {
  if (isFilledWith(constants.getB(), 1))
    return getA();
  if (isFilledWith(constants.getA(), 1))
    return getB();
  // Not of floats: 0 * x is NaN where x is NaN or infinite.
  if (isInteger(getA()) && (isFilledWith(constants.getA(), 0) || isFilledWith(constants.getB(), 0)))
    return scalarAttr(0, elementType(getA()));
  return {};
}

LogicalResult MulOp::canonicalize(MulOp op, PatternRewriter &rewriter) {
  if (isFilledWith(op.getB(), -1))
    rewriter.replaceOpWithNewOp<NegOp>(op, op.getA());
  else if (isFilledWith(op.getA(), -1))
    rewriter.replaceOpWithNewOp<NegOp>(op, op.getB());
  else
    return failure();
  return success();
}

OpFoldResult DivOp::fold(FoldAdaptor constants) {
  return isFilledWith(constants.getB(), 1) ? getA() : OpFoldResult();
}

LogicalResult DivOp::canonicalize(DivOp op, PatternRewriter &rewriter) {
  if (isFilledWith(op.getA(), 1)) {
    rewriter.replaceOpWithNewOp<ReciprocalOp>(op, op.getB());
    return success();
  }
  auto divisor = filledWith(op.getB());
  int exponent;
  if (!divisor || std::abs(std::frexp(divisor->real, &exponent)) != 0.5)
    return failure();
  // By a power of two, whose inverse is exact unless it leaves the type's range.
  double inverse = 1 / divisor->real;
  TypedAttr factor = scalarAttr(inverse, elementType(op.getA()));
  if (!isFilledWith(factor, inverse) || std::isinf(inverse))
    return failure();
  Value full = FullOp::create(rewriter, op.getLoc(), op.getType(), factor);
  rewriter.replaceOpWithNewOp<MulOp>(op, op.getA(), full);
  return success();
}

LogicalResult PowOp::canonicalize(PowOp op, PatternRewriter &rewriter) {
  if (isFilledWith(op.getB(), 0))
    rewriter.replaceOpWithNewOp<FullOp>(op, tensorTypeOf(op.getY()), 1.0);
  else if (isFilledWith(op.getB(), 1))
    rewriter.replaceOp(op, op.getA());
  else if (isFilledWith(op.getB(), 2))
    rewriter.replaceOpWithNewOp<MulOp>(op, op.getA(), op.getA());
  else if (isFilledWith(op.getB(), -1))
    rewriter.replaceOpWithNewOp<ReciprocalOp>(op, op.getA());
  else
    return failure();
  return success();
}

OpFoldResult MaximumOp::fold(FoldAdaptor) { return getA() == getB() ? getA() : OpFoldResult(); }
OpFoldResult MinimumOp::fold(FoldAdaptor) { return getA() == getB() ? getA() : OpFoldResult(); }
OpFoldResult NegOp::fold(FoldAdaptor) { return operandOf<NegOp>(getX()); }
OpFoldResult LogicalNotOp::fold(FoldAdaptor) { return operandOf<LogicalNotOp>(getX()); }
OpFoldResult ReluOp::fold(FoldAdaptor) {
  return operandOf<ReluOp>(getX()) ? getX() : OpFoldResult();
}
OpFoldResult StopGradientOp::fold(FoldAdaptor) {
  return operandOf<StopGradientOp>(getX()) ? getX() : OpFoldResult();
}

LogicalResult WhereOp::verify() {
  if (dimsOf(getCondition()) == dimsOf(getA()))
    return success();
  return emitError("shapes differ: the condition is ")
         << shapeText(getCondition()) << ", the values are " << shapeText(getA());
}

OpFoldResult WhereOp::fold(FoldAdaptor constants) {
  if (auto condition = filledWith(constants.getCondition()))
    return condition->integer ? getA() : getB();
  return getA() == getB() ? getA() : OpFoldResult();
}

LogicalResult CastOp::verify() {
  if (dimsOf(getX()) == dimsOf(getY()))
    return success();
  return emitError("shapes differ: ") << shapeText(getX()) << " is cast to " << shapeText(getY());
}

/// Whether every value of `from` is one of `to`.
static bool isLossless(Type from, Type to) {
  auto real = dyn_cast<FloatType>(to);
  if (auto source = dyn_cast<FloatType>(from))
    return real && source.getFPMantissaWidth() <= real.getFPMantissaWidth() &&
           APFloat::semanticsMaxExponent(source.getFloatSemantics()) <=
               APFloat::semanticsMaxExponent(real.getFloatSemantics());
  auto isUnsigned = [](Type type) { return type.isUnsignedInteger() || type.isInteger(1); };
  unsigned digits = from.getIntOrFloatBitWidth() - !isUnsigned(from);
  if (real)
    return digits <= real.getFPMantissaWidth() &&
           int(digits) <= APFloat::semanticsMaxExponent(real.getFloatSemantics());
  return (isUnsigned(from) || !isUnsigned(to)) &&
         digits <= to.getIntOrFloatBitWidth() - !isUnsigned(to);
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  Value source = operandOf<CastOp>(getX());
  if (!source || !isLossless(elementType(source), elementType(getX())))
    return {};
  if (source.getType() == getType())
    return source;
  getXMutable().assign(source);
  return getResult();
}
