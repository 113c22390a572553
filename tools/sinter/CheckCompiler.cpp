// The compiler's part of `sinter check`.
#include "CheckLine.h"
#include "Cli.h"
#include "Compile.h"
#include "Package.h"
#include "sinter/base/text.h"
#include "sinter/codegen/Cuda.h"
#include "sinter/core/executable.h"
#include "sinter/core/isa.h"
#include "sinter/cuda/platform.h"
#include "sinter/emu/device.h"
#include "sinter/ir/Reference.h"
#include "sinter/passes/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/Config/llvm-config.h"

#include <cmath>
#include <functional>

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

/// Where a step is tried, and what it is compiled to there.
struct Place {
  std::string name;
  const rt::LibraryProvider *library = nullptr;
  /// The program, its kernels in the place and what keeps them.
  struct Loaded {
    std::shared_ptr<const rt::Program> program;
    std::vector<sinter_kernel> kernels;
    rt::Executable::Options options;
    std::shared_ptr<void> code;
  };
  std::function<StatusOr<Loaded>(mlir::ModuleOp)> load = {};
};

StatusOr<Result> compiledStep(mlir::MLIRContext &context, const Place &place) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kStep, &context);
  if (!module)
    return Status(Code::Internal, "the step is refused");
  StatusOr<Place::Loaded> loaded = place.load(*module);
  SINTER_RETURN_IF_ERROR(loaded.status());
  rt::VariableStore variables;
  SINTER_RETURN_IF_ERROR(variables.addAll(*loaded->program));
  auto fill = [](const rt::Array &array, int salt) {
    for (int64_t i = 0; i < array.elements(); ++i)
      array.data<float>()[i] = sample(i, salt);
    return array;
  };
  rt::StoredVariable &weight = *variables.find("weight");
  (void)fill(weight.storage(), 3);
  rt::ThreadPool pool(0);
  auto step = rt::Executable::create(loaded->program, 0, loaded->kernels, variables, pool,
                                     place.library, loaded->options);
  SINTER_RETURN_IF_ERROR(step.status());
  rt::Array inputs[] = {fill(rt::Array::empty(DType::F32, {kRows, kIn}), 1),
                        fill(rt::Array::empty(DType::F32, {kRows, kOut}), 2)};
  auto loss = (*step)->call(inputs);
  SINTER_RETURN_IF_ERROR(loss.status());
  Result result = {loss->front().item<double>()};
  StatusOr<rt::Array> trained = weight.read();
  SINTER_RETURN_IF_ERROR(trained.status());
  for (float value : trained->values<float>())
    result.push_back(value);
  return result;
}

/// Whose reason is the diagnostic.
Status notCompiled() {
  return Status(Code::Internal,
                "the step is not compiled; build sinter anew with the LLVM it names above");
}

Place processor(std::string_view isa, const std::string &vendor) {
  Place place{concat(isa, vendor == "none" ? "" : " with " + vendor)};
  place.library = vendor == "onednn" ? rt::vendorLibrary() : nullptr;
  place.load = [isa, vendor](mlir::ModuleOp module) -> StatusOr<Place::Loaded> {
    codegen::CompileOptions options;
    options.isa = isa;
    options.vendor = vendor;
    auto image = codegen::compile(module, options);
    if (failed(image))
      return notCompiled();
    return Place::Loaded{image->program, image->kernels, {}, image->code};
  };
  return place;
}

Place emulatedCard() {
  Place place{"emulated card"};
  place.load = [](mlir::ModuleOp module) -> StatusOr<Place::Loaded> {
    codegen::CompileOptions options;
    options.device = "emu";
    auto image = codegen::compile(module, options);
    if (failed(image))
      return notCompiled();
    auto device = rt::EmuDevice::create();
    SINTER_RETURN_IF_ERROR(device.status());
    Place::Loaded loaded{image->program, {}, {}, image->code};
    loaded.options.device = rt::DeviceVariables::create(*std::move(device));
    loaded.options.deviceKernels = image->deviceKernels;
    return loaded;
  };
  return place;
}

Place card(int index) {
  Place place{concat("cuda:", index)};
  place.load = [index](mlir::ModuleOp module) -> StatusOr<Place::Loaded> {
    auto device = rt::CudaPlatform::global().device(index);
    SINTER_RETURN_IF_ERROR(device.status());
    std::string architecture = codegen::architectureFor((*device)->card().capability);
    if (architecture.empty())
      return Status(Code::Unsupported, "the card is older than sm_80, which sinter needs");
    codegen::CompileOptions options;
    options.vendor = "none";
    auto image = codegen::compileCuda(
        module, {.architectures = {architecture}, .assemble = false, .compile = options});
    if (failed(image))
      return notCompiled();
    const std::string &ptx = image->code.front().ptx;
    rt::CudaImage form{rt::CudaImage::Kind::Ptx, architecture,
                       std::as_bytes(std::span(ptx.data(), ptx.size()))};
    auto kernels = rt::loadKernels(**device, {&form, 1}, image->program, "step");
    SINTER_RETURN_IF_ERROR(kernels.status());
    Place::Loaded loaded{
        std::make_shared<const rt::Program>(std::move(image->program)), {}, {}, kernels->code};
    loaded.options.deviceKernels = std::move(kernels->kernels);
    loaded.options.device = rt::DeviceVariables::create(
        std::shared_ptr<rt::Device>(std::shared_ptr<void>(), *device)); // the platform's
    return loaded;
  };
  return place;
}

double difference(const Result &a, const Result &b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i)
    largest = std::isfinite(b[i]) ? std::max(largest, std::abs(a[i] - b[i])) : HUGE_VAL;
  return largest;
}

void checkStep(Checks &checks, mlir::MLIRContext &context, Diagnostics &diagnostics,
               const Result &expected, const Place &place) {
  auto got = compiledStep(context, place);
  if (!got.ok())
    return checks.fail("training step",
                       concat(place.name, ": ", diagnostics.take(got.status().message())));
  double error = difference(expected, *got);
  if (error <= kTolerance)
    checks.pass("training step", concat(place.name, ": within ", error, " of the reference"));
  else
    checks.fail("training step", concat(place.name, ": ", error,
                                        " off the reference; report it with "
                                        "the lines above"));
}

std::vector<Place> allPlaces() {
  std::vector<Place> places;
  for (std::string_view isa : rt::isaNames())
    if (rt::missingForIsa(isa).empty())
      for (const char *vendor : {"onednn", "none"})
        places.push_back(processor(isa, vendor));
  places.push_back(emulatedCard());
  auto cards = rt::CudaPlatform::global().deviceCount();
  for (int i = 0; cards.ok() && i < *cards; ++i) // `sinter check` tells why there is none
    places.push_back(card(i));
  return places;
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
  if (std::string toolkit = codegen::describeToolkit(); !toolkit.empty())
    checks.pass("CUDA toolkit", toolkit);
  else
    checks.note("CUDA toolkit",
                "no ptxas in CUDA_HOME, PATH or /usr/local/cuda: artifacts for CUDA "
                "hold PTX alone, which the driver assembles when it loads them");
  if (expected.ok())
    for (const Place &place : allPlaces())
      checkStep(checks, context, diagnostics, *expected, place);
  return checks.failed() ? kFailure : kSuccess;
}

} // namespace sinter::tools
