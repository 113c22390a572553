// Whole training steps through the CUDA runtime: memory, copies, modules, launches and recorded
// steps are the real ones, on a driver that runs emulated kernels. The same bits must come out as
// on the emulated card.
#include "../runtime/cuda/fake_library.h"
#include "programs.h"

#include "../../models/mnist/models.h"

#include "sinter/base/text.h"
#include "sinter/core/executable.h"
#include "sinter/core/forwarding_device.h"
#include "sinter/cuda/library.h"
#include "sinter/cuda/platform.h"
#include "sinter/emu/device.h"

#include <cstring>
#include <random>

namespace sn = sinter;

namespace sinter::test {
namespace {

std::string mlpGraph() {
  sn::Options options;
  options.verbose = false;
  sn::Session session{options};
  mnist::Mlp net{session};
  sn::AdamW optimizer{net.parameters()};
  auto step = sn::jit(session, [&](sn::Tensor image, sn::Tensor label) {
    sn::Tensor loss = cross_entropy(net(mnist::normalise(image)), label);
    optimizer.minimize(loss);
    return loss;
  });
  sn::Package package{session};
  package.add("train", step, {{"image", sn::u8, {8, 1, 28, 28}}, {"label", sn::i64, {8}}});
  package.add("score", [&](sn::Tensor image) { return net(mnist::normalise(image)); },
              {{"image", sn::u8, {sn::dim("n", 1, 64), 1, 28, 28}}});
  return package.str();
}

rt::Array pixels(int64_t rows) {
  std::mt19937 random(1);
  rt::Array array = rt::Array::empty(DType::U8, {rows, 1, 28, 28});
  for (uint8_t &pixel : array.values<uint8_t>())
    pixel = random() % 4 ? 0 : uint8_t(random() % 256);
  return array;
}
rt::Array labels(int64_t rows) {
  rt::Array array = rt::Array::empty(DType::I64, {rows});
  for (int64_t i = 0; i < rows; ++i)
    array.data<int64_t>()[i] = i % 10;
  return array;
}

/// One program on one device, with variables of its own.
struct Running {
  Running(std::shared_ptr<const rt::Program> program, std::shared_ptr<rt::Device> device,
          std::vector<rt::DeviceKernel> kernels)
      : program(std::move(program)), device(rt::DeviceVariables::create(std::move(device))),
        kernels(std::move(kernels)) {
    EXPECT_TRUE(store.addAll(*this->program).ok());
    std::mt19937 random(3);
    for (rt::StoredVariable &variable : store)
      if (variable.dtype() == DType::F32)
        for (float &value : variable.write()->values<float>())
          value = float(random() % 1000) / 20000; // no second moment is negative
  }
  std::unique_ptr<rt::Executable> entry(const char *name) {
    rt::Index index = 0;
    while (program->entries[size_t(index)].name != name)
      ++index;
    auto made = rt::Executable::create(program, index, {}, store, pool, nullptr,
                                       {.workspace = nullptr,
                                        .device = device,
                                        .deviceKernels = kernels,
                                        .deviceLibrary = library});
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(made);
  }
  std::vector<rt::Array> call(rt::Executable &entry, std::vector<rt::Array> inputs) {
    auto results = entry.call(inputs);
    EXPECT_TRUE(results.ok()) << results.status().message();
    return *std::move(results);
  }

