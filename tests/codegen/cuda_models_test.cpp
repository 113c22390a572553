// Every kernel of every model, forward, backward and optimizer, through the toolkit's assembler.
#include "../../models/mnist/models.h"
#include "../frontend/transformer.h"

#include "sinter/codegen/Cuda.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace sn = sinter;
using sn::Tensor;

namespace {

bool hasPtxas() {
  return std::system("PATH=\"$PATH:${CUDA_HOME:-/usr/local/cuda}/bin\" ptxas --version "
                     ">/dev/null 2>&1") == 0;
}

/// The graphs of a training step and of inference over a symbolic batch, as text.
template <class Net> std::string graphs(sn::Port input, sn::Port label, Tensor (*prepare)(Tensor)) {
  sn::Options options;
  options.verbose = false;
  sn::Session session{options};
  Net net{session};
  sn::AdamW optimizer{net.parameters()};
  auto step = sn::jit(session, [&](Tensor x, Tensor y) {
    Tensor scores = net(prepare(x));
    Tensor loss = cross_entropy(reshape(scores, {-1, scores.dim(-1).value()}), y);
    optimizer.minimize(loss);
    return loss;
  });
  sn::Package package{session};
  package.add("train", step, {input, label});
  input.shape = [&] {
    std::vector<sn::Dim> dims(input.shape.begin(), input.shape.end());
    dims[0] = sn::dim("n", 1, 256);
    return sn::Shape(dims);
  }();
  package.add("infer", [&](Tensor x) { return net(prepare(x)); }, {input});
  return package.str();
}

void expectNoSpills(const std::string &text) {
  mlir::DialectRegistry registry;
  sn::codegen::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  auto image = sn::codegen::compileCuda(*module, {.architectures = {"sm_80", "sm_90"}});
  ASSERT_TRUE(succeeded(image));
  EXPECT_TRUE(image->program.libraryCalls.empty());
  for (const sn::codegen::CudaCode &code : image->code) {
    ASSERT_EQ(code.usage.size(), image->program.kernels.size()) << code.architecture;
    int64_t most = 0;
    for (const sn::codegen::CudaKernelUsage &kernel : code.usage) {
      EXPECT_EQ(kernel.spillStores + kernel.spillLoads + kernel.stackBytes, 0)
          << kernel.symbol << " on " << code.architecture << ": " << kernel.registers
          << " registers, " << kernel.stackBytes << " bytes of stack, " << kernel.spillStores
          << " and " << kernel.spillLoads << " spilled and reloaded";
      EXPECT_GT(kernel.registers, 0) << kernel.symbol;
      most = std::max(most, kernel.registers);
    }
    std::printf("[ figure   ] %s: %zu kernels, at most %lld registers\n", code.architecture.c_str(),
                code.usage.size(), static_cast<long long>(most));
  }
}

Tensor asIs(Tensor x) { return x; }

template <class Net> void checkDigits() {
  expectNoSpills(
      graphs<Net>({"image", sn::u8, {64, 1, 28, 28}}, {"label", sn::i64, {64}}, mnist::normalise));
}

class CudaModels : public testing::Test {
  void SetUp() override {
    if (!hasPtxas())
      GTEST_SKIP() << "no ptxas: the CUDA toolkit is not installed";
  }
};

TEST_F(CudaModels, Mlp) { checkDigits<mnist::Mlp>(); }
TEST_F(CudaModels, Cnn) { checkDigits<mnist::Cnn>(); }
TEST_F(CudaModels, Transformer) {
  using sn::testing::Transformer;
  expectNoSpills(graphs<Transformer>({"tokens", sn::i64, {8, Transformer::kLength}},
                                     {"label", sn::i64, {8 * Transformer::kLength}}, asIs));
}

} // namespace
