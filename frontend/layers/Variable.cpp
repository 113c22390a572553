#include "sinter/module.h"

#include "tracing/Call.h"

namespace sinter {
using detail::Call;
using detail::fail;
using detail::Trace;
using detail::VariableState;

static const std::shared_ptr<VariableState> &checked(const std::shared_ptr<VariableState> &state) {
  if (!state)
    throw Error("a Variable that names none (made by Variable()) was used");
  return state;
}

Variable::Variable(const Variable &other) = default;
Variable::~Variable() = default;

Operand::Operand(const Variable &variable, Where at)
    : at(at), kind(Kind::Variable), variable(checked(variable.shared())) {}

const std::string &Variable::name() const { return checked(state)->name(); }
DType Variable::dtype() const { return checked(state)->dtype(); }
Shape Variable::shape() const { return Shape(checked(state)->dims()); }

bool Variable::frozen() const {
  const auto &flag = checked(state)->frozen;
  return Trace::current() ? Trace::current()->flag(flag) : flag->value;
}

void Variable::assign(const Operand &value) const {
  Operand self(*this, value.at);
  Call call("assign", {&value, &self});
  mlir::Value target = call.value(self);
  bool isNumber = value.kind >= Operand::Kind::Bool;
  mlir::Value assigned = call.value(value, isNumber ? ir::elementType(target) : mlir::Type());
  if (isNumber)
    assigned = call.broadcast(assigned, ir::dimsOf(target));
  if (assigned.getType() != target.getType())
    call.fail(detail::text("the variable ", name(), " is ", call.type(target), ", the value ",
                           call.type(assigned),
                           ir::dimsOf(assigned) == ir::dimsOf(target) ? "; cast it" : ""),
              {assigned});
  call.trace->assign(state, assigned);
  call.done(Call::Values{});
}

static void checkOutside(const Variable &variable, const char *what, const char *instead,
                         Where at) {
  if (Trace *trace = Trace::current())
    fail(at, variable.name(), ".", what, " acts at once, but '", trace->info->name,
         "' is being traced: ", instead, detail::inModule());
}

void Variable::set(const Array &value, Where at) const {
  checkOutside(*this, "set()", "use assign(), which is part of the step", at);
  if (!value || value.dims() != state->dims() || value.dtype() != state->dtype())
    fail(at, name(), " is ", state->type(), "; it cannot be set to ",
         value ? value.type() : "an Array that holds nothing",
         "; reshape or cast() the Array first");
  detail::contentsToWrite(*state).copyFrom(value.data(), size_t(value.bytes()));
}

void Variable::set(double value, Where at) const {
  checkOutside(*this, "set()", "use assign(), which is part of the step", at);
  Array own = detail::contentsToWrite(*state);
  Array one = Array::scalar(value).cast(own.dtype());
  size_t bytes = size_t(one.bytes());
  for (int64_t i = 0; i < own.elements(); ++i)
    std::memcpy(static_cast<char *>(own.data()) + size_t(i) * bytes, one.data(), bytes);
}

Array Variable::value() const {
  checkOutside(*this, "value()", "use it as a Tensor", Where::current());
  return detail::contentsOf(*state).clone();
}

Tensor Variable::tensor(Where at) const {
  if (!Trace::current())
    return Tensor(value(), at);
  Operand self(*this, at);
  Call call("read", {&self});
  return call.done(call.value(self));
}

} // namespace sinter
