// One test a mistake in the DSL: each is one exception whose message names the line, what is wrong
// and how to mend it. The line numbers in the messages are those of this file, so the expectations
// compute them.
#include "Interpreted.h"
#include "file_size_limit.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>

namespace sn = sinter;
using sn::Array;
using sn::Tensor;

namespace {

/// What `body` throws, one line; "" if nothing.
template <class F> std::string messageOf(F &&body) {
  std::string message;
  try {
    body();
  } catch (const sn::Error &error) {
    message = error.what();
  }
  EXPECT_EQ(message.find('\n'), message.npos) << message;
  return message;
}

std::string here(unsigned line) { return "misuse_test.cpp:" + std::to_string(line); }

#define EXPECT_HAS(message, part)                                                                  \
  EXPECT_NE((message).find(part), std::string::npos) << "in: " << (message)

class Misuse : public ::testing::Test {
protected:
  sn::testing::InterpretedSession session;
  Array zeros(std::vector<int64_t> dims, sn::DType dtype = sn::f32) {
    return Array::zeros(dtype, dims);
  }
};

struct Net : sn::Module<Net> {
  using Module::Module;
  sn::Linear head{{this, "head"}, 6262, 10};
  Tensor forward(Tensor x) { return head(x); }
};

TEST_F(Misuse, ShapesNameBothOperandsTheirOriginsAndTheModule) {
  unsigned line = 0;
  Net net{session};
  auto f = sn::jit(session, [&](Tensor x) {
    Tensor a = x * 2;
    line = __LINE__ + 1;
    return net.head(a);
  });
  std::string message = messageOf([&] { f(zeros({64, 6272})); });
  EXPECT_HAS(message, here(line) + ": linear: ");
  EXPECT_HAS(message, "inner dimensions differ: [64, 6272] x [10, 6262]");
  EXPECT_HAS(message, "(in Net.head)");
  EXPECT_HAS(message, "x made at " + here(line - 2));
  EXPECT_HAS(message, "weight is the variable head.weight");
}

TEST_F(Misuse, MatmulShapes) {
  const unsigned line = __LINE__ + 1;
  Tensor a = zeros({64, 6272}), b = zeros({6262, 10});
  std::string message = messageOf([&] { matmul(a, b); });
  EXPECT_HAS(message,
             here(line + 1) + ": matmul: inner dimensions differ: [64, 6272] x [6262, 10]");
  EXPECT_HAS(message, "left made at " + here(line));
  EXPECT_HAS(message, "right made at " + here(line));
}

TEST_F(Misuse, BroadcastShapes) {
  const unsigned line = __LINE__ + 1;
  auto f = sn::jit(session, [&](Tensor x, Tensor y) {
    Tensor twice = x * 2;
    Tensor half = y / 2;
    return twice + half;
  });
  std::string message = messageOf([&] { f(zeros({2, 3}), zeros({4, 3})); });
  EXPECT_HAS(message, here(line + 3) + ": add: shapes do not broadcast: f32[2, 3] and f32[4, 3]");
  EXPECT_HAS(message, "left made at " + here(line + 1));
  EXPECT_HAS(message, "right made at " + here(line + 2));
}

TEST_F(Misuse, OtherShapes) {
  Tensor x = zeros({2, 3, 8, 8}), w = zeros({4, 5, 3, 3});
  EXPECT_HAS(messageOf([&] { conv2d(x, w); }), "conv2d: ");
  EXPECT_HAS(messageOf([&] { reshape(x, {7, -1}); }),
             "the -1 in [7, -1] is no whole number for f32[2, 3, 8, 8]");
  EXPECT_HAS(messageOf([&] { reshape(x, {7, 3}); }), "numbers of elements differ");
  EXPECT_HAS(messageOf([&] { sum(x, 4); }), "there is no dimension 4 in a tensor of rank 4");
  EXPECT_HAS(messageOf([&] { sn::concat({x, zeros({2, 3})}, 1); }), "concat: ");
  EXPECT_HAS(messageOf([&] { max_pool2d(x, {.stride = 2}); }),
             "max_pool2d: the option .kernel is not given");
  EXPECT_HAS(messageOf([&] { sn::cross_entropy(zeros({8, 10}), zeros({7}, sn::i64)); }),
             "need one label a row, [8]");
}

TEST_F(Misuse, ElementTypes) {
  const unsigned line = __LINE__ + 1;
  Tensor half = cast(zeros({2}), sn::f16);
  Tensor brain = cast(zeros({2}), sn::bf16);
  std::string message = messageOf([&] { half + brain; });
  EXPECT_HAS(message, here(line + 2) + ": add: f16 and bf16 meet only by an explicit cast");
  EXPECT_HAS(message, ": f16[2] and bf16[2]; left made at " + here(line));
  EXPECT_HAS(message, "right made at " + here(line + 1));
  EXPECT_HAS(messageOf([&] { sn::cross_entropy(zeros({8, 10}), zeros({8})); }),
             "the labels are f32[8], not class numbers");
  EXPECT_HAS(messageOf([&] { sn::embedding(zeros({8, 10}), zeros({8})); }),
             "the index is f32[8], not integers: cast it");
  EXPECT_HAS(messageOf([&] { sn::where(zeros({2}), 1.0, 2.0); }),
             "the condition is f32[2], not bool");
}

TEST_F(Misuse, TensorOutsideItsTrace) {
  Tensor escaped;
  const unsigned line = __LINE__ + 1;
  auto f = sn::jit(session, [&](Tensor x) { return escaped = x * 2; });
  f(zeros({2}));
  std::string message = messageOf([&] { relu(escaped); });
  EXPECT_HAS(message, "is used outside it: return it");
  EXPECT_HAS(message, here(line + 2) + ": a Tensor f32[2] of a function that has ended ('step'");
  EXPECT_HAS(message, "made at " + here(line));
  EXPECT_HAS(message, "return it");
  EXPECT_HAS(messageOf([&] { escaped.array(); }), "belongs to a function that has ended");
  EXPECT_HAS(messageOf([&] { escaped.shape(); }), "was used outside that function");
}

TEST_F(Misuse, TensorInAnothersTrace) {
  Tensor escaped;
  auto first = sn::jit(session, [&](Tensor x) { return escaped = x * 2; }, {.name = "first"});
  auto second = sn::jit(session, [&](Tensor x) { return x + escaped; }, {.name = "second"});
  first(zeros({2}));
  std::string message = messageOf([&] { second(zeros({2})); });
  EXPECT_HAS(message, here(__LINE__ - 3));
  EXPECT_HAS(message, "('first' traced at");
  EXPECT_HAS(message, "is used in 'second'");
}

TEST_F(Misuse, ValuesWhileTracing) {
  auto f = sn::jit(session, [&](Tensor x) { return x.item<float>() > 0 ? x : -x; });
  std::string message = messageOf([&] { f(zeros({})); });
  EXPECT_HAS(message, here(__LINE__ - 2));
  EXPECT_HAS(message, "has no value yet: 'step' is being recorded");
  auto g = sn::jit(session, [&](Tensor x) { return f(zeros({})), x; }, {.name = "outer"});
  EXPECT_HAS(messageOf([&] { g(zeros({})); }), "is called while 'outer' is traced");
}

TEST_F(Misuse, UndefinedTensor) {
  EXPECT_HAS(messageOf([&] { relu(Tensor()); }), "the Tensor has no value");
  auto f = sn::jit(session, [&](Tensor) { return Tensor(); });
  EXPECT_HAS(messageOf([&] { f(zeros({})); }), "a Tensor without a value");
}

TEST_F(Misuse, AnErrorLeavesNothingBehind) {
  auto f = sn::jit(session, [&](Tensor x) { return x + zeros({3}); });
  EXPECT_NE(messageOf([&] { f(zeros({2})); }), "");
  EXPECT_EQ(f(zeros({3})).dims(), (std::vector<int64_t>{3}));
  EXPECT_EQ(relu(Tensor(zeros({2}))).type(), "f32[2]");
}

TEST_F(Misuse, ForgottenLayerOption) {
  struct Wrong : sn::Module<Wrong> {
    using Module::Module;
    sn::Conv2d conv{{this, "conv"}, {.in = 3, .out = 8}};
  };
  std::string message = messageOf([&] { Wrong net{session}; });
  EXPECT_HAS(message, ": Wrong.conv: the option .kernel is not given");
  EXPECT_EQ(message.find("misuse_test.cpp:"), 0u)
      << "which line of the struct is the compiler's to choose";
  EXPECT_HAS(messageOf([&] { sn::Linear layer({session, "x"}, {.in = 3}); }),
             "x: the option .out is not given");
  EXPECT_HAS(messageOf([&] {
               sn::Conv2d layer({session, "y"}, {.in = 3, .out = 4, .kernel = 1, .groups = 2});
             }),
             "must be multiples of .groups = 2");
}

TEST_F(Misuse, NamesTwice) {
  struct Twice : sn::Module<Twice> {
    using Module::Module;
    sn::Linear a{{this, "a"}, 2, 2}, b{{this, "a"}, 2, 2};
  };
  EXPECT_HAS(messageOf([&] { Twice net{session}; }), "two members are named 'a'");
  Net one{session};
  EXPECT_HAS(messageOf([&] { Net two{session}; }), "give the module a name of its own");
  EXPECT_EQ(messageOf([&] { Net two{{session, "teacher"}}; }), "");
}

TEST_F(Misuse, StaticArgumentThatChangesEveryCall) {
  session.setOption("--sinter-verbose=on");
  auto f = sn::jit(session, [](Tensor x, int64_t epoch) { return x + epoch; });
  ::testing::internal::CaptureStderr();
  for (int64_t epoch = 0; epoch < 4; ++epoch)
    f(zeros({2}), epoch);
  std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_HAS(printed, "sinter: compiled step in ");
  EXPECT_HAS(printed, "sinter: step compiled again (2nd): static argument 1 0→1");
  EXPECT_HAS(printed, "warning: " + here(__LINE__ - 7));
  EXPECT_HAS(printed, "make it a Variable and set() it");
}

TEST_F(Misuse, RetracesSayWhy) {
  session.setOption("--sinter-verbose=on");
  auto f = sn::jit(session, [](Tensor x) { return x + 1; });
  ::testing::internal::CaptureStderr();
  f(zeros({64, 3})), f(zeros({17, 3})), f(zeros({17, 4})), f(zeros({17, 4}, sn::f64));
  std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_HAS(printed, "step compiled again (2nd): batch 64→17");
  EXPECT_HAS(printed, "step compiled again (3rd): array 1 f32[17, 3]→f32[17, 4]");
  EXPECT_HAS(printed, "step compiled again (4th): array 1 f32[17, 4]→f64[17, 4]");
}

TEST_F(Misuse, WeightsThatDoNotFitAreListedTogether) {
  std::string path = ::testing::TempDir() + "misuse.safetensors";
  sn::save_safetensors(path, {{"head.weigth", zeros({10, 6262})}, {"head.bias", zeros({11})}});
  Net net{session};
  std::string message = messageOf([&] { net.load(path); });
  EXPECT_HAS(message, here(__LINE__ - 1) + ": " + path + ": 0 loaded");
  EXPECT_HAS(message, "1 missing: head.weight (nearest: head.weigth)");
  EXPECT_HAS(message, "1 unexpected: head.weigth (nearest: head.weight)");
  EXPECT_HAS(message, "1 misshapen: head.bias: [11] in the file, [10] in the model");
  sn::save_safetensors(path,
                       {{"head.weight", zeros({10, 6262})}, {"head.bias", zeros({10}, sn::f64)}});
  Array before = net.head.weight.value();
  message = messageOf([&] { net.load(path); });
  EXPECT_HAS(message, "1 of the wrong dtype: head.bias: f64 in the file, f32 in the model");
  EXPECT_HAS(message, ".cast = true");
  EXPECT_TRUE(identical(before, net.head.weight.value())) << "a failed load changed the model";
  EXPECT_TRUE(net.load(path, {.cast = true}).ok());
  EXPECT_EQ(net.load(path, {.strict = false}).wrongDtype.size(), 1u);
  EXPECT_HAS(messageOf([&] { net.load("/nowhere/x.safetensors"); }), "/nowhere/x.safetensors");
  EXPECT_HAS(messageOf([&] { net.save("/nowhere/x.safetensors"); }), "/nowhere/x.safetensors");
}

/// A folder for one test, removed with all it holds.
struct Folder {
  Folder() {
    std::string pattern = ::testing::TempDir() + "misuse-XXXXXX";
    path = ::mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string &name) const { return path / name; }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto &entry : std::filesystem::directory_iterator(path))
      found.insert(entry.path().filename());
    return found;
  }
  std::filesystem::path path;
};

