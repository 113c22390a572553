// Index maps of the ops that only move data, and of casts and selections.
#include "sinter/ir/Dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace sinter::ir {

Value WhereOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  return select(source.expr(0, at), source.expr(1, at), source.expr(2, at)).value;
}
bool WhereOp::isPointwise() { return true; }

/// Floats to integers: NaN gives 0, values beyond the range saturate, as the interpreter does.
static Value floatToInt(ElementSource &source, Value x, IntegerType target) {
  OpBuilder &b = source.b;
  Location loc = source.loc;
  ScalarExpr value{b, loc, x};
  bool isUnsigned = target.isUnsigned();
  unsigned width = target.getWidth();
  // Converted through i64 (i32 where that is wide enough, which has vector instructions).
  Type wide =
      source.laneType(b.getIntegerType(width < 32 || (width == 32 && !isUnsigned) ? 32 : 64));
  double low = isUnsigned ? 0 : -std::ldexp(1.0, int(width) - 1);
  double high = std::ldexp(1.0, int(width) - (isUnsigned ? 0 : 1));
  ScalarExpr tooLow = value < low, tooHigh = value >= high, isNan = ne(value, value);
  ScalarExpr safe = select(tooLow | tooHigh | isNan, value.constant(0), value);
  ScalarExpr converted{b, loc, arith::FPToSIOp::create(b, loc, wide, safe.value)};
  auto limit = [&](APInt number) {
    unsigned bits = getElementTypeOrSelf(wide).getIntOrFloatBitWidth();
    Attribute attribute = b.getIntegerAttr(getElementTypeOrSelf(wide),
                                           isUnsigned ? number.zext(bits) : number.sext(bits));
    TypedAttr typed = isa<VectorType>(wide)
                          ? TypedAttr(DenseElementsAttr::get(cast<VectorType>(wide), attribute))
                          : cast<TypedAttr>(attribute);
    return ScalarExpr{b, loc, arith::ConstantOp::create(b, loc, typed)};
  };
  APInt least = isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width);
  APInt greatest = isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  Value result = select(tooLow, limit(least), select(tooHigh, limit(greatest), converted)).value;
  if (getElementTypeOrSelf(wide).getIntOrFloatBitWidth() > width)
    result = arith::TruncIOp::create(b, loc, source.laneType(b.getIntegerType(width)), result);
  return result;
}

/// Rounds a computed f32 to what f16 or bf16 storage would hold.
static Value roundTo(ElementSource &source, Value x, Type storage) {
  Type type = x.getType();
  Value narrow = arith::TruncFOp::create(source.b, source.loc, source.laneType(storage), x);
  return arith::ExtFOp::create(source.b, source.loc, type, narrow);
}

Value CastOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  OpBuilder &b = source.b;
  Location loc = source.loc;
  Value x = source.element(0, at);
  Type from = elementType(getX()), to = elementType(getY());
  Type target = source.laneType(computeType(to));
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  if (fromFloat && toFloat) {
    Type have = getElementTypeOrSelf(x), want = computeType(to);
    if (have.getIntOrFloatBitWidth() > want.getIntOrFloatBitWidth())
      x = arith::TruncFOp::create(b, loc, target, x);
    else if (have.getIntOrFloatBitWidth() < want.getIntOrFloatBitWidth())
      x = arith::ExtFOp::create(b, loc, target, x);
    return want == to ? x : roundTo(source, x, to);
  }
  ScalarExpr value{b, loc, x};
  if (to.isInteger(1))
    return from.isInteger(1) ? x : ne(value, value.constant(0)).value;
  if (fromFloat)
    return floatToInt(source, x, cast<IntegerType>(to));
  bool isUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  if (toFloat) {
    // Small integers go through i32, which has vector conversions; unsigned ones are then plain
    // signed values.
    if (from.getIntOrFloatBitWidth() < 32) {
      Type wide = source.laneType(b.getI32Type());
      x = isUnsigned ? Value(arith::ExtUIOp::create(b, loc, wide, x))
                     : Value(arith::ExtSIOp::create(b, loc, wide, x));
    }
    Value result = arith::SIToFPOp::create(b, loc, target, x);
    return computeType(to) == to ? result : roundTo(source, result, to);
  }
  unsigned have = from.getIntOrFloatBitWidth(), want = to.getIntOrFloatBitWidth();
  if (have == want)
    return x;
  if (have > want)
    return arith::TruncIOp::create(b, loc, target, x);
  return isUnsigned ? Value(arith::ExtUIOp::create(b, loc, target, x))
                    : Value(arith::ExtSIOp::create(b, loc, target, x));
}
bool CastOp::isPointwise() { return true; }