  std::shared_ptr<const rt::Program> program;
  rt::VariableStore store;
  rt::ThreadPool pool{1};
  std::shared_ptr<rt::DeviceVariables> device;
  std::vector<rt::DeviceKernel> kernels;
  std::shared_ptr<rt::DeviceLibrary> library;
};

void expectSameBits(const rt::Array &a, const rt::Array &b, const std::string &what) {
  ASSERT_EQ(a.type(), b.type()) << what;
  EXPECT_EQ(std::memcmp(a.data(), b.data(), size_t(a.bytes())), 0) << what;
}

/// Refuses one launch, and knows whether copies are under way that nobody has waited for.
class RefusingDevice : public rt::ForwardingDevice {
public:
  using rt::ForwardingDevice::ForwardingDevice;
  Status copyToDevice(void *to, const void *from, size_t bytes,
                      const rt::WorkOrigin &origin) override {
    underWay = true;
    return inner.copyToDevice(to, from, bytes, origin);
  }
  Status launch(const rt::DeviceKernel &kernel, const rt::LaunchShape &shape, void *const *params,
                const rt::WorkOrigin &origin) override {
    if (std::exchange(refuses, false))
      return makeError(Code::InvalidArgument, "this launch is refused");
    return inner.launch(kernel, shape, params, origin);
  }
  Status synchronize() override {
    underWay = false;
    return inner.synchronize();
  }
  bool refuses = false, underWay = false;
};

/// The MLP compiled once, emulated and for cards, with or without products by cuBLASLt.
struct Images {
  explicit Images(const char *vendor)
      : emulated(compiler.emulated(graph, vendor)), cuda(compiler.ptx(graph, vendor)) {}
  static const Images &with(const std::string &vendor) {
    static Images none("none"), cublaslt("cublaslt");
    return vendor == "none" ? none : cublaslt;
  }
  std::string graph = mlpGraph();
  Compiler compiler;
  codegen::JitImage emulated;
  codegen::CudaImage cuda;
};

/// The MLP on a card.
class DeviceProgram : public testing::Test {
protected:
  void compile(const char *vendor = "none") {
    images = &Images::with(vendor);
    driver.emulate(images->emulated);
    auto found = rt::CudaPlatform::global().device(0);
    ASSERT_TRUE(found.ok()) << found.status().message();
    card = *found;
    rt::CudaImage form{rt::CudaImage::Kind::Ptx, "sm_90",
                       std::as_bytes(std::span(images->cuda.code[0].ptx))};
    auto kernels = rt::loadKernels(*card, {&form, 1}, images->cuda.program, "mlp");
    ASSERT_TRUE(kernels.ok()) << kernels.status().message();
    loaded = *std::move(kernels);
  }
  Running onCard() {
    return {std::make_shared<const rt::Program>(images->cuda.program),
            std::shared_ptr<rt::Device>(std::shared_ptr<void>(), card), loaded.kernels};
  }
  Running onEmulator() {
    const codegen::JitImage &image = images->emulated;
    return {image.program, *rt::EmuDevice::create({.threads = 1}), image.deviceKernels};
  }

