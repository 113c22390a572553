// The DSL on compiled code: eager operations, random numbers, probes, the numerics check,
// checkpoints, and the session's life time. What operations mean is ops_test's; here they must work
// through the compiler.
#include "sinter/sinter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <unistd.h>

namespace sn = sinter;
using sn::Array;
using sn::Tensor;

namespace {

sn::Options quiet(uint64_t seed = 0) {
  sn::Options options;
  options.seed = seed;
  options.verbose = false;
  return options;
}

template <class T> struct Batch {
  T x, y;
};

struct Net : sn::Module<Net> {
  using Module::Module;
  sn::Linear first{{this, "first"}, 4, 16};
  sn::Dropout drop{{this, "drop"}, 0.25};
  sn::Linear second{{this, "second"}, 16, 3};
  Tensor forward(Tensor x) { return second(drop(gelu(first(x)))); }
};

Batch<Array> batch() {
  Batch<Array> b{Array::empty(sn::f32, {6, 4}), Array::empty(sn::i64, {6})};
  for (int64_t i = 0; i < 24; ++i)
    b.x.data<float>()[i] = std::sin(float(i));
  for (int64_t i = 0; i < 6; ++i)
    b.y.data<int64_t>()[i] = i % 3;
  return b;
}

std::string messageOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const sn::Error &error) {
    return error.what();
  }
  return "";
}

