#include "sinter/core/array.h"

#include "sinter/base/float16.h"
#include "sinter/base/text.h"
#include "sinter/core/memory.h"

#include <cmath>
#include <limits>

namespace sinter::rt {
namespace {

template <class T> T load(const void *data, int64_t position) {
  T value;
  std::memcpy(&value, static_cast<const std::byte *>(data) + position * int64_t(sizeof(T)),
              sizeof(T));
  return value;
}

template <class T> void store(void *data, int64_t position, T value) {
  std::memcpy(static_cast<std::byte *>(data) + position * int64_t(sizeof(T)), &value, sizeof(T));
}

/// Saturates and sends NaN to 0, where a plain conversion would be undefined.
int64_t truncated(double value) {
  if (std::isnan(value))
    return 0;
  constexpr double limit = 9223372036854775808.0;
  if (value >= limit)
    return std::numeric_limits<int64_t>::max();
  return value < -limit ? std::numeric_limits<int64_t>::min() : int64_t(value);
}

void storeFloat(DType dtype, void *data, int64_t position, double value) {
  switch (dtype) {
  case DType::F64:
    return store(data, position, value);
  case DType::F32:
    return store(data, position, float(value));
  case DType::F16:
    return store(data, position, floatToHalf(float(value)));
  default:
    return store(data, position, floatToBFloat16(float(value)));
  }
}

void storeInteger(DType dtype, void *data, int64_t position, int64_t value) {
  switch (byteSize(dtype)) {
  case 8:
    return store(data, position, value);
  case 4:
    return store(data, position, int32_t(value));
  case 2:
    return store(data, position, int16_t(value));
  default:
    return store(data, position, int8_t(value));
  }
}

} // namespace

int64_t elementCount(std::span<const int64_t> dims) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0)
      return -1;
    empty |= dim == 0;
  }
  if (empty)
    return 0;
  for (int64_t dim : dims)
    if (__builtin_mul_overflow(count, dim, &count))
      return -1;
  return count;
}

const Array::Storage &Array::defined() const {
  if (!storage)
    throw Error("this Array is empty: it was default-constructed or moved from; assign one first");
  return *storage;
}

void Array::checkHolds(DType wanted) const {
  bool bits16 = wanted == DType::I16 && byteSize(dtype()) == 2;
  if (dtype() != wanted && !bits16)
    throw Error(concat("data<", name(wanted), ">() on an array of type ", type(),
                       "; ask for its own element type or cast() it"));
}

void Array::checkSingle() const {
  if (elements() != 1)
    throw Error(concat("item() on an array of type ", type(), " with ", elements(),
                       " elements; it needs exactly one"));
}

StatusOr<Array> Array::allocate(DType dtype, Dims dims) {
  int64_t elements = elementCount(dims), bytes;
  if (elements < 0 || __builtin_mul_overflow(elements, int64_t(byteSize(dtype)), &bytes))
    return makeError(Code::InvalidArgument, "no array can have the shape ", formatShape(dims));
  StatusOr<Memory> memory = Memory::allocate(bytes);
  if (!memory.ok())
    return memory.status();
  auto owner = std::make_shared<Memory>(std::move(*memory));
  Array array;
  array.storage = std::make_shared<const Storage>(
      Storage{owner->data(), dtype, std::move(dims), elements, owner});
  return array;
}

Array Array::empty(DType dtype, Dims dims) {
  StatusOr<Array> array = allocate(dtype, std::move(dims));
  if (!array.ok())
    throw Error(array.status().message());
  return *std::move(array);
}

Array Array::zeros(DType dtype, Dims dims) {
  Array array = empty(dtype, std::move(dims));
  std::memset(array.data(), 0, array.bytes());
  return array;
}

Array Array::borrow(void *data, DType dtype, Dims dims, std::function<void()> release) {
  int64_t elements = elementCount(dims);
  if (elements < 0 || (!data && elements > 0))
    throw Error(concat("cannot borrow ", data ? "data" : "null", " as an array of shape ",
                       formatShape(dims)));
  std::shared_ptr<void> owner;
  if (release)
    owner = std::shared_ptr<void>(data, [release = std::move(release)](void *) { release(); });
  Array array;
  array.storage = std::make_shared<const Storage>(
      Storage{data, dtype, std::move(dims), elements, std::move(owner)});
  return array;
}

