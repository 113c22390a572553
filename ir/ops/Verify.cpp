#include "ops/Verify.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace sinter::ir {

std::string shapeText(Type type) { return toString(dimsOf(type)); }

std::string sizeText(AffineExpr size) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  size.print(stream);
  return text;
}

std::string listText(ArrayRef<int64_t> list) {
  std::string text = "[";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(list, stream);
  return text + "]";
}

bool swapsLastTwo(ArrayRef<int64_t> permutation) {
  auto expected = llvm::to_vector(llvm::seq<int64_t>(0, permutation.size()));
  if (expected.size() < 2)
    return false;
  std::swap(expected.back(), expected[expected.size() - 2]);
  return permutation == ArrayRef(expected);
}

LogicalResult checkDim(Where where, int64_t dim, Type type) {
  int64_t rank = cast<RankedTensorType>(type).getRank();
  if (dim >= 0 && dim < rank)
    return success();
  return emitOptionalError(where, "dimension ", dim, " is out of range for ", shapeText(type),
                           ", which has ", rank);
}

LogicalResult checkCount(Where where, StringRef name, ArrayRef<int64_t> list, int64_t count) {
  if (int64_t(list.size()) == count)
    return success();
  return emitOptionalError(where, name, " ", listText(list), " has ", list.size(), " values where ",
                           count, " are needed");
}

LogicalResult checkRank(Where where, StringRef name, Type type, int64_t rank) {
  if (cast<RankedTensorType>(type).getRank() == rank)
    return success();
  return emitOptionalError(where, name, " needs ", rank, " dimensions, not ", shapeText(type));
}

LogicalResult checkSameElement(Where where, Value left, Value right) {
  if (elementType(left) == elementType(right))
    return success();
  return emitOptionalError(where, "element types differ: ", shapeText(left), " of ",
                           elementType(left), " and ", shapeText(right), " of ", elementType(right),
                           "; cast one of them");
}

LogicalResult checkProbability(Where where, StringRef name, double value) {
  if (value >= 0 && value <= 1)
    return success();
  return emitOptionalError(where, name, " is ", std::to_string(value), ", not within [0, 1]");
}

namespace {

/// Values an expression may take; a missing end is unbounded.
struct Range {
  std::optional<int64_t> low, high;
};

std::optional<int64_t> combine(std::optional<int64_t> a, std::optional<int64_t> b,
                               function_ref<int64_t(int64_t, int64_t)> f) {
  return a && b ? std::optional(f(*a, *b)) : std::nullopt;
}

int64_t floorDivide(int64_t a, int64_t b) { return llvm::divideFloorSigned(a, b); }
int64_t ceilDivide(int64_t a, int64_t b) { return llvm::divideCeilSigned(a, b); }

Range symbolRange(unsigned position, Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  auto symbols = module ? module->getAttrOfType<ArrayAttr>(kSymbolsAttr) : ArrayAttr();
  auto entry = symbols && position < symbols.size() ? dyn_cast<DictionaryAttr>(symbols[position])
                                                    : DictionaryAttr();
  auto bound = [&](StringRef name) -> std::optional<int64_t> {
    auto value = entry ? entry.getAs<IntegerAttr>(name) : IntegerAttr();
    return value ? std::optional(value.getInt()) : std::nullopt;
  };
  return {bound("lower").value_or(1), bound("upper")};
}

Range rangeOf(AffineExpr expr, Operation *op) {
  if (auto constant = constantSize(expr))
    return {constant, constant};
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbolRange(symbol.getPosition(), op);
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return {};
  Range a = rangeOf(binary.getLHS(), op), b = rangeOf(binary.getRHS(), op);
  std::optional<int64_t> divisor;
  if (b.low && b.low == b.high && *b.low > 0)
    divisor = *b.low;
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return {combine(a.low, b.low, std::plus<>()), combine(a.high, b.high, std::plus<>())};
  case AffineExprKind::Mul: {
    if (b.low && b.high && *b.high <= 0) // a factor below zero turns the range round
      return {combine(a.high, b.low, std::multiplies<>()),
              combine(a.low, b.high, std::multiplies<>())};
    if (a.low && b.low && *a.low >= 0 && *b.low >= 0)
      return {combine(a.low, b.low, std::multiplies<>()),
              combine(a.high, b.high, std::multiplies<>())};
    if (b.low && b.low == b.high)
      return {combine(a.low, b.low, std::multiplies<>()),
              combine(a.high, b.low, std::multiplies<>())};
    return {};
  }
  case AffineExprKind::FloorDiv:
    return {combine(a.low, divisor, floorDivide), combine(a.high, divisor, floorDivide)};
  case AffineExprKind::CeilDiv:
    return {combine(a.low, divisor, ceilDivide), combine(a.high, divisor, ceilDivide)};
  case AffineExprKind::Mod:
    return {0, b.high ? std::optional(*b.high - 1) : std::nullopt};
  default:
    return {};
  }
}

} // namespace

std::optional<int64_t> lowerBound(AffineExpr expr, Operation *op) {
  return rangeOf(simplify(expr), op).low;
}

static LogicalResult checkWindow(Where where, const SlidingWindow &window) {
  if (failed(checkCount(where, "kernel", window.kernel, 2)) ||
      failed(checkCount(where, "stride", window.stride, 2)) ||
      failed(checkCount(where, "padding", window.padding, 4)) ||
      failed(checkCount(where, "dilation", window.dilation, 2)))
    return failure();
  auto below = [](int64_t limit) { return [limit](int64_t value) { return value < limit; }; };
  if (llvm::any_of(window.kernel, below(1)) || llvm::any_of(window.stride, below(1)) ||
      llvm::any_of(window.dilation, below(1)))
    return emitOptionalError(where, "kernel ", listText(window.kernel), ", stride ",
                             listText(window.stride), " and dilation ", listText(window.dilation),
                             " must be 1 or more");
  if (llvm::any_of(window.padding, below(0)))
    return emitOptionalError(where, "padding ", listText(window.padding), " must not be negative");
  return success();
}

FailureOr<Dims> slide(Where where, Type image, bool channelsLast, const SlidingWindow &window) {
  if (failed(checkRank(where, "an image", image, 4)) || failed(checkWindow(where, window)))
    return failure();
  Dims dims = dimsOf(image);
  for (int i = 0; i < 2; ++i) {
    AffineExpr &dim = dims[channelsLast ? 1 + i : 2 + i];
    int64_t low = window.padding[i], high = window.padding[2 + i];
    int64_t span = window.dilation[i] * (window.kernel[i] - 1) + 1;
    auto size = constantSize(dim);
    if (size && *size + low + high < span)
      return emitOptionalError(where, "a window of ", span, " (kernel ", window.kernel[i],
                               ", dilation ", window.dilation[i], ") is larger than the ",
                               i ? "width " : "height ", *size, " padded by ", low, " and ", high,
                               " of ", shapeText(image));
    dim = windowSize(dim, window.kernel[i], window.stride[i], low, high, window.dilation[i]);
  }
  return dims;
}

} // namespace sinter::ir