Value StopGradientOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  return source.element(0, at);
}
bool StopGradientOp::isPointwise() { return true; }

Value FullOp::emitElement(unsigned, ArrayRef<Index>, ElementSource &source) {
  Type type = elementType(getY());
  if (auto integer = dyn_cast<IntegerAttr>(getValue()); integer && isa<IntegerType>(type)) {
    TypedAttr attribute = source.b.getIntegerAttr(
        computeType(type), integer.getValue().sextOrTrunc(type.getIntOrFloatBitWidth()));
    if (source.lanes() > 1)
      attribute = DenseElementsAttr::get(VectorType::get({source.lanes()}, computeType(type)),
                                         Attribute(attribute));
    return arith::ConstantOp::create(source.b, source.loc, attribute);
  }
  return source.number(number(), type);
}
bool FullOp::isPointwise() { return true; }

Value ArangeOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  OpBuilder &b = source.b;
  Type type = elementType(getY()), compute = computeType(type);
  Value i = source.asInteger(at[0]);
  if (isa<FloatType>(compute)) {
    // In f64, so that long ranges stay exact; rounded once.
    Value wide = arith::SIToFPOp::create(b, source.loc, source.laneType(b.getF64Type()), i);
    ScalarExpr value{b, source.loc, wide};
    Value exact = (value * d(getStep()) + d(getStart())).value;
    return compute.isF64()
               ? exact
               : Value(arith::TruncFOp::create(b, source.loc, source.laneType(compute), exact));
  }
  ScalarExpr value{b, source.loc, i};
  Value exact = (value * d(getStep()) + d(getStart())).value;
  return compute.isInteger(64)
             ? exact
             : Value(arith::TruncIOp::create(b, source.loc, source.laneType(compute), exact));
}

Value ExpandOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  Dims from = dimsOf(getX()), to = dimsOf(getY());
  SmallVector<Index> inner;
  for (size_t i = 0, shift = to.size() - from.size(); i < from.size(); ++i)
    inner.push_back(isOne(from[i]) && from[i] != to[i + shift] ? source.at(0) : at[i + shift]);
  return source.element(0, inner);
}
std::optional<int64_t> ExpandOp::laneDim(unsigned, int64_t dim) {
  Dims from = dimsOf(getX()), to = dimsOf(getY());
  int64_t inner = dim - int64_t(to.size() - from.size());
  return inner < 0 || (isOne(from[inner]) && from[inner] != to[dim]) ? -1 : inner;
}

/// Pairs of dimensions, one of each side, that hold the same index, when the reshape only adds or
/// drops dimensions of size 1.
static std::optional<SmallVector<std::pair<int64_t, int64_t>>> unitReshape(ReshapeOp op) {
  Dims from = dimsOf(op.getX()), to = dimsOf(op.getY());
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    if (i < from.size() && j < to.size() && from[i] == to[j])
      pairs.emplace_back(int64_t(i++), int64_t(j++));
    else if (i < from.size() && isOne(from[i]))
      ++i;
    else if (j < to.size() && isOne(to[j]))
      ++j;
    else
      return std::nullopt;
  }
  return pairs;
}