int64_t Array::dim(int64_t axis) const {
  int64_t counted = axis < 0 ? axis + rank() : axis;
  if (counted < 0 || counted >= rank())
    throw Error(concat("dim(", axis, ") on an array of type ", type()));
  return dims()[counted];
}

std::string Array::type() const { return formatType(dtype(), dims()); }

double Array::floatAt(int64_t position) const {
  switch (dtype()) {
  case DType::F64:
    return load<double>(data(), position);
  case DType::F32:
    return load<float>(data(), position);
  case DType::F16:
    return halfToFloat(load<uint16_t>(data(), position));
  case DType::BF16:
    return bfloat16ToFloat(load<uint16_t>(data(), position));
  default:
    return double(integerAt(position));
  }
}

int64_t Array::integerAt(int64_t position) const {
  switch (dtype()) {
  case DType::I64:
    return load<int64_t>(data(), position);
  case DType::I32:
    return load<int32_t>(data(), position);
  case DType::I16:
    return load<int16_t>(data(), position);
  case DType::I8:
    return load<int8_t>(data(), position);
  case DType::U8:
  case DType::Bool:
    return load<uint8_t>(data(), position);
  default:
    return truncated(floatAt(position));
  }
}

Array Array::clone() const {
  Array copy = empty(dtype(), dims());
  copy.copyFrom(data(), bytes());
  return copy;
}

Array Array::cast(DType to) const {
  Array result = empty(to, dims());
  for (int64_t i = 0; i < elements(); ++i) {
    if (isFloat(to))
      storeFloat(to, result.data(), i, floatAt(i));
    else if (to == DType::Bool)
      storeInteger(to, result.data(), i, floatAt(i) != 0);
    else
      storeInteger(to, result.data(), i, integerAt(i));
  }
  return result;
}

Array Array::view(void *first, Dims dims) const {
  Array result;
  int64_t elements = elementCount(dims);
  result.storage = std::make_shared<const Storage>(
      Storage{first, dtype(), std::move(dims), elements, defined().owner});
  return result;
}

Array Array::reshape(Dims wanted) const {
  Dims resolved = wanted;
  int64_t known = 1, open = -1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] != -1)
      known *= wanted[i];
    else if (open < 0)
      open = int64_t(i);
    else
      known = 0; // two open dimensions: no shape fits
  }
  if (open >= 0 && known != 0 && elements() % known == 0)
    resolved[open] = elements() / known;
  if (elementCount(resolved) != elements())
    throw Error(concat("cannot reshape an array of type ", type(), " to ", formatShape(wanted)));
  return view(data(), std::move(resolved));
}

Array Array::rows(int64_t begin, int64_t end) const {
  if (rank() == 0 || begin < 0 || begin > end || end > dims()[0])
    throw Error(concat("rows ", begin, "..", end, " of an array of type ", type()));
  Dims slice = dims();
  slice[0] = end - begin;
  int64_t rowBytes = dims()[0] ? bytes() / dims()[0] : 0;
  return view(static_cast<std::byte *>(data()) + begin * rowBytes, std::move(slice));
}

void Array::copyFrom(const void *source, size_t size) const {
  if (size != size_t(bytes()))
    throw Error(concat("cannot copy ", size, " bytes to an array of type ", type(), " with ",
                       bytes(), " bytes"));
  if (size)
    std::memcpy(data(), source, size);
}

bool identical(const Array &a, const Array &b) {
  return a.dtype() == b.dtype() && a.dims() == b.dims() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

bool allClose(const Array &a, const Array &b, double rtol, double atol) {
  if (a.dims() != b.dims())
    return false;
  for (int64_t i = 0; i < a.elements(); ++i) {
    double x = a.floatAt(i), y = b.floatAt(i);
    bool equal = x == y || (std::isnan(x) && std::isnan(y));
    bool close = std::isfinite(y) && std::abs(x - y) <= atol + rtol * std::abs(y);
    if (!equal && !close)
      return false;
  }
  return true;
}

double maxDifference(const Array &a, const Array &b) {
  if (a.dims() != b.dims())
    return std::numeric_limits<double>::infinity();
  double most = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    double x = a.floatAt(i), y = b.floatAt(i);
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    double difference = std::abs(x - y);
    if (std::isnan(difference))
      return difference;
    most = std::max(most, difference);
  }
  return most;
}

} // namespace sinter::rt
