#include "kernel_quality.h"

#include "sinter/base/error.h"
#include "sinter/codegen/Cuda.h"
#include "sinter/core/executable.h"
#include "sinter/emu/device.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <map>

namespace bench {
namespace {

namespace rt = sinter::rt;
namespace codegen = sinter::codegen;

template <class T> T valueOf(sinter::StatusOr<T> result) {
  if (!result.ok())
    throw sinter::Error(result.status().message());
  return *std::move(result);
}
void check(const sinter::Status &status) {
  if (!status.ok())
    throw sinter::Error(status.message());
}

/// The compiler's context with the errors it reported.
class Compiler {
public:
  Compiler()
      : context(dialects(), mlir::MLIRContext::Threading::DISABLED),
        handler(&context, [this](mlir::Diagnostic &diagnostic) {
          message += (message.empty() ? "" : "; ") + diagnostic.str();
          return mlir::success();
        }) {}

  mlir::OwningOpRef<mlir::ModuleOp> parse(const KernelCase &what) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(what.graph, &context);
    if (!module)
      fail(what);
    return module;
  }
  template <class T> T take(llvm::FailureOr<T> result, const KernelCase &what) {
    if (failed(result))
      fail(what);
    return *std::move(result);
  }

private:
  static mlir::DialectRegistry dialects() {
    mlir::DialectRegistry registry;
    codegen::registerDialects(registry);
    return registry;
  }
  [[noreturn]] void fail(const KernelCase &what) {
    throw sinter::Error("'" + what.name + "' could not be compiled: " + message);
  }

  mlir::MLIRContext context;
  std::string message;
  mlir::ScopedDiagnosticHandler handler;
};

template <class T> void fillIntegers(const rt::Array &array, int64_t limit) {
  constexpr int64_t kPrime = 7919; // so that neighbours are not neighbours
  T *data = static_cast<T *>(array.data());
  for (int64_t i = 0; i < array.elements(); ++i)
    data[i] = T(i * kPrime % limit);
}

rt::Array inputFor(const rt::Program &program, const rt::Port &port, int64_t limit) {
  rt::Dims dims;
  for (rt::Index dim : port.dims)
    dims.push_back(program.exprs[size_t(dim)].a);
  rt::Array array = rt::Array::zeros(port.dtype, dims);
  if (port.dtype == sinter::DType::I64)
    fillIntegers<int64_t>(array, limit);
  if (port.dtype == sinter::DType::U8)
    fillIntegers<uint8_t>(array, limit);
  if (port.dtype == sinter::DType::F32)
    for (int64_t i = 0; i < array.elements(); ++i)
      array.data<float>()[i] = float(i % 17) / 16 - 0.5f;
  return array;
}

std::vector<rt::KernelCounts> count(const KernelCase &what, const codegen::JitImage &image) {
  const rt::Program &program = *image.program;
  std::shared_ptr<rt::EmuDevice> device =
      valueOf(rt::EmuDevice::create({.count = true, .keptBytes = kKeptBytes}));
  rt::VariableStore variables;
  check(variables.addAll(program));
  rt::ThreadPool pool(1);
  rt::Executable::Options options;
  options.device = rt::DeviceVariables::create(device);
  options.deviceKernels = image.deviceKernels;
  auto executable = valueOf(rt::Executable::create(image.program, 0, image.kernels, variables, pool,
                                                   nullptr, std::move(options)));
  std::vector<rt::Array> inputs;
  for (const rt::Port &port : program.entries[0].inputs)
    inputs.push_back(inputFor(program, port, what.indexLimit));
  valueOf(executable->call(inputs));
  return device->counts();
}

/// What the first command that launches it calls each kernel.
std::map<std::string, std::string> commandNames(const rt::Program &program) {
  std::map<std::string, std::string> names;
  for (const rt::Command &command : program.entries[0].commands)
    if (command.kind == rt::CommandKind::Launch && command.name != rt::kNone)
      names.try_emplace(program.kernels[size_t(command.target)].symbol,
                        program.strings[size_t(command.name)]);
  return names;
}

/// Bytes of stack and spills by kernel; none without an assembler.
std::optional<std::map<std::string, int64_t>> spills(const KernelCase &what) {
  Compiler compiler;
  auto module = compiler.parse(what);
  auto image =
      compiler.take(codegen::compileCuda(*module, {.architectures = {"sm_80", "sm_90"}}), what);
  std::map<std::string, int64_t> result;
  for (const codegen::CudaCode &code : image.code) {
    if (code.usage.empty())
      return std::nullopt;
    for (const codegen::CudaKernelUsage &kernel : code.usage) {
      int64_t &most = result[kernel.symbol];
      most = std::max(most, kernel.stackBytes + kernel.spillStores + kernel.spillLoads);
    }
  }
  return result;
}

} // namespace

std::vector<KernelFigures> measure(const KernelCase &what, bool assembled) {
  Compiler compiler;
  auto module = compiler.parse(what);
  codegen::CompileOptions options;
  options.device = "emu";
  options.instrument = true;
  options.vendor = "none";
  auto image = compiler.take(codegen::compile(*module, options), what);
  std::map<std::string, std::string> names = commandNames(*image.program);
  auto spilled = assembled ? spills(what) : std::nullopt;
  std::vector<KernelFigures> figures;
  for (rt::KernelCounts &counts : count(what, image)) {
    KernelFigures kernel;
    kernel.name = what.name + ":" + names[counts.kernel] + ":" + counts.kernel;
    kernel.seconds = rt::roofline(counts, *rt::findCard("h200")).seconds;
    if (spilled)
      kernel.spills = spilled->at(counts.kernel);
    kernel.counts = std::move(counts);
    figures.push_back(std::move(kernel));
  }
  return figures;
}

} // namespace bench
