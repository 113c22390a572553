// Jitted steps, modules, optimizers and checkpoints, on the reference interpreter.
#include "Interpreted.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sn = sinter;
using sn::Array;
using sn::Tensor;

namespace {

template <class T> struct Batch {
  T x, y;
};

struct Mlp : sn::Module<Mlp> {
  using Module::Module;
  sn::Linear first{{this, "first"}, 4, 8};
  sn::Linear second{{this, "second"}, 8, 3};
  Tensor forward(Tensor x) { return second(tanh(first(x))); }
};

Batch<Array> batch(int64_t rows) {
  Batch<Array> b{Array::empty(sn::f32, {rows, 4}), Array::empty(sn::i64, {rows})};
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < 4; ++j)
      b.x.data<float>()[i * 4 + j] = std::sin(float(i * 4 + j));
    b.y.data<int64_t>()[i] = i % 3;
  }
  return b;
}

TEST(Modules, NamesAreThoseOfPyTorch) {
  sn::testing::InterpretedSession session;
  Mlp net{session};
  std::vector<std::string> names;
  for (const sn::Variable &parameter : net.parameters())
    names.push_back(parameter.name());
  EXPECT_EQ(names, (std::vector<std::string>{"first.weight", "first.bias", "second.weight",
                                             "second.bias"}));
  EXPECT_EQ(net.parameters("*.bias").size(), 2u);
  EXPECT_EQ(net.first.fullName(), "Mlp.first");
  EXPECT_EQ(net.first.weight.shape().str(), "[8, 4]");
}

TEST(Modules, InitialValuesDependOnSeedAndPath) {
  sn::testing::InterpretedSession one{3}, two{3}, three{4};
  Mlp a{one}, b{two}, c{three};
  EXPECT_TRUE(identical(a.first.weight.value(), b.first.weight.value()));
  EXPECT_FALSE(identical(a.first.weight.value(), c.first.weight.value()));
  Array weight = a.first.weight.value();
  for (float v : weight.values<float>())
    EXPECT_LE(std::abs(v), 0.5);
  Mlp copy = sn::clone(a, {one, "copy"});
  EXPECT_TRUE(identical(copy.second.weight.value(), a.second.weight.value()));
}

TEST(Steps, TrainAndCountCompilations) {
  sn::testing::InterpretedSession session;
  Mlp net{session};
  sn::AdamW optimizer{net.parameters(), {.learningRate = 0.05}};
  optimizer.group(net.parameters("*.bias"), {.weightDecay = 0});
  sn::Ema ema{net, 0.5};
  auto loss = [&](Batch<Tensor> b) { return cross_entropy(net(b.x), b.y); };
  auto step = sn::jit(session, [&](Batch<Tensor> b) {
    Tensor value = loss(b);
    optimizer.minimize(value), ema.update();
    return value;
  });
  auto evaluate = sn::jit(session, loss, {.mode = sn::Mode::Inference, .weights = &ema});
  float first = step(batch(6)).item<float>(), last = first;
  for (int i = 0; i < 30; ++i)
    last = step(batch(6)).item<float>();
  EXPECT_LT(last, 0.5f * first);
  EXPECT_NEAR(evaluate(batch(6)).item<float>(), last, 0.2);
  EXPECT_EQ(step.compilations(), 1);
  step(batch(5));
  EXPECT_EQ(step.compilations(), 2);
  optimizer.learningRate.set(1e-4);
  step(batch(6));
  EXPECT_EQ(step.compilations(), 2);
  EXPECT_EQ(optimizer.steps.item<int64_t>(), 33);
  net.second.freeze();
  Array before = net.second.weight.value(), moving = net.first.weight.value();
  step(batch(6));
  EXPECT_EQ(step.compilations(), 3);
  EXPECT_TRUE(identical(before, net.second.weight.value()));
  EXPECT_FALSE(identical(moving, net.first.weight.value()));
}

TEST(Steps, OptimizersFollowTheirFormulas) {
  sn::testing::InterpretedSession session;
  struct Point : sn::Module<Point> {
    using Module::Module;
    sn::Parameter x{{this, "x"}, {1}, sn::Init::constant(3)};
    Tensor forward() { return sum(x * x); }
  };
  // PyTorch's arithmetic written out for f(x) = x^2 from x = 3.
  double x = 3, m = 0, v = 0, u = 3, momentum = 0;
  Point adamPoint{{session, "a"}}, sgdPoint{{session, "s"}};
  sn::AdamW adam{adamPoint.parameters(), {.learningRate = 0.1, .weightDecay = 0.01}};
  sn::Sgd sgd{sgdPoint.parameters(),
              {.learningRate = 0.1, .momentum = 0.9, .weightDecay = 0.01, .nesterov = true}};
  auto step =
      sn::jit(session, [&](Tensor) { adam.minimize(adamPoint()), sgd.minimize(sgdPoint()); });
  for (int t = 1; t <= 5; ++t) {
    step(Array::scalar(0.0f));
    double g = 2 * x;
    x *= 1 - 0.1 * 0.01;
    m = 0.9 * m + 0.1 * g, v = 0.999 * v + 0.001 * g * g;
    x -= 0.1 / (1 - std::pow(0.9, t)) * m / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
    double h = 2 * u + 0.01 * u;
    momentum = 0.9 * momentum + h;
    u -= 0.1 * (h + 0.9 * momentum);
    EXPECT_NEAR(adamPoint.x.item<double>(), x, 1e-5);
    EXPECT_NEAR(sgdPoint.x.item<double>(), u, 1e-5);
  }
}

