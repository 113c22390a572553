// Artifacts for devices through their C interface: the same graph for CUDA cards (on the fake
// driver), for the emulated card and for the CPU.
#include "../aot/aot_support.h"
#include "../aot/tool_support.h"
#include "mlp_cpu.h"
#include "mlp_cuda.h"
#include "mlp_emu.h"
#include "programs.h"

#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <sstream>

namespace sinter::aot {
namespace {

std::string graph() {
  std::stringstream text;
  text << std::ifstream(MLP_PACKAGE).rdbuf();
  return text.str();
}

/// What the CUDA artifact's kernels do on the fake driver.
void emulateKernels() {
  static test::ProcessDriver driver;
  static test::Compiler compiler;
  static codegen::JitImage image = compiler.emulated(graph());
  driver.emulate(image);
}

std::vector<float> losses(Instance &instance, int steps) {
  Tensor<int64_t> label = labels();
  std::vector<float> result;
  for (int step = 0; step < steps; ++step) {
    Tensor<float> x = points(12, step), loss({});
    instance.run("train", {x, label}, {loss});
    result.push_back(loss.values[0]);
  }
  return result;
}

TEST(DeviceArtifact, TrainsTheSameOnCardsAndEmulator) {
  emulateKernels();
  Instance cuda(mlp_cuda_api()), emulated(mlp_emu_api()), cpu(mlp_cpu_api());
  std::vector<float> onCuda = losses(cuda, 10), onCpu = losses(cpu, 10);
  EXPECT_EQ(onCuda, losses(emulated, 10));
  for (size_t i = 0; i < onCpu.size(); ++i)
    EXPECT_NEAR(onCuda[i], onCpu[i], 1e-5 * onCpu[i]);
  EXPECT_LT(onCuda.back(), onCuda.front());
  EXPECT_EQ(cuda.variable("head.weight"), emulated.variable("head.weight"));
}

TEST(DeviceArtifact, ClassifiesAtEverySize) {
  emulateKernels();
  Instance cuda(mlp_cuda_api()), emulated(mlp_emu_api());
  for (int64_t rows : {1, 7, 64, 7}) {
    Tensor<float> x = points(rows), a({rows, 4}), b({rows, 4});
    cuda.run("classify", {x}, {a});
    emulated.run("classify", {x}, {b});
    EXPECT_EQ(a.values, b.values) << rows;
  }
}

TEST(DeviceArtifact, VariablesAreReadAndSetBetweenSteps) {
  emulateKernels();
  const sinter_artifact_api *api = mlp_cuda_api();
  Instance instance(api);
  std::vector<float> before = instance.variable("head.bias");
  (void)losses(instance, 1);
  EXPECT_NE(instance.variable("head.bias"), before);
  Tensor<float> bias({4}, 0.5f);
  sinter_tensor value = bias;
  ASSERT_EQ(api->set_variable(instance, api->find_variable(api, "head.bias"), &value), SINTER_OK);
  EXPECT_EQ(instance.variable("head.bias"), bias.values);
  Folder folder;
  std::string file = folder.file("saved.safetensors");
  std::vector<float> next = losses(instance, 2);
  ASSERT_EQ(api->save(instance, file.c_str()), SINTER_OK) << api->last_error();
  std::vector<float> after = losses(instance, 2);
  ASSERT_EQ(api->load(instance, file.c_str()), SINTER_OK) << api->last_error();
  EXPECT_EQ(losses(instance, 2), after);
  EXPECT_NE(next, after);
}

TEST(DeviceArtifact, TellsWhatItHoldsAndWhereItRuns) {
  emulateKernels();
  const sinter_artifact_api *api = mlp_cuda_api();
  std::string forms;
  for (int32_t i = 0; i < api->variant_count(api); ++i)
    forms += std::string(api->variant(api, i)) + ";";
  expectWords(forms, {"sm_80 PTX", "sm_90 PTX"});
  Instance cuda(api), emulated(mlp_emu_api());
  EXPECT_STREQ(api->isa(cuda), "cuda:0");
  EXPECT_STREQ(mlp_emu_api()->isa(emulated), "emu");
}

/// The error of creating an instance on a device.
std::string refusal(const sinter_artifact_api *api, const char *device, const char *isa = nullptr) {
  sinter_options options = SINTER_OPTIONS_INIT;
  options.device = device;
  options.isa = isa;
  sinter_instance *instance = nullptr;
  EXPECT_NE(api->create(api, &options, &instance), SINTER_OK);
  EXPECT_EQ(instance, nullptr);
  return api->last_error();
}

TEST(DeviceArtifact, RefusesDevicesThatItWasNotMadeFor) {
  emulateKernels();
  expectWords(refusal(mlp_cuda_api(), "emu"), {"mlp_cuda", "'emu'", "CUDA cards", "cuda:0"});
  expectWords(refusal(mlp_cuda_api(), "cuda:7"), {"mlp_cuda", "cuda:7"});
  expectWords(refusal(mlp_cuda_api(), "cuda:x"), {"cuda:x"});
  expectWords(refusal(mlp_cuda_api(), nullptr, "x86-64-v3"), {"device", "x86-64-v3"});
  expectWords(refusal(mlp_emu_api(), "cuda:0"), {"mlp_emu", "emulated card"});
  expectWords(refusal(mlp_cpu_api(), "cuda:0"), {"mlp_cpu", "CPU", "--target=cuda"});
}

TEST(DeviceArtifact, ToolsShowAndRunIt) {
  Outcome inspected = runSinter({"inspect", MLP_CUDA});
  EXPECT_EQ(inspected.exitCode, 0) << inspected.output;
  expectOutput(inspected, {"device code", "sm_80: PTX ISA 7.0", "sm_90: PTX ISA 7.8",
                           "needs a driver for CUDA 11.8", "classify(", "registers", "shared",
                           "spilled", "least bytes", "sinter_k0"});
  if (inspected.output.find("cubin") == std::string::npos)
    GTEST_SKIP() << "no ptxas: registers and spills of a CUDA artifact were not looked at";
}

TEST(DeviceArtifact, ToolsCountWhatKernelsMove) {
  Folder folder;
  std::string library = folder.file("libmlp.so");
  auto compile = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"compile", MLP_PACKAGE, "-o", library, "--name=mlp",
                               "--weights-file", MLP_WEIGHTS, "--weights=embed"});
    return runSinter(more);
  };
  Outcome compiled = compile({"--target=cuda:sm_90", "--count", "--dim=n=48"});
  ASSERT_EQ(compiled.exitCode, 0) << compiled.output;
  Outcome inspected = runSinter({"inspect", library});
  expectOutput(inspected, {"counted bytes", "bytes were counted with n=48"});
  // Every kernel ran, and none moved less than it touched.
  int kernels = 0;
  std::istringstream lines(inspected.output);
  for (std::string line; std::getline(lines, line);) {
    long long bytes = 0;
    double times = 0;
    if (std::sscanf(line.c_str(), "  sinter_k%*s %*s %*s %*s %*s %*s %*s %lld %lfx", &bytes,
                    &times) == 2) {
      ++kernels;
      EXPECT_GT(bytes, 0) << line;
      EXPECT_GE(times, 1) << line;
    }
  }
  EXPECT_GT(kernels, 5) << inspected.output;
  expectRefused(compile({"--target=cuda:sm_90", "--count", "--dim=m=48"}), 1, {"'m'", "dimension"});
  expectRefused(compile({"--target=cuda:sm_90", "--count", "--dim=n=0"}), 1, {"n=0", "bounds"});
  expectRefused(compile({"--target=cuda:sm_90", "--dim=n=48"}), 1, {"--dim", "--count"});
  expectRefused(compile({"--count"}), 1, {"--count", "--target=cuda"});
  expectRefused(compile({"--target=cuda:sm_90", "--vendor=nvidia", "--count"}), 1,
                {"nvidia", "--vendor"});
}

