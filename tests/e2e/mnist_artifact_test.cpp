// MNIST's CNN as an artifact: C programs train and classify with it as the JIT does, and nothing of
// the compiler is inside.
#include "mnist_support.h"

#include "sinter/core/npy.h"

namespace sinter::e2e {
namespace {

constexpr int kSteps = 200;

/// What mnist_train makes in 200 steps, and artifacts of that.
struct Model {
  Model(std::vector<std::string> flags, const std::string &vendor) : vendor(vendor) {
    for (const std::string &flag :
         {"--steps=" + std::to_string(kSteps), "--sinter-vendor=" + vendor,
          "--losses=" + folder.file("losses"), "--batches=" + folder.file("batch"),
          "--predictions=" + folder.file("jit.npy"),
          "--initial-package=" + folder.file("initial.mlirbc"),
          "--package=" + folder.file("trained.mlirbc")})
      flags.push_back(flag);
    Outcome trained = train(flags);
    EXPECT_EQ(trained.exitCode, 0) << trained.output;
    compile("initial", "initial", vendor);
  }

  /// The package of that name as lib<name>.so; the programs know it as mnist.
  void compile(const std::string &package, const std::string &name, const std::string &with) {
    Outcome compiled =
        aot::runSinter({"compile", folder.file(package + ".mlirbc"), "-o", library(name),
                        "--name=mnist", "--vendor=" + with, "--header", folder.file("mnist.h")});
    EXPECT_EQ(compiled.exitCode, 0) << compiled.output;
  }
  std::string library(const std::string &name) const { return folder.file("lib" + name + ".so"); }

  /// Builds a program of models/mnist/consumers with lib<name>.so, and runs it.
  Outcome consume(std::vector<std::string> compiler, const std::string &source,
                  const std::string &name, std::vector<std::string> arguments) const {
    std::string program = folder.file(source + ".program");
    std::vector<std::string> words = {"-O2",
                                      "-Wall",
                                      "-Wextra",
                                      "-Werror",
                                      "-pedantic-errors",
                                      "-I",
                                      folder.path,
                                      "-I",
                                      ABI_INCLUDE,
                                      MNIST_FOLDER "/consumers/" + source,
                                      "-o",
                                      program,
                                      library(name),
                                      "-Wl,-rpath," + folder.path.string()};
    compiler.insert(compiler.end(), words.begin(), words.end());
    Outcome built = aot::run(compiler);
    EXPECT_EQ(built.exitCode, 0) << built.output;
    arguments.insert(arguments.begin(), program);
    return built.exitCode == 0 ? aot::run(arguments) : built;
  }

