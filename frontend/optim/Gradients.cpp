#include "sinter/optim.h"

#include "optim/Gradients.h"
#include "sinter/ir/Dialect.h"
#include "sinter/ops/elementwise.h"
#include "sinter/ops/math.h"
#include "tracing/Call.h"

#include "llvm/ADT/DenseSet.h"

namespace sinter {
using detail::Call;
using detail::text;
using mlir::Value;

namespace detail {

llvm::DenseSet<Value> ancestors(Value value) {
  llvm::DenseSet<Value> seen{value};
  llvm::SmallVector<Value> open{value};
  while (!open.empty())
    if (mlir::Operation *op = open.pop_back_val().getDefiningOp())
      for (Value operand : op->getOperands())
        if (seen.insert(operand).second)
          open.push_back(operand);
  return seen;
}

Value differentiated(Call &call, const Operand &y) {
  if (call.trace->options.kind == Trace::Kind::Eager)
    call.fail("there is no graph outside a jitted function: take gradients inside sn::jit");
  Value value = call.value(y);
  if (!mlir::isa<mlir::FloatType>(ir::elementType(value)))
    call.fail(call.type(value) + " has no gradient: it is not of a float type", {value});
  return value;
}

std::vector<Value> gradientsOf(Call &call, Value y, const std::vector<Value> &wrt) {
  if (wrt.empty())
    return {};
  llvm::SmallVector<mlir::Type> types;
  for (Value value : wrt)
    types.push_back(value.getType());
  auto op = ir::GradientsOp::create(call.builder(), call.location(), types, y, Value(), wrt);
  return {op.result_begin(), op.result_end()};
}

Value versionIn(Call &call, const std::shared_ptr<VariableState> &variable,
                const llvm::DenseSet<Value> &ancestors) {
  for (Value version : llvm::reverse(call.trace->versions(*variable)))
    if (ancestors.contains(version))
      return version;
  return {};
}

} // namespace detail

std::vector<Tensor> gradients(const Operand &y, const std::vector<Operand> &wrt) {
  Call call("gradients", {&y});
  Value value = detail::differentiated(call, y);
  llvm::DenseSet<Value> ancestors = detail::ancestors(value);
  std::vector<Value> targets;
  for (const Operand &operand : wrt) {
    Value target = call.value(operand);
    if (operand.variable)
      if (Value version = detail::versionIn(call, operand.variable, ancestors))
        target = version;
    if (!mlir::isa<mlir::FloatType>(ir::elementType(target)))
      call.fail("there is no gradient with respect to " + call.type(target) +
                    ": it is not of a float type",
                {target});
    targets.push_back(target);
  }
  return call.done(detail::gradientsOf(call, value, targets));
}

std::vector<Tensor> clip_grad_norm(const std::vector<Tensor> &gradients, double maximum, Where at) {
  Call call("clip_grad_norm", at);
  Tensor total;
  for (const Tensor &gradient : gradients)
    if (gradient.defined()) {
      Tensor squares = sum(square(cast(gradient, f32)));
      total = total.defined() ? total + squares : squares;
    }
  std::vector<Tensor> result = gradients;
  if (!total.defined())
    return result;
  Tensor scale = minimum(maximum / (sqrt(total) + 1e-6), 1.0);
  std::vector<Value> scaled;
  for (const Tensor &gradient : gradients)
    if (gradient.defined())
      scaled.push_back(call.value(gradient * cast(scale, gradient.dtype())));
  size_t next = 0;
  std::vector<Tensor> done = call.done(scaled);
  for (Tensor &gradient : result)
    if (gradient.defined())
      gradient = done[next++];
  return result;
}

std::vector<Tensor> clip_grad_value(const std::vector<Tensor> &gradients, double limit, Where at) {
  std::vector<Tensor> result;
  for (const Tensor &gradient : gradients)
    result.push_back(gradient.defined() ? clamp({gradient, at}, -limit, limit) : gradient);
  return result;
}

Schedule step_schedule(int64_t every, double factor) {
  return [=](Tensor step) { return pow(factor, floor(step / double(every))); };
}

Schedule cosine_schedule(int64_t steps, double last) {
  return [=](Tensor step) {
    Tensor progress = clamp(step / double(steps), 0, 1);
    return last + (1 - last) * 0.5 * (1 + cos(3.14159265358979323846 * progress));
  };
}

Schedule warmup_linear_schedule(int64_t warmup, int64_t steps) {
  return [=](Tensor step) {
    Tensor rise = clamp((step + 1) / double(std::max<int64_t>(warmup, 1)), 0, 1);
    if (steps <= 0)
      return rise;
    Tensor fall =
        clamp((double(steps) - step) / double(std::max<int64_t>(steps - warmup, 1)), 0, 1);
    return minimum(rise, fall);
  };
}

} // namespace sinter
