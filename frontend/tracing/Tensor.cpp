// Tensor's own members: what a value is, inside a trace and outside.
#include "sinter/tensor.h"

#include "tracing/Trace.h"

namespace sinter {
using detail::TensorState;
using detail::Trace;

static const TensorState &checked(const std::shared_ptr<const TensorState> &state) {
  if (!state)
    throw Error("a Tensor without a value (made by Tensor() and never set) was asked for its type");
  return *state;
}

/// The value's type, which goes with its trace.
static mlir::Type typeOf(const TensorState &state) {
  Trace *trace = Trace::current();
  if (!trace || trace->info != state.trace)
    throw Error(detail::text("the Tensor ", state.type, " made at ", detail::placeOf(state.made),
                             " in '", state.trace->name,
                             "' was used outside that function; return "
                             "it, or make it a Variable and assign() it"));
  return state.value.getType();
}

Tensor::Tensor(const Tensor &other) = default;
Tensor::Tensor(Tensor &&other) noexcept = default;
Tensor &Tensor::operator=(const Tensor &other) = default;
Tensor &Tensor::operator=(Tensor &&other) noexcept = default;
Tensor::~Tensor() = default;
Operand::Operand(const Operand &other) = default;
Operand::~Operand() = default;

Tensor::Tensor(Array value, Where at) {
  if (!value)
    detail::fail(at, "a Tensor was made of an Array that holds nothing");
  auto made = std::make_shared<TensorState>();
  made->array = std::move(value);
  made->session = detail::SessionState::current();
  made->made = at;
  state = std::move(made);
}

const TensorState &detail::stateOf(const Tensor &tensor, Where at) {
  if (!tensor.defined())
    fail(at, "a Tensor without a value (made by Tensor() and never set) is returned");
  return *tensor.shared();
}

DType Tensor::dtype() const {
  const TensorState &self = checked(state);
  return self.trace ? detail::dtypeOf(typeOf(self)) : self.array.dtype();
}

Shape Tensor::shape() const {
  const TensorState &self = checked(state);
  if (!self.trace)
    return Shape(self.array.dims());
  mlir::Type type = typeOf(self);
  return Trace::current()->symbols.shape(type);
}

int64_t Tensor::rank() const { return shape().rank(); }

Dim Tensor::dim(int64_t axis) const {
  Shape all = shape();
  if (axis < -all.rank() || axis >= all.rank())
    throw Error(detail::text("dim(", axis, ") of a Tensor ", type()));
  return all[axis < 0 ? axis + all.rank() : axis];
}

int64_t Tensor::size(int64_t axis) const { return dim(axis).value(); }

std::string Tensor::type() const {
  const TensorState &self = checked(state);
  return self.trace ? self.type : self.array.type();
}

Array Tensor::array(Where at) const {
  const TensorState &self = checked(state);
  if (self.trace)
    detail::fail(at, "the Tensor ", self.type, " made at ", detail::placeOf(self.made),
                 self.trace->ended
                     ? " belongs to a function that has ended"
                     : " has no value yet: '" + self.trace->name + "' is being recorded",
                 "; return it, or show it with probe(x, \"label\")", detail::inModule());
  return self.array;
}

} // namespace sinter
