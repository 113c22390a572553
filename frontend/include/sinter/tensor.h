// Tensor: a value of the program being written.
//
// Inside a jitted function a Tensor names a value of the graph that is recorded; outside it
// holds an Array, and operations run at once. A Tensor of a trace means nothing once the
// trace has ended: using it is an Error that says where it was made. Copies are cheap and
// name the same value; values never change. A trace belongs to one thread.
#pragma once

#include "sinter/types.h"

#include <type_traits>

namespace sinter {

class Variable;

namespace detail {
struct TensorState;
struct VariableState;
template <class> inline constexpr bool kNever = false;
} // namespace detail

class Tensor {
public:
  Tensor() = default;
  Tensor(const Tensor &other);
  Tensor(Tensor &&other) noexcept;
  Tensor &operator=(const Tensor &other);
  Tensor &operator=(Tensor &&other) noexcept;
  ~Tensor();
  /// The value of an array; inside a trace it becomes a constant of the graph.
  Tensor(Array value, Where at = Where::current());
  explicit Tensor(std::shared_ptr<const detail::TensorState> state) : state(std::move(state)) {}

  bool defined() const { return state != nullptr; }
  DType dtype() const;
  Shape shape() const;
  int64_t rank() const;
  Dim dim(int64_t axis) const;      ///< counts from the end if negative
  int64_t size(int64_t axis) const; ///< as dim; Error if the dimension is symbolic
  std::string type() const;         ///< "f32[n, 784]"

  /// The value; inside a trace there is none yet, which is an Error.
  Array array(Where at = Where::current()) const;
  template <class T> T item(Where at = Where::current()) const {
    return array(at).template item<T>();
  }

  template <class B>
    requires std::same_as<B, bool>
  explicit operator B() const {
    static_assert(detail::kNever<B>,
                  "a Tensor has no truth value while the graph is recorded: choose elements with "
                  "sn::where(condition, a, b) (control flow: cond), combine conditions with & | ~, "
                  "or ask item<bool>() of a result");
    return false;
  }

  const std::shared_ptr<const detail::TensorState> &shared() const { return state; }

private:
  std::shared_ptr<const detail::TensorState> state;
};

/// An argument of an operation: a Tensor, an Array, a Variable or a number, with the line that
/// wrote it. A number takes the type of the Tensor beside it; a float beside integers gives f32.
class Operand {
public:
  Operand(const Tensor &value, Where at = Where::current()) : at(at), state(value.shared()) {}
  Operand(const Array &value, Where at = Where::current()) : Operand(Tensor(value, at), at) {}
  Operand(const Variable &variable, Where at = Where::current());
  Operand(std::integral auto value, Where at = Where::current())
      : at(at), kind(std::is_same_v<decltype(value), bool> ? Kind::Bool : Kind::Integer),
        integer(int64_t(value)) {}
  Operand(std::floating_point auto value, Where at = Where::current())
      : at(at), kind(Kind::Float), real(double(value)) {}

  Operand(const Operand &other);
  ~Operand();

  enum class Kind { Tensor, Variable, Bool, Integer, Float };

  Where at;
  Kind kind = Kind::Tensor;
  int64_t integer = 0;
  double real = 0;
  std::shared_ptr<const detail::TensorState> state;
  std::shared_ptr<detail::VariableState> variable;
};

} // namespace sinter