Value ReshapeOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  Dims from = dimsOf(getX()), to = dimsOf(getY());
  SmallVector<Index> inner(from.size(), source.at(0));
  if (auto pairs = unitReshape(*this)) {
    for (auto [i, j] : *pairs)
      inner[i] = at[j];
    return source.element(0, inner);
  }
  Value linear = source.index(0);
  for (auto [index, size] : llvm::zip(at, to))
    linear = source.add(source.mul(linear, source.dim(size)), index.base);
  for (size_t i = from.size(); i-- > 0;) {
    Value size = source.dim(from[i]);
    inner[i] = {i == 0 ? linear : Value(arith::RemUIOp::create(source.b, source.loc, linear, size)),
                0};
    if (i > 0)
      linear = arith::DivUIOp::create(source.b, source.loc, linear, size);
  }
  return source.element(0, inner);
}
std::optional<int64_t> ReshapeOp::laneDim(unsigned, int64_t dim) {
  if (dim < 0)
    return -1;
  auto pairs = unitReshape(*this);
  if (!pairs)
    return std::nullopt;
  for (auto [i, j] : *pairs)
    if (j == dim)
      return i;
  return -1;
}

Value TransposeOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  SmallVector<Index> inner(at.size());
  for (auto [i, from] : llvm::enumerate(getPermutation()))
    inner[from] = at[i];
  return source.element(0, inner);
}
std::optional<int64_t> TransposeOp::laneDim(unsigned, int64_t dim) {
  return dim < 0 ? -1 : getPermutation()[dim];
}

Value SliceOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  SmallVector<Index> inner;
  for (auto [index, start, stride] : llvm::zip(at, getStarts(), getStrides()))
    inner.push_back({source.add(source.mul(index.base, source.index(stride)), source.index(start)),
                     index.step * stride});
  return source.element(0, inner);
}
std::optional<int64_t> SliceOp::laneDim(unsigned, int64_t dim) { return dim; }

/// `inside` when `condition`, else `outside`, computed lazily: `inside` may read memory.
static Value emitIf(ElementSource &source, Value condition, function_ref<Value()> inside,
                    function_ref<Value()> outside, Type type) {
  auto op = scf::IfOp::create(source.b, source.loc, TypeRange{type}, condition, true);
  OpBuilder::InsertionGuard guard(source.b);
  source.b.setInsertionPointToStart(op.thenBlock());
  scf::YieldOp::create(source.b, source.loc, inside());
  source.b.setInsertionPointToStart(op.elseBlock());
  scf::YieldOp::create(source.b, source.loc, outside());
  return op.getResult(0);
}

Value PadOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  OpBuilder &b = source.b;
  Location loc = source.loc;
  Dims from = dimsOf(getX());
  Value condition;
  SmallVector<Index> inner;
  auto require = [&](Value test) {
    condition = condition ? Value(arith::AndIOp::create(b, loc, condition, test)) : test;
  };
  for (size_t i = 0; i < from.size(); ++i) {
    if (!getLow()[i] && !getHigh()[i] && !getInterior()[i]) {
      inner.push_back(at[i]);
      continue;
    }
    Value shifted = source.add(at[i].base, source.index(-getLow()[i]));
    if (int64_t stride = getInterior()[i] + 1; stride > 1) {
      // Negative positions wrap to huge unsigned ones, which the range check below refuses.
      Value divisor = source.index(stride);
      require(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                    arith::RemSIOp::create(b, loc, shifted, divisor),
                                    source.index(0)));
      shifted = arith::FloorDivSIOp::create(b, loc, shifted, divisor);
    }
    require(source.inRange(shifted, source.dim(from[i])));
    inner.push_back({shifted, at[i].step});
  }
  if (!condition)
    return source.element(0, inner);
  Type element = elementType(getX());
  return emitIf(
      source, condition, [&] { return source.element(0, inner); },
      [&] { return source.number(d(getValue()), element); }, source.laneType(computeType(element)));
}
std::optional<int64_t> PadOp::laneDim(unsigned, int64_t dim) {
  if (dim >= 0 && (getLow()[dim] || getHigh()[dim] || getInterior()[dim]))
    return std::nullopt;
  return dim;
}