TEST(Steps, SchedulesAndClippingAreInTheGraph) {
  sn::testing::InterpretedSession session;
  struct Point : sn::Module<Point> {
    using Module::Module;
    sn::Parameter x{{this, "x"}, {2}, sn::Init::constant(1)};
  } point{session};
  sn::Sgd sgd{point.parameters(), {.learningRate = 1}};
  sgd.schedule(sn::warmup_linear_schedule(2, 4));
  auto step = sn::jit(session, [&](Tensor scale) {
    auto gradients = sgd.gradients(sum(point.x * scale));
    sgd.apply(sn::clip_grad_norm(gradients, 1));
  });
  double expected = 1, unit = 1 / std::sqrt(2.0);
  for (double rate : {0.5, 1.0, 1.0, 0.5}) {
    step(Array::scalar(100.0f));
    expected -= rate * unit;
    EXPECT_NEAR(point.x.value().floatAt(0), expected, 1e-4);
  }
}

TEST(Steps, GradientsOfGradients) {
  sn::testing::InterpretedSession session;
  auto second = sn::jit(session, [](Tensor x) {
    Tensor first = sn::gradients(sum(x * x * x), {x})[0];
    return sn::gradients(sum(first), {x})[0];
  });
  EXPECT_NEAR(second(Array::of<float>({2})).item<float>(), 12, 1e-5);
}

TEST(Steps, ArgumentsAreTreesAndStatics) {
  sn::testing::InterpretedSession session;
  enum class Kind { Double, Negate };
  auto f = sn::jit(session, [](std::vector<Tensor> list, std::tuple<Tensor, Batch<Tensor>> rest,
                               Kind kind, bool twice) {
    Tensor total = list[0];
    for (size_t i = 1; i < list.size(); ++i)
      total += list[i];
    auto &[one, pair] = rest;
    total = total + one * pair.x - pair.y;
    total = kind == Kind::Double ? total * 2 : -total;
    return std::pair(twice ? total + total : total, std::vector<Tensor>{one});
  });
  Array one = Array::scalar(1.0f), five = Array::scalar(5.0f);
  auto [value, list] = f({one, five, five}, {five, {one, one}}, Kind::Double, false);
  EXPECT_EQ(value.item<float>(), 30);
  EXPECT_EQ(list.at(0).item<float>(), 5);
  EXPECT_EQ(f({one, five, five}, {five, {one, one}}, Kind::Negate, true).first.item<float>(), -30);
  EXPECT_EQ(f({one}, {five, {one, one}}, Kind::Double, false).first.item<float>(), 10);
  EXPECT_EQ(f.compilations(), 3);
}

TEST(Steps, VariablesFollowProgramOrder) {
  sn::testing::InterpretedSession session;
  struct Counter : sn::Module<Counter> {
    using Module::Module;
    sn::Buffer n{{this, "n"}, {}, sn::Init::constant(1)};
  } counter{session};
  auto step = sn::jit(session, [&](Tensor x) {
    Tensor before = counter.n;
    counter.n.assign(before + x);
    counter.n.assign(counter.n * 2.0);
    return std::pair(before, counter.n.tensor());
  });
  auto [before, after] = step(Array::scalar(2.0f));
  EXPECT_EQ(before.item<float>(), 1);
  EXPECT_EQ(after.item<float>(), 6);
  EXPECT_EQ(counter.n.item<float>(), 6);
  counter.n.assign(counter.n + 1); // at once, outside a step
  EXPECT_EQ(counter.n.item<float>(), 7);
}

TEST(Steps, BatchNormTracksStatistics) {
  sn::testing::InterpretedSession session;
  sn::BatchNorm2d norm{{session, "norm"}, 2};
  auto run = sn::jit(session, [&](Tensor x) { return norm(x); });
  Array x = Array::of<float>({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2});
  run(x);
  EXPECT_NEAR(norm.running_mean.value().floatAt(0), 0.4, 1e-6); // 0.1 x mean(1, 3, 5, 7)
  EXPECT_NEAR(norm.running_var.value().floatAt(1), 0.9 + 0.1 * 20.0 / 3, 1e-6);
  EXPECT_EQ(norm.num_batches_tracked.item<int64_t>(), 1);
  norm.eval();
  run(x);
  EXPECT_EQ(norm.num_batches_tracked.item<int64_t>(), 1);
  EXPECT_EQ(run.compilations(), 2);
  norm.train();
  run(x);
  EXPECT_EQ(run.compilations(), 2);
}