TEST(Compiled, EagerOperationsRunAtOnce) {
  sn::Session session{quiet()};
  Tensor x = Array::of<float>({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(matmul(x, x).array().str(), Array::of<float>({7, 10, 15, 22}, {2, 2}).str());
  EXPECT_EQ(sum(x > 2).item<int64_t>(), 2);
  sn::Conv2d conv{{session, "conv"}, {.in = 3, .out = 4, .kernel = 3, .padding = 1}};
  EXPECT_EQ(conv(sn::ones({1, 3, 8, 8})).type(), "f32[1, 4, 8, 8]");
  sn::BatchNorm2d norm{{session, "norm"}, 2};
  norm(sn::ones({4, 2, 3, 3}));
  EXPECT_NEAR(norm.running_mean.value().floatAt(0), 0.1, 1e-6);
}

sn::Options emulated() {
  sn::Options options = quiet();
  options.set("--sinter-device=emu");
  return options;
}

TEST(Compiled, TheEmulatedCardRunsProbesShapesAndVariables) {
  sn::Session session{emulated()};
  std::vector<std::string> seen;
  session.onProbe([&](std::string_view label, const Array &value) {
    seen.push_back(std::string(label) + " " + value.str());
  });
  struct Counter : sn::Module<Counter> {
    using Module::Module;
    sn::Buffer total{{this, "total"}, {2}, sn::Init::constant(1)};
    Tensor forward(Tensor x) {
      Tensor next = total + sum(x, {0});
      total.assign(next);
      return probe(next, "sum");
    }
  } counter{session};
  auto add = sn::jit(session, [&](Tensor x) { return counter(x); });
  EXPECT_EQ(add(Array::of<float>({1, 2, 3, 4}, {2, 2})).str(), Array::of<float>({5, 7}, {2}).str());
  EXPECT_EQ(add(Array::of<float>({1, 1}, {1, 2})).str(), Array::of<float>({6, 8}, {2}).str());
  EXPECT_EQ(add(Array::empty(sn::f32, {0, 2})).str(), Array::of<float>({6, 8}, {2}).str());
  EXPECT_EQ(counter.total.value().str(), Array::of<float>({6, 8}, {2}).str());
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[1], "sum " + Array::of<float>({6, 8}, {2}).str());
}

TEST(Compiled, TheEmulatedCardChecksAndCountsOnRequest) {
  for (const char *mode : {"--sinter-emu=check", "--sinter-emu=count"}) {
    sn::Options options = emulated();
    options.set(mode);
    sn::Session session{options};
    Array x = Array::of<float>({1, 2, 3, 4}, {2, 2});
    auto square = sn::jit(session, [](Tensor x) { return softmax(matmul(x, x), -1); });
    EXPECT_NEAR(square(x).floatAt(1), 0.952574, 1e-5) << mode;
    std::string counts = session.profile();
    EXPECT_EQ(counts.find("us on h200") != counts.npos, mode == std::string("--sinter-emu=count"))
        << counts;
  }
}

TEST(Compiled, MistakesAboutTheEmulatedCard) {
  sn::Options options = quiet();
  options.set("--sinter-emu=check");
  std::string message = messageOf([&] {
    sn::Session session{options};
    sn::jit(session, [](Tensor x) { return x + 1; })(Array::of<float>({1}, {1}));
  });
  EXPECT_NE(message.find("--sinter-emu=check needs --sinter-device=emu"), message.npos) << message;
  EXPECT_NE(messageOf([&] { options.set("--sinter-card=h300"); }).find("h200, a100"), message.npos);
}

/// The error of running anything with these options.
std::string refusal(std::initializer_list<const char *> flags) {
  return messageOf([&] {
    sn::Options options = quiet();
    for (const char *flag : flags)
      options.set(flag);
    sn::Session session{options};
    sn::jit(session, [](Tensor x) { return x + 1; })(Array::of<float>({1}, {1}));
  });
}

TEST(Compiled, ScattersAddByAtomicsOnRequest) {
  // Sums of small whole numbers are exact in any order.
  auto run = [](sn::Options options) {
    sn::Session session{options};
    auto add = sn::jit(session, [](Tensor x, Tensor index, Tensor source) {
      return scatter_add(x, 0, index, source);
    });
    Array x = Array::zeros(sn::f32, {3, 40}), index = Array::empty(sn::i64, {50, 40}),
          source = Array::empty(sn::f32, {50, 40});
    for (int64_t i = 0; i < 2000; ++i) {
      index.data<int64_t>()[i] = (i + i / 40) % 5 - 1; // -1 and 3 are outside
      source.data<float>()[i] = float(i % 11);
    }
    return add(x, index, source);
  };
  sn::Options anyOrder = emulated();
  anyOrder.set("--sinter-deterministic=off");
  Array expected = run(quiet()), inOrder = run(emulated()), byAtomics = run(anyOrder);
  EXPECT_GT(expected.floatAt(0), 0);
  EXPECT_EQ(inOrder.str(), expected.str());
  EXPECT_EQ(byAtomics.str(), expected.str());
}

TEST(Compiled, MistakesAboutDevicesNameTheFlag) {
  auto expectWords = [](const std::string &text, std::initializer_list<const char *> words) {
    for (const char *word : words)
      EXPECT_NE(text.find(word), text.npos) << "no '" << word << "' in: " << text;
  };
  expectWords(refusal({"--sinter-device=gpu"}), {"--sinter-device", "'gpu'", "cuda:N"});
  expectWords(refusal({"--sinter-device=cuda:x"}), {"--sinter-device", "'x'"});
  expectWords(refusal({"--sinter-device-memory=4G"}),
              {"--sinter-device-memory=4G", "--sinter-device=cuda"});
  expectWords(refusal({"--sinter-vendor=nvidia"}), {"--sinter-vendor=nvidia", "'cpu'", "onednn"});
  expectWords(refusal({"--sinter-device=emu", "--sinter-vendor=onednn"}), {"'emu'", "none"});
  expectWords(refusal({"--sinter-device=cuda", "--sinter-cuda-driver=/nowhere/libcuda.so"}),
              {"/nowhere/libcuda.so", "driver"});
}

TEST(Compiled, RunsContinueFromACheckpointBitByBit) {
  std::string directory = ::testing::TempDir() + "jit_checkpoints_" + std::to_string(::getpid());
  auto train = [&](bool resume) {
    sn::Session session{quiet(resume ? 8 : 3)};
    Net net{session};
    sn::AdamW optimizer{net.parameters()};
    auto step = sn::jit(session, [&](Batch<Tensor> b) {
      Tensor loss = cross_entropy(net(b.x), b.y);
      optimizer.minimize(loss);
      return loss;
    });
    sn::data::Checkpoints checkpoints{session, directory};
    int64_t first = resume ? checkpoints.resume() : 0;
    if (resume) {
      EXPECT_EQ(checkpoints.text("note"), "half way");
    }
    std::vector<float> losses;
    for (int64_t i = first; i < 8; ++i) {
      if (i == 4 && !resume)
        checkpoints.save(i, nullptr, {{"note", "half way"}});
      losses.push_back(step(batch()).item<float>());
    }
    checkpoints.wait();
    return losses;
  };
  std::vector<float> whole = train(false), rest = train(true);
  EXPECT_LT(whole.back(), whole.front());
  EXPECT_EQ(rest, std::vector<float>(whole.begin() + 4, whole.end()));
}

void checkProbesAndNumerics(sn::Options options) {
  options.checkNumerics = true;
  sn::Session session{options};
  std::string seen;
  session.onProbe([&](std::string_view label, const Array &value) {
    seen = std::string(label) + " " + value.str();
  });
  unsigned line = 0;
  auto f = sn::jit(session, [&](Tensor x) {
    line = __LINE__ + 1;
    return log(probe(x, "input"));
  });
  f(Array::of<float>({1, 2}));
  EXPECT_EQ(seen, "input [1. 2.]");
  // What failed is saved where the program runs.
  const std::filesystem::path home = std::filesystem::current_path();
  std::filesystem::current_path(testing::TempDir());
  std::string message = messageOf([&] { f(Array::of<float>({1, -2})); });
  EXPECT_TRUE(std::filesystem::remove("sinter-numerics-input0.npy"));
  EXPECT_TRUE(std::filesystem::remove("sinter-numerics-output.npy"));
  std::filesystem::current_path(home);
  EXPECT_NE(message.find("NaN at [1]"), message.npos) << message;
  EXPECT_NE(message.find("jit_test.cpp:" + std::to_string(line)), message.npos) << message;
}

TEST(Compiled, ProbesAndNumericsNameTheLine) {
  checkProbesAndNumerics(quiet());
  checkProbesAndNumerics(emulated());
}

TEST(Compiled, EpochsFillTheStruct) {
  sn::Session session{quiet()};
  Array images = Array::zeros(sn::u8, {10, 2}), labels = Array::zeros(sn::i64, {10});
  auto loader = sn::data::arrays(images, labels).shuffle(1).batch(4, {.dropLast = true}).prefetch();
  int64_t batches = 0;
  for (const Batch<Array> &b : sn::data::epoch<Batch>(loader)) {
    EXPECT_EQ(b.x.type(), "u8[4, 2]");
    EXPECT_EQ(b.y.type(), "i64[4]");
    ++batches;
  }
  EXPECT_EQ(batches, 2);
}

TEST(Compiled, ArraysOfTwoStatementsStayTwo) {
  sn::Session session{quiet()};
  auto f = sn::jit(session, [](Tensor x) {
    Tensor y = x + Array::of<float>({1, 2});
    return y + Array::of<float>({10, 20});
  });
  EXPECT_EQ(f(Array::of<float>({0, 0})).str(), "[11. 22.]");
}

struct Holder : sn::Module<Holder> {
  using Module::Module;
  sn::Buffer value{{this, "value"}, {300, 300}, sn::Init::constant(1)};
};

/// 300 x 300, so that several tasks share the update.
Array ramp(int64_t shift) {
  Array array = Array::empty(sn::f32, {300, 300});
  for (int64_t i = 0; i < array.elements(); ++i)
    array.data<float>()[i] = float((i * 37 + shift) % 101) - 50;
  return array;
}

TEST(Compiled, AVariableIsNotOverwrittenWhileItsOtherElementsAreRead) {
  for (int64_t shift : {-1, 0, 1}) {
    sn::Session session{quiet()};
    Holder holder{session};
    const sn::Buffer &v = holder.value;
    v.set(ramp(3));
    auto step = sn::jit(session, [&](Tensor x) {
      Tensor positive = relu(Tensor(v) * 0.5);
      v.assign(v + (shift ? roll(positive, shift, 0) : transpose(positive)) + x);
      return sum(x);
    });
    step(ramp(5));
    Array before = ramp(3), x = ramp(5);
    for (int64_t i = 0; i < 300; ++i)
      for (int64_t j = 0; j < 300; ++j) {
        int64_t from = shift ? (i - shift + 300) % 300 * 300 + j : j * 300 + i;
        double expected = before.floatAt(i * 300 + j) + std::max(0.0, before.floatAt(from) * 0.5) +
                          x.floatAt(i * 300 + j);
        ASSERT_EQ(v.value().floatAt(i * 300 + j), expected) << shift << ' ' << i << ' ' << j;
      }
  }
}

TEST(Compiled, MoreThreadsThanThereCanBe) {
  sn::Options options = quiet();
  options.threads = 1000000;
  sn::Session session{options};
  auto f = sn::jit(session, [](Tensor x) { return x + 1; });
  EXPECT_EQ(f(Array::of<float>({1})).item<float>(), 2);
}

TEST(Compiled, NumbersThatDoNotFitAreRefused) {
  sn::Session session{quiet()};
  auto f = sn::jit(session, [](Tensor x) { return x > 300; });
  std::string message = messageOf([&] { f(Array::zeros(sn::u8, {2})); });
  EXPECT_NE(message.find("300 does not fit u8, which holds 0 to 255"), message.npos) << message;
}

TEST(Compiled, AnUnknownPassToDumpIsNamed) {
  sn::Options options = quiet();
  options.dumpIr = {"after:sinter-fusio"};
  sn::Session session{options};
  auto f = sn::jit(session, [](Tensor x) { return x + 1; });
  std::string message = messageOf([&] { f(Array::zeros(sn::f32, {2})); });
  EXPECT_NE(message.find("no pass is called 'sinter-fusio'; the passes are all, sinter-gradient"),
            message.npos)
      << message;
}

TEST(Compiled, ASessionThatIsGoneIsNotTheCurrentOne) {
  sn::Session outer{quiet()};
  Tensor kept;
  {
    sn::Session inner{quiet()};
    kept = sn::ones({2}) + 1;
  }
  Holder holder{outer};
  EXPECT_EQ((holder.value + sn::ones({300})).array().floatAt(0), 2);
  EXPECT_EQ(kept.array().str(), "[2. 2.]");
}

TEST(Compiled, ResultsOutliveTheSession) {
  Array result;
  Tensor tensor;
  {
    sn::Session session{quiet()};
    auto f = sn::jit(session, [](Tensor x) { return x + 1; });
    result = f(Array::of<float>({1}));
    tensor = relu(sn::ones({2}));
  }
  EXPECT_EQ(result.item<float>(), 2);
  EXPECT_EQ(tensor.array().str(), "[1. 1.]");
}

} // namespace
