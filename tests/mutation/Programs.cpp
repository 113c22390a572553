#include "Programs.h"

#include "../../models/mnist/models.h"
#include "../frontend/transformer.h"
#include "Compiled.h"

#include <functional>
#include <random>

namespace sn = sinter;
using sn::Array;
using sn::Tensor;

namespace sinter::mutation {
namespace {

template <class T> struct Batch {
  T input, label;
};

Batch<Array> digits(int64_t batch) {
  std::mt19937 random(1);
  Batch<Array> b{Array::empty(sn::u8, {batch, 1, 28, 28}), Array::empty(sn::i64, {batch})};
  for (uint8_t &pixel : b.input.values<uint8_t>())
    pixel = uint8_t(random() % 256);
  for (int64_t &label : b.label.values<int64_t>())
    label = int64_t(random() % 10);
  return b;
}

Batch<Array> tokens(int64_t batch) {
  using sn::testing::Transformer;
  std::mt19937 random(2);
  Batch<Array> b{Array::empty(sn::i64, {batch, Transformer::kLength}),
                 Array::empty(sn::i64, {batch * Transformer::kLength})};
  for (int64_t &token : b.input.values<int64_t>())
    token = int64_t(random() % Transformer::kVocabulary);
  for (int64_t &label : b.label.values<int64_t>())
    label = int64_t(random() % Transformer::kVocabulary);
  return b;
}

Tensor asIs(Tensor x) { return x; }

sn::Options quiet() {
  sn::Options options;
  options.seed = 5;
  options.verbose = false;
  return options;
}

template <class Net, class Optimizer>
RecordedStep trainingStep(const Batch<Array> &batch, Tensor (*prepare)(Tensor)) {
  RecordedStep recorded;
  sn::Session session{quiet()};
  Net net{session};
  Optimizer optimizer{net.parameters(), {.learningRate = 1e-3}};
  recordNext(session, recorded);
  sn::jit(session, [&](Batch<Tensor> b) {
    Tensor scores = net(prepare(b.input));
    int64_t classes = scores.dim(-1).value();
    Tensor loss = cross_entropy(reshape(scores, {-1, classes}), b.label);
    optimizer.minimize(loss);
    return loss;
  })(batch);
  return recorded;
}

template <class T> struct Operands {
  T x, wide, index;
};
template <class T> struct Values {
  T longRows, columns, best, scattered, gathered, rolled, product;
};

/// What the models' steps lack: long rows, reductions in several dimensions, tails, scatters.
RecordedStep operations() {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> values(-1, 1);
  Operands<Array> given{Array::empty(sn::f32, {37, 19}), Array::empty(sn::f32, {3, 5003}),
                        Array::empty(sn::i64, {37, 19})};
  for (Array *array : {&given.x, &given.wide})
    for (float &value : array->values<float>())
      value = values(random);
  for (int64_t &index : given.index.values<int64_t>())
    index = int64_t(random() % 37);
  RecordedStep recorded;
  sn::Session session{quiet()};
  recordNext(session, recorded);
  sn::jit(session, [&](Operands<Tensor> o) {
    return Values<Tensor>{softmax(o.wide, 1),         sum(o.x, {0}),
                          argmax(o.wide, 1),          scatter_add(o.x, 0, o.index, o.x),
                          gather(o.x, 0, o.index),    roll(concat({o.x, exp(o.x)}, 1), 3, 1),
                          matmul(transpose(o.x), o.x)};
  })(given);
  return recorded;
}

const std::map<std::string, std::function<RecordedStep()>> &makers() {
  static const std::map<std::string, std::function<RecordedStep()>> all = {
      {"mlp", [] { return trainingStep<mnist::Mlp, sn::Adam>(digits(5), mnist::normalise); }},
      {"cnn", [] { return trainingStep<mnist::Cnn, sn::AdamW>(digits(3), mnist::normalise); }},
      {"transformer",
       [] { return trainingStep<sn::testing::Transformer, sn::AdamW>(tokens(2), asIs); }},
      {"operations", operations},
  };
  return all;
}

} // namespace

std::vector<std::string> programNames() {
  std::vector<std::string> names;
  for (const auto &[name, make] : makers())
    names.push_back(name);
  return names;
}

RecordedStep recordProgram(const std::string &name) {
  RecordedStep step = makers().at(name)();
  step.name = name;
  return step;
}

} // namespace sinter::mutation