std::string readText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void writeText(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST_F(Misuse, DamagedWeightsNameTheByteAndChangeNothing) {
  Folder folder;
  std::string path = folder.file("net.safetensors"), offset = path + ": byte ";
  Net net{session};
  net.save(path);
  Array before = net.head.weight.value();
  Array bias = Array::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  net.head.bias->set(bias);
  std::string whole = readText(path), header = whole;
  header[20] = '\xff';
  for (const std::string &damaged : {whole.substr(0, whole.size() - 1), whole.substr(0, 100),
                                     whole.substr(0, 3), std::string(), whole + "x", header}) {
    writeText(path, damaged);
    std::string message = messageOf([&] { net.load(path); });
    EXPECT_EQ(message.find(here(__LINE__ - 1) + ": " + offset), 0u) << message;
    EXPECT_HAS(message, "; the file is damaged or ");
    EXPECT_HAS(messageOf([&] { sn::load_safetensors(path); }), offset);
  }
  EXPECT_TRUE(identical(before, net.head.weight.value()));
  EXPECT_TRUE(identical(bias, net.head.bias->value()));
}

TEST_F(Misuse, DamagedArraysNameTheByte) {
  Folder folder;
  std::string npy = folder.file("x.npy");
  sn::save_npy(npy, zeros({3, 5}));
  std::string whole = readText(npy);
  for (size_t size : {size_t(0), size_t(9), size_t(60), whole.size() - 1}) {
    writeText(npy, whole.substr(0, size));
    EXPECT_HAS(messageOf([&] { sn::load_npy(npy); }), npy + ": byte ");
  }
  writeText(npy, "no array at all");
  EXPECT_HAS(messageOf([&] { sn::load_npy(npy); }),
             "this is no .npy file; save it with numpy.save");
  EXPECT_HAS(messageOf([&] { sn::load_npy("/nowhere/x.npy"); }), "cannot read /nowhere/x.npy");

  std::string images("\0\0\10\3\0\0\0\2\0\0\0\34\0\0\0\34", 16), labels("\0\0\10\1\0\0\0\2", 8);
  for (std::string part : {"train", "t10k"}) {
    writeText(folder.file(part + "-images-idx3-ubyte"), images + std::string(2 * 784, 'x'));
    writeText(folder.file(part + "-labels-idx1-ubyte"), labels + "\1\2");
  }
  EXPECT_EQ(messageOf([&] { sn::data::mnist(folder.path); }), "");
  std::string idx = folder.file("train-images-idx3-ubyte");
  for (size_t size : {0, 3, 10, 100}) {
    writeText(idx, (images + std::string(784, 'x')).substr(0, size));
    std::string message = messageOf([&] { sn::data::mnist(folder.path); });
    EXPECT_EQ(message.find(here(__LINE__ - 1) + ": " + idx + ": byte "), 0u) << message;
    EXPECT_HAS(message, "fetch or copy the file again");
  }
}

TEST_F(Misuse, AFullDiskKeepsTheOldFiles) {
  Folder folder;
  Net net{session};
  sn::Package package{session};
  package.add("f", [&](Tensor x) { return net(x); }, {{"x", sn::f32, {1, 6262}}});
  std::map<std::string, std::function<void(const std::string &)>> writers = {
      {"net.safetensors", [&](const std::string &path) { net.save(path); }},
      {"x.npy", [&](const std::string &path) { sn::save_npy(path, zeros({100000})); }},
      {"x.safetensors",
       [&](const std::string &path) { sn::save_safetensors(path, {{"x", zeros({100000})}}); }},
      {"package.mlirbc", [&](const std::string &path) { package.write(path); }}};
  std::string directory = folder.file("directory");
  std::filesystem::create_directory(directory);
  for (const auto &[name, write] : writers) {
    std::string path = folder.file(name);
    write(path);
    std::set<std::string> names = folder.names();
    std::string old = readText(path), full;
    {
      sn::test::FileSizeLimit limit(200);
      full = messageOf([&] { write(path); });
    }
    EXPECT_HAS(full, "cannot write " + folder.path.string());
    EXPECT_HAS(full, "ulimit -f");
    EXPECT_EQ(readText(path), old) << name;
    EXPECT_EQ(folder.names(), names) << name << " left a half-written file";
    EXPECT_HAS(messageOf([&] { write(folder.file("no/such/" + name)); }), "check the spelling");
    EXPECT_HAS(messageOf([&] { write(directory); }), "not of a directory");
  }
  sn::data::Checkpoints checkpoints{session, folder.file("run")};
  checkpoints.save(1), checkpoints.wait();
  {
    sn::test::FileSizeLimit limit(200);
    checkpoints.save(2);
    std::string message = messageOf([&] { checkpoints.wait(); });
    EXPECT_HAS(message, here(__LINE__ - 1) + ": cannot write " + folder.path.string());
    EXPECT_HAS(message, "ulimit -f");
  }
  EXPECT_EQ(checkpoints.resume(), 1);
  std::string message =
      messageOf([&] { sn::data::Checkpoints unwritable(session, "/nowhere/run/"); });
  EXPECT_HAS(message, here(__LINE__ - 1) + ": ");
  EXPECT_HAS(message, "/nowhere/run");
}

TEST_F(Misuse, UnknownFlags) {
  std::vector<std::string> words{"train", "--epochs=3", "--sinter-sed=4", "--sinter-threads=2"};
  auto parse = [&] {
    std::vector<char *> argv;
    for (std::string &word : words)
      argv.push_back(word.data());
    int argc = int(argv.size());
    argv.push_back(nullptr);
    sn::Options options = sn::Options::fromArgs(argc, argv.data());
    EXPECT_EQ(argc, 2);
    EXPECT_STREQ(argv[1], "--epochs=3");
    return options;
  };
  EXPECT_HAS(messageOf(parse), "unknown option --sinter-sed; did you mean --sinter-seed?");
  words[2] = "--sinter-seed=x";
  EXPECT_HAS(messageOf(parse), "--sinter-seed: 'x' is no whole number");
  words[2] = "--sinter-device=gpu";
  EXPECT_HAS(messageOf(parse), "--sinter-device: 'gpu' is not one of cpu");
  words[2] = "--sinter-seed";
  EXPECT_HAS(messageOf(parse), "--sinter-seed needs a value: --sinter-seed=N");
  words[2] = "--sinter-seed=12";
  EXPECT_EQ(parse().seed, 12u);
}

TEST(MisuseOptions, SetTooLate) {
  sn::Session session;
  session.setOption("--sinter-seed=4");
  Net net{session};
  std::string message = messageOf([&] { session.setOption("--sinter-seed=5"); });
  EXPECT_HAS(message, here(__LINE__ - 1) +
                          ": --sinter-seed was set too late: variables have their values from it");
  session.setOption("--sinter-verbose=off");
  session.setOption("--sinter-threads=1");
  relu(sn::ones({2}));
  EXPECT_HAS(messageOf([&] { session.setOption("--sinter-threads=3"); }),
             "something was compiled already");
}

TEST(MisuseOptions, NoSession) {
  EXPECT_HAS(messageOf([&] { sn::ones({2}); }), "no Session in this thread");
}

TEST_F(Misuse, Optimizers) {
  Net net{session};
  EXPECT_HAS(messageOf([&] { sn::Sgd sgd({}); }),
             "there is nothing to train; pass net.parameters()");
  EXPECT_HAS(messageOf([&] { sn::Sgd sgd(net.parameters(), {.nesterov = true}); }),
             ".nesterov needs .momentum");
  sn::Sgd sgd{net.parameters()};
  EXPECT_HAS(messageOf([&] { sgd.minimize(sum(net(zeros({2, 6262})))); }),
             "take gradients inside sn::jit");
  auto vector = sn::jit(session, [&](Tensor x) { sgd.minimize(net(x)); });
  EXPECT_HAS(messageOf([&] { vector(zeros({2, 6262})); }), "the loss is f32[2, 10], not a scalar");
  auto apart = sn::jit(session, [&](Tensor x) { sgd.minimize(sum(x)); });
  EXPECT_HAS(messageOf([&] { apart(zeros({2})); }), "the loss depends on none of the 2 parameters");
}

TEST_F(Misuse, Variables) {
  Net net{session};
  EXPECT_HAS(messageOf([&] { net.head.bias->set(zeros({11})); }),
             "head.bias is f32[10]; it cannot be set to f32[11]");
  auto f = sn::jit(session, [&](Tensor x) { net.head.bias->assign(x); });
  EXPECT_HAS(messageOf([&] { f(zeros({11})); }),
             "the variable head.bias is f32[10], the value f32[11]");
  EXPECT_HAS(messageOf([&] { f(zeros({10}, sn::f64)); }), "; cast it");
  auto g = sn::jit(session, [&](Tensor) { net.head.bias->set(1.0); });
  EXPECT_HAS(messageOf([&] { g(zeros({2})); }),
             "acts at once, but 'step' is being traced: use assign()");
  sn::testing::InterpretedSession other;
  auto h = sn::jit(other, [&](Tensor x) { return net(x); });
  EXPECT_HAS(messageOf([&] { h(zeros({2, 6262})); }), "belongs to another Session");
}

TEST_F(Misuse, Packages) {
  Net net{session};
  sn::Package package{session};
  auto classify = [&](Tensor x) { return net(x); };
  EXPECT_HAS(messageOf([&] { package.add("f", classify, {}); }), "takes 1 Tensors, 0 are given");
  EXPECT_HAS(
      messageOf([&] { package.add("f", classify, {{"x", sn::f32, {1, 6262}}}, {"a", "b"}); }),
      "returns 1 Tensors");
  EXPECT_HAS(messageOf([&] { package.add("f", classify, {{"x", sn::f32, {1, 6262}}}, {"x"}); }),
             "are named 'x'");
  package.add("f", classify, {{"x", sn::f32, {1, 6262}}});
  EXPECT_HAS(messageOf([&] { package.add("f", classify, {{"x", sn::f32, {1, 6262}}}); }),
             "the name 'f' is taken");
  EXPECT_HAS(messageOf([&] { package.write("/nowhere/x.mlirbc"); }),
             "/nowhere/x.mlirbc: No such file");
  sn::Dim n = sn::dim("n");
  auto fixed = [&](Tensor x) { return x * double(x.size(0)); };
  EXPECT_HAS(messageOf([&] { package.add("g", fixed, {{"x", sn::f32, {n}}}); }),
             "the dimension n is symbolic");
}

} // namespace
