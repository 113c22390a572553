// The policy network of the step benchmarks: two hidden layers of 64, so small that a step is
// mostly what a framework costs beside its arithmetic. Header only, no state.
#pragma once

#include "sinter/sinter.h"

#include <random>
#include <vector>

namespace bench {

namespace sn = sinter;
using sn::Array;
using sn::Tensor;

inline constexpr int64_t kObservation = 8, kHidden = 64, kActions = 4, kPolicyBatch = 32;

/// What a step learns from: the network's input and the class (digit or action) of each row.
template <class T> struct Batch {
  T input, label;
};

struct Policy : sn::Module<Policy> {
  using Module::Module;
  sn::Linear first{{this, "first"}, kObservation, kHidden};
  sn::Linear second{{this, "second"}, kHidden, kHidden};
  sn::Linear head{{this, "head"}, kHidden, kActions};

  Tensor forward(Tensor x) { return head(tanh(second(tanh(first(x))))); }
};

/// Normal observations and random actions: more than the network can learn by heart, so that no
/// gradient vanishes however many steps are measured.
inline std::vector<Batch<Array>> policyBatches() {
  constexpr int64_t kBatches = 256;
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<Batch<Array>> batches;
  for (int64_t b = 0; b < kBatches; ++b) {
    Array input = Array::empty(sn::f32, {kPolicyBatch, kObservation});
    Array label = Array::empty(sn::i64, {kPolicyBatch});
    for (float &x : input.values<float>())
      x = normal(random);
    for (int64_t &action : label.values<int64_t>())
      action = int64_t(random() % kActions);
    batches.push_back({input, label});
  }
  return batches;
}

} // namespace bench
