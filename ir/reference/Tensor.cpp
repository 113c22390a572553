#include "sinter/ir/Reference.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace sinter::ir {

/// Nearest value with `precision` significant bits and exponents from `minExponent`, ties to even;
/// infinity beyond `largest`.
static double roundBits(long double value, int precision, int minExponent, double largest) {
  if (!std::isfinite(value) || value == 0)
    return double(value);
  int exponent;
  std::frexp(value, &exponent); // value in [0.5, 1) * 2^exponent
  int quantum = std::max(exponent - 1, minExponent) - (precision - 1);
  long double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -quantum)), quantum);
  if (std::abs(rounded) > largest)
    return std::copysign(INFINITY, double(value));
  return double(rounded);
}

// long double holds every int64_t, so that integers too are rounded once.
static double roundTo(Type type, const Number &number) {
  long double value = number.isInteger ? (long double)(number.integer) : (long double)(number.real);
  if (type.isF16())
    return roundBits(value, 11, -14, 65504);
  if (type.isBF16())
    return roundBits(value, 8, -126, 0x1.FEp127);
  return type.isF32() ? double(float(value)) : double(value);
}

std::pair<int64_t, int64_t> integerRange(Type element) {
  auto type = cast<IntegerType>(element);
  unsigned width = type.getWidth();
  if (type.isUnsigned() || width == 1)
    return {0, int64_t((uint64_t(1) << width) - 1)};
  int64_t largest = int64_t((uint64_t(1) << (width - 1)) - 1);
  return {-largest - 1, largest};
}

static int64_t wrap(Type element, int64_t value) {
  auto type = cast<IntegerType>(element);
  unsigned unused = 64 - type.getWidth();
  uint64_t shifted = uint64_t(value) << unused;
  return type.isUnsigned() ? int64_t(shifted >> unused) : int64_t(shifted) >> unused;
}

ReferenceTensor::ReferenceTensor(ArrayRef<int64_t> dims, Type element, bool exact)
    : sizes(dims), strides(rowMajorStrides(dims)), count(1), type(element), exact(exact) {
  for (int64_t size : dims)
    count *= size;
  if (isFloat())
    reals.resize(count);
  else
    integers.resize(count);
}

std::optional<ReferenceTensor> ReferenceTensor::fromElements(ElementsAttr value, bool exact) {
  auto tensorType = cast<RankedTensorType>(value.getType());
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    bool isSplat;
    if (!blob || !DenseElementsAttr::isValidRawBuffer(tensorType, blob->getData(), isSplat))
      return std::nullopt;
    dense = DenseElementsAttr::getFromRawBuffer(tensorType, blob->getData());
  }
  if (!dense)
    return std::nullopt;
  ReferenceTensor tensor(tensorType.getShape(), tensorType.getElementType(), exact);
  if (tensor.isFloat()) {
    int64_t i = 0;
    for (APFloat number : dense.getValues<APFloat>()) {
      bool losesInfo; // every element type fits a double
      number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
      tensor.set(i++, number.convertToDouble());
    }
    return tensor;
  }
  bool isUnsigned = integerRange(tensor.type).first == 0;
  int64_t i = 0;
  for (const APInt &number : dense.getValues<APInt>())
    tensor.setInt(i++, isUnsigned ? int64_t(number.getZExtValue()) : number.getSExtValue());
  return tensor;
}

Number ReferenceTensor::at(int64_t linear) const {
  return isFloat() ? Number{false, reals[linear], 0} : Number{true, 0, integers[linear]};
}

void ReferenceTensor::set(int64_t linear, Number value) {
  if (isFloat()) {
    reals[linear] = exact ? value.toDouble() : roundTo(type, value);
  } else if (type.isInteger(1)) {
    integers[linear] = value.isInteger ? value.integer != 0 : value.real != 0;
  } else if (value.isInteger) {
    integers[linear] = wrap(type, value.integer);
  } else {
    auto [least, largest] = integerRange(type);
    integers[linear] = std::clamp(value.toInt(), least, largest);
  }
}

int64_t ReferenceTensor::linear(ArrayRef<int64_t> index) const {
  int64_t position = 0;
  for (auto [i, stride] : llvm::zip_equal(index, strides))
    position += i * stride;
  return position;
}

void ReferenceTensor::forEach(function_ref<void(ArrayRef<int64_t>)> body) const {
  forEachIndex(sizes, body);
}

ReferenceTensor ReferenceTensor::converted(bool exact) const {
  ReferenceTensor result(sizes, type, exact);
  for (int64_t i = 0; i < count; ++i)
    result.set(i, at(i));
  return result;
}

std::string ReferenceTensor::typeName() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << type << '[';
  llvm::interleaveComma(sizes, stream);
  stream << ']';
  return text;
}

void forEachIndex(ArrayRef<int64_t> sizes, function_ref<void(ArrayRef<int64_t>)> body) {
  if (llvm::is_contained(sizes, 0))
    return;
  SmallVector<int64_t> index(sizes.size(), 0);
  while (true) {
    body(index);
    int64_t axis = int64_t(sizes.size()) - 1;
    for (; axis >= 0 && ++index[axis] == sizes[axis]; --axis)
      index[axis] = 0;
    if (axis < 0)
      return;
  }
}

} // namespace sinter::ir