  std::string vendor;
  Folder folder;
};

class MnistArtifact : public ::testing::Test {
protected:
  static void SetUpTestSuite() {
    cnn = std::make_unique<Model>(std::vector<std::string>(), "onednn");
    cnn->compile("initial", "alone", "none");
    // Small, since the kernels that are compiled for it take far longer than the library's.
    mlp = std::make_unique<Model>(
        std::vector<std::string>{"--model=mlp", "--batch=16", "--limit=3200"}, "none");
  }
  static void TearDownTestSuite() {
    cnn.reset();
    mlp.reset();
  }
  static inline std::unique_ptr<Model> cnn, mlp;
};

const std::vector<std::string> kC = {"cc", "-std=c99"};
const std::vector<std::string> kCxx = {"c++", "-std=c++17", "-fno-exceptions", "-fno-rtti"};

TEST_F(MnistArtifact, TwoHundredStepsFromCHaveTheBitsOfTheJit) {
  for (const Model *model : {cnn.get(), mlp.get()}) {
    SCOPED_TRACE(model->vendor);
    std::vector<uint32_t> jit = readLosses(model->folder.file("losses"));
    ASSERT_EQ(jit.size(), size_t(kSteps));
    EXPECT_LT(jit.back(), jit.front()); // positive floats order as their bits do
    Outcome trained = model->consume(kC, "train.c", "initial",
                                     {model->folder.file("batch-images"),
                                      model->folder.file("batch-labels"), std::to_string(kSteps)});
    ASSERT_EQ(trained.exitCode, 0) << trained.output;
    std::vector<uint32_t> c;
    std::istringstream lines(trained.output);
    for (uint32_t bits; lines >> std::hex >> bits;)
      c.push_back(bits);
    EXPECT_EQ(c, jit);
  }
}

/// Rows of a .npy file of floats.
std::vector<float> readFloats(const std::string &path) {
  auto file = rt::readNpy(path);
  EXPECT_TRUE(file.ok()) << file.status().message();
  if (!file.ok() || file->view.dtype != DType::F32)
    return {};
  auto *first = reinterpret_cast<const float *>(file->view.data);
  return {first, first + file->view.bytes / sizeof(float)};
}

TEST_F(MnistArtifact, CAndCxxClassifyAsTheJitDoes) {
  const Folder &folder = cnn->folder;
  cnn->compile("trained", "trained", "onednn");
  for (std::string kind : {"images-idx3", "labels-idx1"}) {
    Outcome unpacked =
        aot::run({"sh", "-c", "gzip -dc \"$0\" > \"$1\"",
                  MNIST_FOLDER "/data/t10k-" + kind + "-ubyte.gz", folder.file(kind)});
    ASSERT_EQ(unpacked.exitCode, 0) << unpacked.output;
  }
  std::vector<std::string> files = {folder.file("images-idx3"), folder.file("labels-idx1")};
  Outcome ofCxx = cnn->consume(kCxx, "classify.cc", "trained", files);
  files.insert(files.end(), {folder.file("c.npy"), folder.file("digits.npy")});
  Outcome ofC = cnn->consume(kC, "classify.c", "trained", files);
  EXPECT_EQ(ofC.exitCode, 0) << ofC.output;
  EXPECT_EQ(ofC.output, ofCxx.output);
  ASSERT_TRUE(ofC.output.starts_with("accuracy ")) << ofC.output;
  EXPECT_GT(std::atof(ofC.output.c_str() + 9), 0.9);
  std::vector<float> jit = readFloats(folder.file("jit.npy"));
  EXPECT_EQ(jit.size(), 100000u);
  EXPECT_EQ(readFloats(folder.file("c.npy")), jit);
}

TEST_F(MnistArtifact, NothingOfTheCompilerIsInside) {
  for (std::string library : {cnn->library("initial"), cnn->library("alone")}) {
    Outcome symbols = aot::run({"nm", "-D", library}), libraries = aot::run({"ldd", library});
    ASSERT_EQ(symbols.exitCode + libraries.exitCode, 0) << symbols.output << libraries.output;
    aot::expectOutput(symbols, {" T mnist_api"});
    aot::expectOutput(libraries, {"libc.so.6"});
    for (const char *word : {"LLVM", "MLIR", "llvm", "mlir"})
      EXPECT_EQ((symbols.output + libraries.output).find(word), std::string::npos)
          << library << " has " << word;
  }
}

TEST_F(MnistArtifact, WithoutAVendorItNeedsTheCxxLibraryAloneAndIsSmall) {
  std::string library = cnn->library("alone");
  std::istringstream lines(aot::run({"ldd", library}).output);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    std::string name = line.substr(0, line.find(" (0x")).substr(0, line.find(" =>"));
    name = name.substr(name.find_first_not_of(" \t"));
    bool allowed = name == "linux-vdso.so.1" || name == "libstdc++.so.6" || name == "libm.so.6" ||
                   name == "libgcc_s.so.1" || name == "libc.so.6" ||
                   name.ends_with("/ld-linux-x86-64.so.2");
    EXPECT_TRUE(allowed) << library << " needs " << name;
  }
  EXPECT_GT(count, 2);
  uintmax_t bytes = std::filesystem::file_size(library);
  std::printf("[ figure   ] artifact_bytes %ju (CNN, --vendor=none, without weights)\n", bytes);
  EXPECT_LT(bytes, 3u << 20);
}

} // namespace
} // namespace sinter::e2e
