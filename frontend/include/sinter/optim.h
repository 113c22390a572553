// Optimizers, as code of the DSL: gradients and updates join the graph of the step that calls
// minimize(). Slots are variables made in the constructor and saved like any others. An optimizer
// of one's own derives from Optimizer and overrides update():
//
//   struct Lion : sn::Optimizer {
//     Lion(sn::Variables p) : Optimizer("lion", p, {.learningRate = 1e-4}) { addSlot("m"); }
//     void update(const Step &s) override {
//       Tensor m = s.slots[0];
//       s.parameter.assign(s.parameter - s.learningRate * sign(0.9 * m + 0.1 * s.gradient));
//       s.slots[0].assign(0.99 * m + 0.01 * s.gradient);
//     }
//   };
#pragma once

#include "sinter/module.h"
#include "sinter/ops/elementwise.h"

#include <functional>
#include <optional>

namespace sinter {

/// Gradients of the sum of `y` with respect to values it was computed from, in their order;
/// zero where it was not. They are Tensors like any others and have gradients themselves.
std::vector<Tensor> gradients(const Operand &y, const std::vector<Operand> &wrt);

/// Scales all gradients together so that their common norm is at most `maximum`.
std::vector<Tensor> clip_grad_norm(const std::vector<Tensor> &gradients, double maximum,
                                   Where at = Where::current());
std::vector<Tensor> clip_grad_value(const std::vector<Tensor> &gradients, double limit,
                                    Where at = Where::current());

/// A factor on the learning rate, computed in the graph from the number of the step (f32, from 0).
using Schedule = std::function<Tensor(Tensor step)>;
Schedule step_schedule(int64_t every, double factor);
Schedule cosine_schedule(int64_t steps, double last = 0);
/// Linearly from 0 over `warmup` steps, then linearly to 0 at `steps` (0: constant).
Schedule warmup_linear_schedule(int64_t warmup, int64_t steps = 0);

/// What a group of parameters has of its own.
struct GroupOptions {
  double learningRateScale = 1;
  std::optional<double> weightDecay = std::nullopt;
};

class Optimizer : public ModuleBase {
public:
  struct Base {
    double learningRate = 1e-3, weightDecay = 0;
  };

  Buffer learningRate; ///< f32 scalar; set() it at any time: no retrace
  Buffer steps;        ///< i64 scalar, taken so far

  /// Parameters given here leave their former group.
  void group(const Variables &parameters, GroupOptions options);
  void schedule(Schedule factor) { factorOf = std::move(factor); }

  /// One step down the gradient of a scalar; frozen parameters and those `loss` does not depend
  /// on stay as they are.
  void minimize(const Operand &loss);
  /// For clipping and the like: one an element of parameters(), not defined where there is none.
  std::vector<Tensor> gradients(const Operand &loss) const;
  void apply(const std::vector<Tensor> &gradients, Where at = Where::current());
  const Variables &parameters() const { return trained; }

protected:
  /// All a rule needs to update one parameter.
  struct Step {
    const Variable &parameter;
    Tensor gradient;
    std::vector<Variable> slots; ///< in the order of addSlot
    Tensor learningRate;         ///< f32 scalar: schedule and group included
    Tensor step;                 ///< f32 scalar, 1 in the first step
    double weightDecay;
  };

  Optimizer(std::string name, const Variables &parameters, Base base, Where at = Where::current());
  /// A variable of each parameter's shape, zero at first.
  void addSlot(const std::string &name);
  virtual void update(const Step &step) = 0;

private:
  Variables trained;
  std::vector<std::vector<Variable>> slots; ///< one list a parameter
  std::vector<GroupOptions> groups;         ///< one a parameter
  Schedule factorOf;
  std::vector<std::unique_ptr<Buffer>> storage;
};

struct SgdOptions {
  double learningRate = 1e-2, momentum = 0, weightDecay = 0;
  bool nesterov = false;
};
class Sgd : public Optimizer {
public:
  Sgd(const Variables &parameters, SgdOptions options = {}, Where at = Where::current());

protected:
  void update(const Step &step) override;

private:
  SgdOptions options;
};

struct AdamOptions {
  double learningRate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 0;
};
/// Weight decay is part of the gradient.
class Adam : public Optimizer {
public:
  Adam(const Variables &parameters, AdamOptions options = {}, Where at = Where::current());

protected:
  Adam(std::string name, const Variables &parameters, AdamOptions options, bool decoupled,
       Where at);
  void update(const Step &step) override;

private:
  AdamOptions options;
  bool decoupled;
};

struct AdamWOptions {
  double learningRate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 1e-2;
};
/// Weight decay is apart from the gradient (Loshchilov & Hutter).
class AdamW : public Adam {
public:
  AdamW(const Variables &parameters, AdamWOptions options = {}, Where at = Where::current());
};

/// Exponential moving average of a module's trained parameters: call update() in the step, give
/// it as `weights` of a jitted function to evaluate with the averages.
class Ema : public ModuleBase {
public:
  Ema(const ModuleBase &module, double decay, Where at = Where::current());
  void update(Where at = Where::current());
  /// The average that stands for a variable, null if it has none.
  const Variable *find(const Variable &variable) const;

private:
  Variables originals;
  std::vector<std::unique_ptr<Buffer>> averages;
  double decay;
  Buffer steps; ///< updates so far
};

} // namespace sinter