TEST(Weights, SaveLoadAndTie) {
  std::string path = ::testing::TempDir() + "frontend_weights.safetensors";
  sn::testing::InterpretedSession one{1}, two{2};
  Mlp a{one}, b{two};
  a.save(path);
  EXPECT_EQ(b.load(path).loaded.size(), 4u);
  EXPECT_TRUE(identical(a.second.bias->value(), b.second.bias->value()));
  struct Tied : sn::Module<Tied> {
    using Module::Module;
    sn::Linear in{{this, "in"}, {.in = 3, .out = 3, .bias = false}};
    sn::Linear out{{this, "out"}, {.in = 3, .out = 3, .bias = false}};
  } tied{{one, "tied"}};
  tied.out.weight.tie(tied.in.weight);
  EXPECT_EQ(tied.parameters().size(), 1u);
  tied.save(path);
  EXPECT_TRUE(tied.load(path).ok());
}

TEST(Weights, CheckpointContinuesWithTheSameBits) {
  std::string path = ::testing::TempDir() + "frontend_checkpoint.safetensors";
  auto train = [&](sn::Session &session, bool resume) {
    Mlp net{session};
    sn::Adam adam{net.parameters()};
    auto step = sn::jit(session, [&](Batch<Tensor> b) {
      Tensor loss = cross_entropy(net(dropout(b.x, 0.3)), b.y);
      adam.minimize(loss);
      return loss;
    });
    if (resume)
      session.load(path);
    std::vector<float> losses;
    for (int i = resume ? 2 : 0; i < 4; ++i) {
      if (i == 2 && !resume)
        session.save(path);
      losses.push_back(step(batch(6)).item<float>());
    }
    return losses;
  };
  sn::testing::InterpretedSession one{1}, two{9};
  std::vector<float> whole = train(one, false), rest = train(two, true);
  EXPECT_EQ(rest, std::vector<float>(whole.begin() + 2, whole.end()));
}

TEST(Packages, SymbolicShapesAndSharedWeights) {
  sn::testing::InterpretedSession session;
  Mlp net{session};
  sn::Sgd sgd{net.parameters()};
  auto step = sn::jit(session, [&](Batch<Tensor> b) {
    Tensor loss = cross_entropy(net(b.x), b.y);
    sgd.minimize(loss);
    return loss;
  });
  sn::Package package{session};
  sn::Dim n = sn::dim("n", 1, 64);
  package.add("classify", [&](Tensor x) { return softmax(net(reshape(x, {x.dim(0), -1})), 1); },
              {{"x", sn::f32, {n, 2, 2}}}, {"probability"});
  package.add("train", step, {{"x", sn::f32, {8, 4}}, {"y", sn::i64, {8}}});
  std::string text = package.str();
  EXPECT_NE(text.find("sinter.symbols = [{lower = 1 : i64, name = \"n\", upper = 64 : i64}]"),
            text.npos)
      << text;
  EXPECT_NE(text.find("#sinter.dims<s0, 2, 2>"), text.npos);
  EXPECT_NE(text.find("sinter.name = \"probability\""), text.npos);
  size_t first = text.find("trainable @first.weight : tensor<8x4xf32>");
  EXPECT_NE(first, text.npos);
  EXPECT_EQ(text.find("trainable @first.weight : tensor<8x4xf32>", first + 1), text.npos);
  std::string path = ::testing::TempDir() + "frontend_package.mlirbc";
  package.write(path);
  EXPECT_EQ(sn::load_safetensors(::testing::TempDir() + "frontend_package.safetensors")
                .count("sgd.steps"),
            1u);
}

TEST(Steps, ProbesShowValues) {
  sn::testing::InterpretedSession session;
  std::vector<std::string> seen;
  session.onProbe([&](std::string_view label, const Array &value) {
    seen.push_back(std::string(label) + " " + value.str());
  });
  auto f = sn::jit(session, [](Tensor x) { return probe(x + 1, "next") * 2; });
  f(Array::of<float>({1, 2}));
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_NE(seen[0].find("next"), std::string::npos);
}

TEST(Locations, NameLineAndModule) {
  sn::testing::InterpretedSession session;
  Mlp net{session};
  auto f = sn::jit(session, [&](Tensor x) { return net(x); });
  f(Array::zeros(sn::f32, {2, 4}));
  EXPECT_NE(session.graph.find("sinter.linear"), std::string::npos) << session.graph;
  EXPECT_NE(session.graph.find("sinter.tanh"), std::string::npos) << session.graph;
}

} // namespace
