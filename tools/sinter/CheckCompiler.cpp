// The compiler's part of `sinter check`.
#include "CheckLine.h"
#include "Cli.h"
#include "Compile.h"
#include "Package.h"
#include "sinter/base/text.h"
#include "sinter/core/executable.h"
#include "sinter/core/isa.h"
#include "sinter/ir/Reference.h"
#include "sinter/passes/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/Config/llvm-config.h"

#include <cmath>

namespace sinter::tools {
namespace {

constexpr const char *kStep = R"(
sinter.variable trainable @weight : tensor<5x7xf32>
func.func @step(%x: tensor<6x7xf32>, %target: tensor<6x5xf32>) -> tensor<f32> {
  %weight = sinter.read @weight : tensor<5x7xf32>
  %0 = sinter.linear %x, %weight : (tensor<6x7xf32>, tensor<5x7xf32>) -> tensor<6x5xf32>
  %1 = sinter.tanh %0 : tensor<6x5xf32>
  %2 = sinter.sub %1, %target : tensor<6x5xf32>
  %3 = sinter.mul %2, %2 : tensor<6x5xf32>
  %loss = sinter.mean %3 dims [0, 1] : tensor<6x5xf32> to tensor<f32>
  %gradient = sinter.gradients %loss wrt %weight : (tensor<f32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  %rate = sinter.full 0.1 : f32 : tensor<5x7xf32>
  %4 = sinter.mul %gradient, %rate : tensor<5x7xf32>
  %5 = sinter.sub %weight, %4 : tensor<5x7xf32>
  sinter.assign @weight, %5 : tensor<5x7xf32>
  return %loss : tensor<f32>
}
)";
constexpr int64_t kRows = 6, kIn = 7, kOut = 5;
constexpr double kTolerance = 1e-6;

/// Some number of about 1 for element `i`, another one for each `salt`.
float sample(int64_t i, int salt) { return float(std::sin(double(i * 7 + salt))); }

/// What a step leaves: the loss and the weight.
using Result = std::vector<double>;

StatusOr<Result> referenceStep(mlir::MLIRContext &context) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kStep, &context);
  mlir::PassManager manager(&context);
  manager.nest<mlir::func::FuncOp>().addPass(passes::createGradientPass());
  if (!module || failed(manager.run(*module)))
    return Status(Code::Internal, "the step is refused");
  mlir::Type f32 = mlir::Float32Type::get(&context);
  auto filled = [&](llvm::ArrayRef<int64_t> dims, int salt) {
    ir::ReferenceTensor tensor(dims, f32);
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.set(i, sample(i, salt));
    return tensor;
  };
  ir::Interpreter interpreter;
  interpreter.variables["weight"] = filled({kOut, kIn}, 3);
  auto loss = interpreter.run(module->lookupSymbol("step"),
                              {filled({kRows, kIn}, 1), filled({kRows, kOut}, 2)});
  if (failed(loss))
    return Status(Code::Internal, "the reference refuses the step");
  Result result = {loss->front().real(0)};
  const ir::ReferenceTensor &weight = interpreter.variables["weight"];
  for (int64_t i = 0; i < weight.size(); ++i)
    result.push_back(weight.real(i));
  return result;
}

StatusOr<Result> compiledStep(mlir::MLIRContext &context, std::string_view isa,
                              const std::string &vendor) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kStep, &context);
  if (!module)
    return Status(Code::Internal, "the step is refused");
  codegen::CompileOptions options;
  options.isa = isa;
  options.vendor = vendor;
  auto image = codegen::compile(*module, options);
  if (failed(image))
    return Status(Code::Internal, "the step is not compiled");
  rt::VariableStore variables;
  SINTER_RETURN_IF_ERROR(variables.addAll(*image->program));
  auto fill = [](const rt::Array &array, int salt) {
    for (int64_t i = 0; i < array.elements(); ++i)
      array.data<float>()[i] = sample(i, salt);
    return array;
  };
  rt::Array weight = fill(variables.find("weight")->value, 3);
  rt::ThreadPool pool(0);
  auto step = rt::Executable::create(image->program, 0, image->kernels, variables, pool,
                                     vendor == "onednn" ? rt::vendorLibrary() : nullptr);
  SINTER_RETURN_IF_ERROR(step.status());
  rt::Array inputs[] = {fill(rt::Array::empty(DType::F32, {kRows, kIn}), 1),
                        fill(rt::Array::empty(DType::F32, {kRows, kOut}), 2)};
  auto loss = (*step)->call(inputs);
  SINTER_RETURN_IF_ERROR(loss.status());
  Result result = {loss->front().item<double>()};
  for (float value : weight.values<float>())
    result.push_back(value);
  return result;
}

double difference(const Result &a, const Result &b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i)
    largest = std::isfinite(b[i]) ? std::max(largest, std::abs(a[i] - b[i])) : HUGE_VAL;
  return largest;
}

void checkStep(Checks &checks, mlir::MLIRContext &context, Diagnostics &diagnostics,
               const Result &expected, std::string_view isa, const std::string &vendor) {
  std::string where = concat(isa, vendor == "none" ? "" : " with " + vendor);
  auto got = compiledStep(context, isa, vendor);
  if (!got.ok())
    return checks.fail("training step",
                       concat(where, ": ", diagnostics.take(got.status().message()),
                              "; build sinter anew with the LLVM it names above"));
  double error = difference(expected, *got);
  if (error <= kTolerance)
    checks.pass("training step", concat(where, ": within ", error, " of the reference"));
  else
    checks.fail("training step", concat(where, ": ", error,
                                        " off the reference; report it with "
                                        "the lines above"));
}

} // namespace

int checkCompilerMain(int argc, char **argv) {
  CLI::App app("Trains a step with compiled code and with the reference.", "sinter-compile check");
  if (auto status = parse(app, argc, argv))
    return *status;
  Checks checks;
  checks.pass("compiler", "LLVM and MLIR " LLVM_VERSION_STRING);
  mlir::DialectRegistry dialects;
  codegen::registerDialects(dialects);
  mlir::MLIRContext context(dialects);
  Diagnostics diagnostics(context);
  auto expected = referenceStep(context);
  if (!expected.ok())
    checks.fail("training step", diagnostics.take(expected.status().message()));
  for (std::string_view isa : rt::isaNames())
    if (expected.ok() && rt::missingForIsa(isa).empty())
      for (const char *vendor : {"onednn", "none"})
        checkStep(checks, context, diagnostics, *expected, isa, vendor);
  return checks.failed() ? kFailure : kSuccess;
}

} // namespace sinter::tools
