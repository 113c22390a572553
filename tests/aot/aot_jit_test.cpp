// An artifact computes what the JIT computes, bit for bit, on every instruction set of this CPU.
#include "aot_support.h"
#include "mlp.h"
#include "mlp_onednn.h"

#include "sinter/codegen/Compile.h"
#include "sinter/core/executable.h"
#include "sinter/core/isa.h"
#include "sinter/core/weights.h"

#include "mlir/Parser/Parser.h"

namespace sinter::aot {
namespace {

constexpr int kSteps = 200;

struct Losses {
  std::vector<float> losses, weight;
  bool operator==(const Losses &) const = default;
};

Losses byArtifact(const sinter_artifact_api *api, const std::string &isa) {
  Instance instance(api, 2, isa.c_str());
  EXPECT_EQ(api->isa(instance), isa);
  Losses result;
  Tensor<int64_t> label = labels();
  for (int step = 0; step < kSteps; ++step) {
    Tensor<float> x = points(12, step), loss({});
    instance.run("train", {x, label}, {loss});
    result.losses.push_back(loss.values[0]);
  }
  result.weight = instance.variable("hidden.weight");
  return result;
}

void loadWeights(const rt::Program &program, rt::VariableStore &variables) {
  ASSERT_TRUE(variables.addAll(program).ok());
  auto weights = rt::readSafetensors(MLP_WEIGHTS);
  ASSERT_TRUE(weights.ok()) << weights.status().message();
  auto fitting = rt::fitWeights(program.variables, *weights, MLP_WEIGHTS);
  ASSERT_TRUE(fitting.ok()) << fitting.status().message();
  for (const rt::TensorView *tensor : *fitting)
    variables.find(tensor->name)->storage().copyFrom(tensor->data, tensor->bytes);
}

Losses byJit(const std::string &isa, const std::string &vendor) {
  mlir::DialectRegistry dialects;
  codegen::registerDialects(dialects);
  mlir::MLIRContext context(dialects);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(MLP_PACKAGE, &context);
  Losses result;
  codegen::CompileOptions options;
  options.isa = isa;
  options.vendor = vendor;
  auto image = module ? codegen::compile(*module, options)
                      : llvm::FailureOr<codegen::JitImage>(mlir::failure());
  if (failed(image)) {
    ADD_FAILURE() << "the JIT refuses the package";
    return result;
  }
  rt::VariableStore variables;
  loadWeights(*image->program, variables);
  rt::Index entry = 0;
  while (image->program->entries[size_t(entry)].name != "train")
    ++entry;
  rt::ThreadPool pool(1);
  auto step = rt::Executable::create(image->program, entry, image->kernels, variables, pool,
                                     vendor == "onednn" ? rt::vendorLibrary() : nullptr);
  EXPECT_TRUE(step.ok()) << step.status().message();
  Tensor<int64_t> label = labels();
  for (int i = 0; i < kSteps && step.ok(); ++i) {
    Tensor<float> x = points(12, i);
    rt::Array inputs[] = {rt::Array::borrow(x.values.data(), DType::F32, x.dims),
                          rt::Array::borrow(label.values.data(), DType::I64, label.dims)};
    auto loss = (*step)->call(inputs);
    EXPECT_TRUE(loss.ok()) << loss.status().message();
    result.losses.push_back(loss.ok() ? (*loss)[0].item<float>() : 0);
  }
  auto weight = variables.find("hidden.weight")->storage().values<float>();
  result.weight.assign(weight.begin(), weight.end());
  return result;
}

TEST(AotJit, TheSameBitsOverTwoHundredSteps) {
  int compared = 0;
  for (std::string_view isa : rt::isaNames()) {
    if (!rt::missingForIsa(isa).empty())
      continue;
    EXPECT_EQ(byArtifact(mlp_api(), std::string(isa)), byJit(std::string(isa), "none")) << isa;
    EXPECT_EQ(byArtifact(mlp_onednn_api(), std::string(isa)), byJit(std::string(isa), "onednn"))
        << isa;
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

} // namespace
} // namespace sinter::aot