  ProcessDriver driver;
  const Images *images = nullptr;
  rt::CudaDevice *card = nullptr;
  rt::CudaKernels loaded;
};

TEST_F(DeviceProgram, TrainsAsOnTheEmulatedCard) {
  compile();
  Running a = onCard(), b = onEmulator();
  auto trainA = a.entry("train"), trainB = b.entry("train");
  auto scoreA = a.entry("score"), scoreB = b.entry("score");
  std::vector<rt::Array> batch = {pixels(8), labels(8)};
  for (int step = 0; step < 4; ++step)
    expectSameBits(a.call(*trainA, batch)[0], b.call(*trainB, batch)[0],
                   "loss of step " + std::to_string(step));
  // Another entry sees the variables that the steps left on the device, at two shapes.
  for (int64_t rows : {3, 8, 3})
    expectSameBits(a.call(*scoreA, {pixels(rows)})[0], b.call(*scoreB, {pixels(rows)})[0],
                   "scores of " + std::to_string(rows));
  for (rt::StoredVariable &variable : a.store)
    expectSameBits(*variable.read(), *b.store.find(variable.name)->read(), variable.name);
}

TEST_F(DeviceProgram, RecordsAStepOnceAndRepeatsIt) {
  compile();
  Running run = onCard();
  auto train = run.entry("train");
  std::vector<rt::Array> batch = {pixels(8), labels(8)};
  (void)run.call(*train, batch);
  EXPECT_EQ(driver.get("graphs"), 0) << "the first run loads kernels, which cannot be recorded";
  (void)run.call(*train, batch);
  EXPECT_EQ(driver.get("graphs"), 1);
  int64_t launches = driver.get("launches");
  (void)run.call(*train, batch);
  EXPECT_EQ(driver.get("graphs"), 1);
  size_t kernels = 0;
  for (const rt::Command &command : train->entry().commands)
    kernels += command.kind == rt::CommandKind::Launch;
  EXPECT_EQ(driver.get("launches") - launches, int64_t(kernels));
}

TEST_F(DeviceProgram, CopiesVariablesWhenTheyChangeAlone) {
  compile();
  Running run = onCard();
  auto score = run.entry("score");
  rt::StoredVariable &bias = *run.store.find("head.bias");
  std::vector<rt::Array> before = run.call(*score, {pixels(2)});
  bias.write()->data<float>()[0] += 1;
  std::vector<rt::Array> after = run.call(*score, {pixels(2)});
  EXPECT_NEAR(after[0].data<float>()[0], before[0].data<float>()[0] + 1, 1e-5);
  EXPECT_EQ(after[0].data<float>()[1], before[0].data<float>()[1]);
}

TEST_F(DeviceProgram, AStepThatFailsLeavesTheCallersArraysAlone) {
  compile();
  const codegen::JitImage &image = images->emulated;
  auto emulated = *rt::EmuDevice::create({.threads = 1, .deferred = true});
  auto refusing = std::make_shared<RefusingDevice>(*emulated);
  Running run(image.program, refusing, image.deviceKernels);
  auto score = run.entry("score");
  refusing->refuses = true;
  auto failed = score->call(std::vector<rt::Array>{pixels(2)});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().message(), "this launch is refused");
  EXPECT_FALSE(refusing->underWay) << "the input is read after its caller has freed it";
  Running other = onEmulator();
  expectSameBits(run.call(*score, {pixels(2)})[0],
                 other.call(*other.entry("score"), {pixels(2)})[0], "scores of the next call");
}

TEST_F(DeviceProgram, ProductsGoToTheLibraryAndAreRecordedWithTheRest) {
  rt::cuda::LibraryFolder folder;
  void *blas = ::dlopen(folder.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(blas) << ::dlerror();
  rt::cuda::connect(blas, driver.function<FakeCudaResolve>("fakeCudaResolve"),
                    driver.function<FakeCudaEnqueue>("fakeCudaEnqueue"));
  compile("none");
  Running generated = onCard();
  auto expected = generated.entry("train");
  std::vector<rt::Array> batch = {pixels(8), labels(8)};
  std::vector<float> losses;
  for (int step = 0; step < 4; ++step)
    losses.push_back(generated.call(*expected, batch)[0].item<float>());

  compile("cublaslt");
  ASSERT_GE(images->cuda.program.libraryCalls.size(), 1u);
  Running run = onCard();
  run.library = std::make_shared<rt::CudaLibraries>(
      *card, rt::CudaLibraryOptions{.searchPath = folder.root.string()});
  auto train = run.entry("train");
  for (int step = 0; step < 4; ++step)
    EXPECT_NEAR(run.call(*train, batch)[0].item<float>(), losses[size_t(step)],
                1e-5 * losses[size_t(step)]);
}

TEST_F(DeviceProgram, WithoutTheLibraryTheErrorNamesTheCommand) {
  compile("cublaslt");
  Running run = onCard();
  rt::Index index = 0;
  while (run.program->entries[size_t(index)].name != "train")
    ++index;
  auto made = rt::Executable::create(run.program, index, {}, run.store, run.pool, nullptr,
                                     {.workspace = nullptr,
                                      .device = run.device,
                                      .deviceKernels = run.kernels,
                                      .deviceLibrary = run.library});
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().message().find("calls a vendor library"), std::string::npos)
      << made.status().message();
}

TEST(DeviceSession, TheDslRunsOnACard) {
  auto affine = [](sn::Tensor x) { return x * 2.0 + 1.0; };
  sn::Options options;
  options.verbose = false;
  std::string graph = [&] {
    sn::Session session{options};
    sn::Package package{session};
    package.add("affine", affine, {{"x", sn::f32, {5}}});
    return package.str();
  }();
  ProcessDriver driver;
  Compiler compiler;
  codegen::JitImage emulated = compiler.emulated(graph);
  driver.emulate(emulated);
  options.set("--sinter-device=cuda:0");
  options.set("--sinter-vendor=none"); // whatever libraries this machine has
  sn::Session session{options};
  auto f = sn::jit(session, affine);
  int64_t launches = driver.get("launches");
  rt::Array y = f(sn::Array::of<float>({1, 2, 3, 4, 5}));
  EXPECT_EQ(y.str(), sn::Array::of<float>({3, 5, 7, 9, 11}).str());
  EXPECT_EQ(driver.get("launches"), launches + 1);
}

} // namespace
} // namespace sinter::test