Value ConcatOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  int64_t dim = getDim();
  Type type = source.laneType(computeType(elementType(getY())));
  SmallVector<Index> inner(at);
  std::function<Value(unsigned, Value)> pick = [&](unsigned operand, Value position) -> Value {
    auto read = [&] {
      inner[dim].base = position;
      return source.element(operand, inner);
    };
    if (operand + 1 == getInputs().size())
      return read();
    Value size = source.dim(dimsOf(getInputs()[operand])[dim]);
    Value here =
        arith::CmpIOp::create(source.b, source.loc, arith::CmpIPredicate::slt, position, size);
    return emitIf(
        source, here, read,
        [&] {
          return pick(operand + 1, arith::SubIOp::create(source.b, source.loc, position, size));
        },
        type);
  };
  return pick(0, at[dim].base);
}
std::optional<int64_t> ConcatOp::laneDim(unsigned, int64_t dim) {
  if (dim == int64_t(getDim()))
    return std::nullopt;
  return dim;
}

//===-- reads at positions given by data ------------------------------------------------------===//

/// Reads operand `operand` at `inner` with dimension `dim` replaced by the integer `position`; 0
/// where that is out of range.
static Value readAt(ElementSource &source, unsigned operand, SmallVector<Index> inner, int64_t dim,
                    Value position, Type element) {
  Value index = arith::IndexCastOp::create(source.b, source.loc, source.b.getIndexType(), position);
  inner[dim] = {index, 0};
  Value size = source.dim(dimsOf(source.operandValue(operand))[dim]);
  return emitIf(
      source, source.inRange(index, size), [&] { return source.element(operand, inner); },
      [&] { return source.number(0, element); }, source.laneType(computeType(element)));
}

/// The index operand's element as a scalar: its position doesn't move with the lanes (laneDim sees
/// to that).
static Value scalarOf(ElementSource &source, Value position) {
  return isa<VectorType>(position.getType())
             ? Value(vector::ExtractOp::create(source.b, source.loc, position, 0))
             : position;
}

Value EmbeddingOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  Value row = scalarOf(source, source.element(1, at.drop_back()));
  return readAt(source, 0, {source.at(0), at.back()}, 0, row, elementType(getY()));
}
std::optional<int64_t> EmbeddingOp::laneDim(unsigned operand, int64_t dim) {
  if (dim < 0)
    return -1;
  if (dim != tensorTypeOf(getY()).getRank() - 1)
    return std::nullopt;
  return operand == 0 ? 1 : -1;
}

Value GatherOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  Value position = scalarOf(source, source.element(1, at));
  return readAt(source, 0, SmallVector<Index>(at), getDim(), position, elementType(getY()));
}
std::optional<int64_t> GatherOp::laneDim(unsigned, int64_t dim) {
  // The index operand has the result's rank, so any moving lane moves the index.
  if (dim >= 0)
    return std::nullopt;
  return -1;
}

Value OneHotOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  OpBuilder &b = source.b;
  Value index = source.element(0, at.drop_back());
  Value wanted = source.asInteger(at.back());
  if (getElementTypeOrSelf(index).getIntOrFloatBitWidth() < 64)
    index = arith::ExtSIOp::create(b, source.loc, source.laneType(b.getI64Type()), index);
  Value hit = arith::CmpIOp::create(b, source.loc, arith::CmpIPredicate::eq, index, wanted);
  Type type = elementType(getY());
  return arith::SelectOp::create(b, source.loc, hit, source.number(1, type),
                                 source.number(0, type));
}
std::optional<int64_t> OneHotOp::laneDim(unsigned, int64_t dim) {
  return dim == tensorTypeOf(getY()).getRank() - 1 ? -1 : dim;
}

} // namespace sinter::ir