/// Compiles the package as on a machine without the toolkit, into `library`.
void compileWithoutToolkit(const std::string &library) {
  Outcome compiled = aot::run({"/usr/bin/env", "SINTER_PTXAS=none", SINTER_TOOL, "compile",
                               MLP_PACKAGE, "-o", library, "--name=mlp_cuda", "--target=cuda:sm_90",
                               "--weights=embed", "--weights-file", MLP_WEIGHTS});
  EXPECT_EQ(compiled.exitCode, 0) << compiled.output;
  expectOutput(compiled, {"sm_90 (PTX alone: there is no ptxas)", "2 entries"});
}

TEST(DeviceArtifact, WithoutTheToolkitThereIsPtxAlone) {
  emulateKernels();
  Folder folder;
  std::string library = folder.file("libmlp.so");
  compileWithoutToolkit(library);
  void *handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(handle) << ::dlerror();
  auto *open = reinterpret_cast<decltype(&mlp_cuda_api)>(::dlsym(handle, "mlp_cuda_api"));
  const sinter_artifact_api *api = open();
  ASSERT_EQ(api->variant_count(api), 1);
  EXPECT_STREQ(api->variant(api, 0), "sm_90 PTX");
  Instance bare(api), assembled(mlp_cuda_api());
  EXPECT_EQ(losses(bare, 3), losses(assembled, 3));
}

TEST(DeviceArtifact, CheckTellsThatTheToolkitIsAbsent) {
  Outcome check = aot::run(
      {"/usr/bin/env", "-u", "SINTER_CUDA_DRIVER", "SINTER_PTXAS=none", SINTER_TOOL, "check"});
  expectOutput(check, {"--    CUDA toolkit", "PTX alone", "emulated card: within"});
}

TEST(DeviceArtifact, WithoutADriverOneLineSaysSo) {
  Outcome run = aot::run({"/usr/bin/env", "SINTER_CUDA_DRIVER=/nowhere/libcuda.so.1", SINTER_TOOL,
                          "run", MLP_CUDA, "--entry=classify"});
  expectRefused(run, 1, {"mlp_cuda", "driver", "/nowhere/libcuda.so.1"});
}

} // namespace
} // namespace sinter::aot
