#include "sinter/optim.h"

#include "layers/ModuleImpl.h"
#include "optim/Gradients.h"
#include "sinter/ops/math.h"
#include "sinter/ops/shape.h"

#include <algorithm>
#include <cmath>

namespace sinter {
using detail::Call;
using detail::text;
using mlir::Value;

/// A slot in the parameters' session, under `name` or the first free of name2, name3, …
static Slot slotFor(const std::string &name, const Variables &parameters, Where at) {
  if (parameters.empty())
    detail::fail(at, name, ": there is nothing to train; pass net.parameters()");
  const std::shared_ptr<detail::SessionState> &session = parameters[0].shared()->session;
  std::string free = name;
  auto taken = session->livingVariables();
  for (int number = 2; taken.contains(free + ".steps"); ++number)
    free = name + std::to_string(number);
  return Slot(session, free, at);
}

Optimizer::Optimizer(std::string name, const Variables &parameters, Base options, Where at)
    : ModuleBase(slotFor(name, parameters, at), name),
      learningRate({this, "learning_rate"}, {}, Init::constant(options.learningRate)),
      steps({this, "steps"}, {}, Init::constant(0), i64), trained(parameters),
      slots(parameters.size()), groups(parameters.size(), GroupOptions{1, options.weightDecay}) {
  for (const Variable &parameter : trained)
    if (!isFloat(parameter.dtype()))
      detail::fail(at, name, ": ", parameter.name(), " is ", sinter::name(parameter.dtype()),
                   ", which has no gradient");
}

void Optimizer::addSlot(const std::string &name) {
  for (size_t i = 0; i < trained.size(); ++i) {
    DType dtype = trained[i].dtype() == f64 ? f64 : f32;
    storage.push_back(std::make_unique<Buffer>(Slot(this, name + "." + trained[i].name()),
                                               trained[i].shape(), Init::constant(0), dtype));
    slots[i].push_back(*storage.back());
  }
}

void Optimizer::group(const Variables &parameters, GroupOptions options) {
  for (const Variable &parameter : parameters) {
    auto same = [&](const Variable &own) { return own.shared() == parameter.shared(); };
    auto found = std::find_if(trained.begin(), trained.end(), same);
    if (found == trained.end())
      detail::fail(internals().made, fullName(), ": the group's parameter ", parameter.name(),
                   " is none of the optimizer's");
    GroupOptions &group = groups[size_t(found - trained.begin())];
    group.learningRateScale = options.learningRateScale;
    if (options.weightDecay)
      group.weightDecay = options.weightDecay;
  }
}

std::vector<Tensor> Optimizer::gradients(const Operand &loss) const {
  Call call("gradients", {&loss});
  Value value = detail::differentiated(call, loss);
  if (!ir::dimsOf(value).empty())
    call.fail("the loss is " + call.type(value) + ", not a scalar: take its mean or sum", {value});
  llvm::DenseSet<Value> ancestors = detail::ancestors(value);
  std::vector<Value> wrt;
  std::vector<size_t> positions;
  for (size_t i = 0; i < trained.size(); ++i) {
    if (trained[i].frozen())
      continue;
    if (Value version = detail::versionIn(call, trained[i].shared(), ancestors)) {
      wrt.push_back(version);
      positions.push_back(i);
    }
  }
  if (wrt.empty())
    call.fail("the loss depends on none of the " + std::to_string(trained.size()) +
                  " parameters of " + fullName() + " that are not frozen",
              {value});
  std::vector<Tensor> result(trained.size());
  std::vector<Tensor> found = call.done(detail::gradientsOf(call, value, wrt));
  for (size_t i = 0; i < positions.size(); ++i)
    result[positions[i]] = found[i];
  return result;
}

void Optimizer::apply(const std::vector<Tensor> &gradients, Where at) {
  detail::ModuleScope scope(*this);
  Call call("apply", at, session());
  if (gradients.size() != trained.size())
    call.fail(text("needs one gradient (or an undefined Tensor) for each of the ", trained.size(),
                   " parameters, not ", gradients.size()));
  Tensor before = cast(steps, f32), step = before + 1;
  Tensor rate = factorOf ? learningRate * factorOf(before) : Tensor(learningRate);
  for (size_t i = 0; i < trained.size(); ++i) {
    if (!gradients[i].defined() || trained[i].frozen())
      continue;
    const GroupOptions &group = groups[i];
    Tensor own = group.learningRateScale == 1 ? rate : rate * group.learningRateScale;
    update({trained[i], gradients[i], slots[i], own, step, *group.weightDecay});
  }
  steps.assign(steps + 1);
  call.done(Call::Values{});
}

void Optimizer::minimize(const Operand &loss) {
  Call call("minimize", {&loss});
  apply(gradients(loss), call.at);
}

/// The value in the parameter's own type.
static void store(const Variable &variable, const Tensor &value) {
  variable.assign(cast(value, variable.dtype()));
}

/// The gradient in the slots' type, with L2 decay added.
static Tensor decayed(const Tensor &gradient, const Variable &parameter, double decay) {
  DType type = parameter.dtype() == f64 ? f64 : f32;
  Tensor g = cast(gradient, type);
  return decay == 0 ? g : g + decay * cast(parameter, type);
}

Sgd::Sgd(const Variables &parameters, SgdOptions options, Where at)
    : Optimizer("sgd", parameters, {options.learningRate, options.weightDecay}, at),
      options(options) {
  if (options.nesterov && options.momentum == 0)
    detail::fail(at, "Sgd: .nesterov needs .momentum above 0");
  if (options.momentum != 0)
    addSlot("momentum");
}

void Sgd::update(const Step &step) {
  Tensor g = decayed(step.gradient, step.parameter, step.weightDecay);
  if (options.momentum != 0) {
    Tensor momentum = options.momentum * step.slots[0] + g;
    step.slots[0].assign(momentum);
    g = options.nesterov ? g + options.momentum * momentum : momentum;
  }
  store(step.parameter, step.parameter - step.learningRate * g);
}

Adam::Adam(std::string name, const Variables &parameters, AdamOptions options, bool decoupled,
           Where at)
    : Optimizer(std::move(name), parameters, {options.learningRate, options.weightDecay}, at),
      options(options), decoupled(decoupled) {
  addSlot("exp_avg");
  addSlot("exp_avg_sq");
}

Adam::Adam(const Variables &parameters, AdamOptions options, Where at)
    : Adam("adam", parameters, options, false, at) {}

AdamW::AdamW(const Variables &parameters, AdamWOptions options, Where at)
    : Adam("adamw", parameters,
           {options.learningRate, options.beta1, options.beta2, options.epsilon,
            options.weightDecay},
           true, at) {}

/// 1 - beta^step, without cancellation.
static Tensor biasCorrection(double beta, const Tensor &step) {
  return -expm1(std::log(beta) * step);
}

void Adam::update(const Step &step) {
  Tensor g = decayed(step.gradient, step.parameter, decoupled ? 0 : step.weightDecay);
  Tensor first = options.beta1 * step.slots[0] + (1 - options.beta1) * g;
  Tensor second = options.beta2 * step.slots[1] + (1 - options.beta2) * square(g);
  step.slots[0].assign(first);
  step.slots[1].assign(second);
  Tensor deviation =
      sqrt(second) / sqrt(biasCorrection(options.beta2, step.step)) + options.epsilon;
  Tensor rate = step.learningRate / biasCorrection(options.beta1, step.step);
  Tensor old = step.parameter;
  if (decoupled && step.weightDecay != 0)
    old = old * (1 - step.weightDecay * step.learningRate);
  store(step.parameter, old - rate * (first / deviation));
}

static Slot slotOf(const ModuleBase &module, Where at) {
  return slotFor("ema", module.parameters(), at);
}

Ema::Ema(const ModuleBase &module, double decay, Where at)
    : ModuleBase(slotOf(module, at), "Ema"), originals(module.parameters()), decay(decay),
      steps({this, "steps"}, {}, Init::constant(0), i64) {
  for (const Variable &original : originals) {
    averages.push_back(std::make_unique<Buffer>(Slot(this, original.name()), original.shape(),
                                                Init::constant(0), original.dtype()));
    averages.back()->set(original.value());
  }
}

void Ema::update(Where at) {
  detail::ModuleScope scope(*this);
  Call call("ema", at, session());
  for (size_t i = 0; i < originals.size(); ++i)
    store(*averages[i], decay * *averages[i] + (1 - decay) * originals[i]);
  steps.assign(steps + 1);
  call.done(Call::Values{});
}

const Variable *Ema::find(const Variable &variable) const {
  for (size_t i = 0; i < originals.size(); ++i)
    if (originals[i].shared() == variable.shared())
      return averages[i].get();
  return nullptr;
}

} // namespace sinter
