// CUDA kernels as the toolkit's assembler sees them: no GPU is needed, and no toolkit for PTX.
#include "sinter/codegen/Cuda.h"
#include "sinter/ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace mlir;
using namespace sinter::codegen;

namespace {

/// A function over f32 tensors and the place where the schedules differ.
struct Graph {
  const char *name, *text;
};

const Graph kGraphs[] = {
    {"pointwise_vectors",
     R"(func.func @f(%x: tensor<128x64xf32>, %b: tensor<64xf32>) -> tensor<128x64xf32> {
      %e = sinter.expand %b : tensor<64xf32> to tensor<128x64xf32>
      %s = sinter.add %x, %e : tensor<128x64xf32>
      %g = sinter.gelu %s : tensor<128x64xf32>
      return %g : tensor<128x64xf32> })"},
    {"pointwise_ragged", R"(func.func @f(%x: tensor<7x13xf32>) -> tensor<7x13xf32> {
      %g = sinter.tanh %x : tensor<7x13xf32>
      return %g : tensor<7x13xf32> })"},
    {"softmax_in_registers", R"(func.func @f(%x: tensor<512x1000xf32>) -> tensor<512x1000xf32> {
      %y = sinter.softmax %x dim 1 : tensor<512x1000xf32>
      return %y : tensor<512x1000xf32> })"},
    {"softmax_in_loops", R"(func.func @f(%x: tensor<8x50000xf32>) -> tensor<8x50000xf32> {
      %y = sinter.softmax %x dim 1 : tensor<8x50000xf32>
      return %y : tensor<8x50000xf32> })"},
    {"columns", R"(func.func @f(%x: tensor<4096x768xf32>) -> tensor<1x768xf32> {
      %y = sinter.sum %x dims [0] keepdim : tensor<4096x768xf32> to tensor<1x768xf32>
      return %y : tensor<1x768xf32> })"},
    {"everything", R"(func.func @f(%x: tensor<1024x1024xf32>) -> tensor<1x1xf32> {
      %y = sinter.sum %x dims [0, 1] keepdim : tensor<1024x1024xf32> to tensor<1x1xf32>
      return %y : tensor<1x1xf32> })"},
    {"matmul",
     R"(func.func @f(%x: tensor<256x784xf32>, %w: tensor<784x256xf32>) -> tensor<256x256xf32> {
      %y = sinter.matmul %x, %w : tensor<256x784xf32>, tensor<784x256xf32> to tensor<256x256xf32>
      %r = sinter.relu %y : tensor<256x256xf32>
      return %r : tensor<256x256xf32> })"},
};

class CudaCompile : public testing::TestWithParam<Graph> {
protected:
  llvm::FailureOr<CudaImage> compile(StringRef text, CudaOptions options) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      message += diagnostic.str();
      return success();
    });
    return compileCuda(*module, options);
  }
  static DialectRegistry dialects() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  MLIRContext context{dialects(), MLIRContext::Threading::DISABLED};
  std::string message;
};

bool hasPtxas() {
  return std::system("PATH=\"$PATH:${CUDA_HOME:-/usr/local/cuda}/bin\" ptxas --version "
                     ">/dev/null 2>&1") == 0;
}

TEST_P(CudaCompile, PtxIsOfTheOldestVersionThatWillDo) {
  auto image = compile(GetParam().text, {.architectures = {"sm_80", "sm_90"}});
  ASSERT_TRUE(succeeded(image)) << message;
  ASSERT_EQ(image->code.size(), 2u);
  EXPECT_NE(image->code[0].ptx.find(".version 7.0\n.target sm_80"), std::string::npos);
  EXPECT_NE(image->code[1].ptx.find(".version 7.8\n.target sm_90"), std::string::npos);
  for (const CudaCode &code : image->code)
    for (const sinter::rt::Kernel &kernel : image->program.kernels) {
      EXPECT_NE(code.ptx.find(".entry " + kernel.symbol), std::string::npos) << kernel.symbol;
      EXPECT_GT(kernel.threads, 0);
    }
}

TEST_P(CudaCompile, NothingSpills) {
  if (!hasPtxas())
    GTEST_SKIP() << "no ptxas: the CUDA toolkit is not installed";
  auto image = compile(GetParam().text, {.architectures = {"sm_80", "sm_90"}});
  ASSERT_TRUE(succeeded(image)) << message;
  for (const CudaCode &code : image->code) {
    EXPECT_FALSE(code.cubin.empty());
    EXPECT_EQ(code.usage.size(), image->program.kernels.size());
    for (const CudaKernelUsage &kernel : code.usage) {
      EXPECT_EQ(kernel.spillStores, 0) << kernel.symbol << " on " << code.architecture;
      EXPECT_EQ(kernel.spillLoads, 0) << kernel.symbol << " on " << code.architecture;
      EXPECT_EQ(kernel.stackBytes, 0) << kernel.symbol << " on " << code.architecture;
      EXPECT_GT(kernel.registers, 0) << kernel.symbol;
    }
  }
}

using CudaScatter = CudaCompile;

TEST_F(CudaScatter, AddsByAtomicsOnlyWhereOrderDoesNotMatter) {
  const char *text = R"(
    func.func @f(%x: tensor<9x4xf32>, %i: tensor<20x4xi64>, %s: tensor<20x4xf32>) -> tensor<9x4xf32> {
      %y = sinter.scatter_add %x, %i, %s dim 0 : (tensor<9x4xf32>, tensor<20x4xi64>, tensor<20x4xf32>) -> tensor<9x4xf32>
      return %y : tensor<9x4xf32> })";
  CudaOptions options{.architectures = {"sm_90"}, .assemble = false};
  auto inOrder = compile(text, options);
  options.compile.deterministic = false;
  auto byAtomics = compile(text, options);
  ASSERT_TRUE(succeeded(inOrder) && succeeded(byAtomics)) << message;
  auto atomics = [](const CudaImage &image) {
    StringRef ptx = image.code[0].ptx;
    return ptx.count("atom.") + ptx.count("red.");
  };
  EXPECT_EQ(atomics(*inOrder), 0u);
  EXPECT_EQ(atomics(*byAtomics), 1u);
}

INSTANTIATE_TEST_SUITE_P(Graphs, CudaCompile, testing::ValuesIn(kGraphs),
                         [](const auto &info) { return info.param.name; });

TEST_F(CudaCompile, AVectorIsOneAccess) {
  auto image = compile(kGraphs[0].text, {.architectures = {"sm_80"}});
  ASSERT_TRUE(succeeded(image)) << message;
  EXPECT_NE(image->code[0].ptx.find("ld.global.v4"), std::string::npos);
  EXPECT_NE(image->code[0].ptx.find("st.global.v4"), std::string::npos);
}

TEST_F(CudaCompile, MistakesSayWhatThereIs) {
  EXPECT_TRUE(failed(compile(kGraphs[0].text, {.architectures = {"sm_61"}})));
  EXPECT_NE(message.find("no CUDA architecture 'sm_61'; there are sm_80, sm_90"), std::string::npos)
      << message;
  message.clear();
  EXPECT_TRUE(
      failed(compile(kGraphs[0].text, {.architectures = {"sm_80"}, .ptxas = "/nowhere/ptxas"})));
  EXPECT_NE(message.find("/nowhere/ptxas"), std::string::npos) << message;
}

} // namespace
