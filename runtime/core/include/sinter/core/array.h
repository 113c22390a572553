// A dense, row-major tensor in host memory.
//
// An Array is a counted reference: copies share storage. It owns its storage
// (64-byte aligned) or borrows it from someone who outlives every copy, or who
// gave a release function that runs when the last copy goes. Counting is atomic;
// the elements are not guarded: one writer, or any number of readers.
//
// Misuse of the C++ accessors throws sinter::Error, which says what was asked of
// which shape; functions that can fail for outside reasons return Status.
#pragma once

#include "sinter/base/dtype.h"
#include "sinter/base/error.h"
#include "sinter/base/status.h"

#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sinter::rt {

namespace dlpack {
struct ManagedTensor;
}

using Dims = std::vector<int64_t>;

/// The element type that holds a T; only arithmetic types without padding.
template <class T> constexpr DType dtypeOf() {
  if constexpr (std::is_same_v<T, bool>)
    return DType::Bool;
  else if constexpr (std::is_same_v<T, double>)
    return DType::F64;
  else if constexpr (std::is_same_v<T, float>)
    return DType::F32;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return DType::U8;
  else {
    static_assert(std::is_signed_v<T> && std::is_integral_v<T>, "no element type holds this T");
    return sizeof(T) == 8   ? DType::I64
           : sizeof(T) == 4 ? DType::I32
           : sizeof(T) == 2 ? DType::I16
                            : DType::I8;
  }
}

/// The product of `dims`; -1 if one is negative or the product overflows.
int64_t elementCount(std::span<const int64_t> dims);

class Array {
public:
  /// No array: false, and every accessor but str() is an error.
  Array() = default;

  static Array empty(DType dtype, Dims dims); ///< contents undefined
  static Array zeros(DType dtype, Dims dims);
  /// As `empty`, for sizes that come from outside.
  static StatusOr<Array> allocate(DType dtype, Dims dims);
  /// `release`, if any, is called once, when the last copy goes.
  static Array borrow(void *data, DType dtype, Dims dims, std::function<void()> release = {});
  /// A copy of `values`, whose number must match `dims`.
  template <class T> static Array of(std::span<const T> values, Dims dims) {
    Array array = empty(dtypeOf<T>(), std::move(dims));
    array.copyFrom(values.data(), values.size_bytes());
    return array;
  }
  template <class T> static Array of(std::initializer_list<T> values, Dims dims) {
    return of(std::span<const T>(values.begin(), values.size()), std::move(dims));
  }
  template <class T> static Array of(std::initializer_list<T> values) {
    return of(values, {int64_t(values.size())});
  }
  template <class T> static Array scalar(T value) { return of({value}, {}); }

  explicit operator bool() const { return bool(storage); }
  DType dtype() const { return defined().type; }
  const Dims &dims() const { return defined().dims; }
  int64_t rank() const { return int64_t(dims().size()); }
  int64_t dim(int64_t axis) const; ///< counts from the end if negative
  int64_t elements() const { return defined().elements; }
  int64_t bytes() const { return elements() * int64_t(byteSize(dtype())); }
  std::string type() const; ///< "f32[2, 3]"

  void *data() const { return defined().first; }
  /// The elements; the dtype must be T's. f16 and bf16 are read as int16_t.
  template <class T> T *data() const {
    checkHolds(dtypeOf<T>());
    return static_cast<T *>(data());
  }
  template <class T> std::span<T> values() const { return {data<T>(), size_t(elements())}; }

  /// The value of an array with one element, converted to T.
  template <class T> T item() const {
    checkSingle();
    return isFloat(dtype()) ? T(floatAt(0)) : T(integerAt(0));
  }
  double floatAt(int64_t position) const;    ///< element in row-major order, as a double
  int64_t integerAt(int64_t position) const; ///< as above; floats are truncated

  Array clone() const; ///< owns its storage
  Array cast(DType to) const;
  /// The same storage with other dims of the same number of elements; one may be -1.
  Array reshape(Dims dims) const;
  /// Rows [begin, end) of the first dimension, sharing storage.
  Array rows(int64_t begin, int64_t end) const;
  void copyFrom(const void *source, size_t bytes) const; ///< `bytes` must be exactly its size

  /// As NumPy prints: "[[1. 2.]\n [3. 4.]]"; large arrays are summarised.
  std::string str() const;

private:
  struct Storage {
    void *first = nullptr;
    DType type = DType::F32;
    Dims dims;
    int64_t elements = 0;
    std::shared_ptr<void> owner; ///< frees or releases the bytes
  };

  const Storage &defined() const;
  void checkHolds(DType wanted) const;
  void checkSingle() const;
  Array view(void *first, Dims dims) const;

  std::shared_ptr<const Storage> storage;
};

/// Same dtype, dims and bits.
bool identical(const Array &a, const Array &b);
/// Same dims and |a - b| <= atol + rtol |b| everywhere; NaN equals NaN.
bool allClose(const Array &a, const Array &b, double rtol = 1e-5, double atol = 1e-8);
/// max |a - b|; NaN if one is NaN where the other is not; infinity for other dims.
double maxDifference(const Array &a, const Array &b);

/// A DLPack tensor that shares the array's storage; its `deleter` must be called
/// once. (The public, unversioned DLManagedTensor.)
dlpack::ManagedTensor *toDlpack(const Array &array);
/// Takes `tensor` over on success: its deleter runs when the last copy goes.
/// Strided tensors are copied. Errors: not host memory, a type sinter lacks.
StatusOr<Array> fromDlpack(dlpack::ManagedTensor *tensor);

} // namespace sinter::rt
