// Element types, dimensions and shapes as a model names them. Values without
// state; any thread may use them.
#pragma once

#include "sinter/base/dtype.h"
#include "sinter/core/array.h"

#include <concepts>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

namespace sinter {

using rt::Array;
using Where = std::source_location;

inline constexpr DType f64 = DType::F64, f32 = DType::F32, f16 = DType::F16, bf16 = DType::BF16;
inline constexpr DType i64 = DType::I64, i32 = DType::I32, i16 = DType::I16, i8 = DType::I8;
inline constexpr DType u8 = DType::U8, boolean = DType::Bool;

namespace detail {
struct DimNode;
}

/// The size of a dimension: a number, or an expression of named, bounded symbols. Equal
/// expressions are equal sizes; a symbolic dimension never broadcasts.
class Dim {
public:
  Dim(std::integral auto size) : size(int64_t(size)) {}
  explicit Dim(std::shared_ptr<const detail::DimNode> node) : node(std::move(node)) {}
  // Out of line, here and in the other handles: models copy many, and shall compile quickly.
  Dim(const Dim &other);
  Dim &operator=(const Dim &other);
  ~Dim();

  bool isStatic() const { return !node; }
  /// The number; Error if the dimension is symbolic.
  int64_t value() const;
  std::string str() const; ///< "64", "n", "n * 784"
  const detail::DimNode *expression() const { return node.get(); }

  friend Dim operator+(const Dim &a, const Dim &b);
  friend Dim operator-(const Dim &a, const Dim &b);
  friend Dim operator*(const Dim &a, const Dim &b);
  friend Dim operator/(const Dim &a, const Dim &b); ///< rounds down
  friend bool operator==(const Dim &a, const Dim &b);

private:
  int64_t size = 0;
  std::shared_ptr<const detail::DimNode> node; ///< null: a number
};

/// A dimension that an exported function takes in any size from `lower` to `upper`
/// (negative: no limit).
Dim dim(std::string name, int64_t lower = 1, int64_t upper = -1);

class Shape {
public:
  Shape() = default;
  Shape(std::initializer_list<Dim> dims) : dims(dims) {}
  Shape(std::vector<Dim> dims) : dims(std::move(dims)) {}
  Shape(const std::vector<int64_t> &sizes) : dims(sizes.begin(), sizes.end()) {}

  int64_t rank() const { return int64_t(dims.size()); }
  const Dim &operator[](int64_t i) const { return dims[size_t(i)]; }
  auto begin() const { return dims.begin(); }
  auto end() const { return dims.end(); }
  void push_back(Dim size) { dims.push_back(std::move(size)); }
  bool isStatic() const;
  std::vector<int64_t> sizes() const; ///< Error if one is symbolic
  std::string str() const;            ///< "[n, 784]"
  friend bool operator==(const Shape &, const Shape &) = default;

private:
  std::vector<Dim> dims;
};

/// Dimensions by number, negative ones from the end; none may mean all.
class Axes {
public:
  Axes() = default;
  Axes(std::integral auto axis) : list{int64_t(axis)} {}
  Axes(std::initializer_list<int64_t> axes) : list(axes) {}
  Axes(std::vector<int64_t> axes) : list(std::move(axes)) {}
  bool empty() const { return list.empty(); }
  const std::vector<int64_t> &values() const { return list; }

private:
  std::vector<int64_t> list;
};

/// Height and width; one number stands for both.
struct Pair {
  int64_t height = 0, width = 0;
  Pair(std::integral auto both) : height(int64_t(both)), width(int64_t(both)) {}
  Pair(int64_t height, int64_t width) : height(height), width(width) {}
};

/// Training: layers follow their own train() and eval(); Inference: all as after eval().
enum class Mode { Training, Inference };

} // namespace sinter
