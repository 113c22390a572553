#include "Compiled.h"

#include "cpu/Lowering.h"
#include "emulator/Emulate.h"
#include "jit/Jit.h"
#include "session/Backend.h"
#include "session/State.h"
#include "sinter/abi/emu.h"
#include "sinter/base/error.h"
#include "sinter/codegen/Cuda.h"
#include "sinter/core/executable.h"
#include "sinter/data.h"
#include "sinter/emu/device.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"

namespace sinter::mutation {

static rt::Array copyOf(const rt::Array &array) {
  rt::Array copy = rt::Array::empty(array.dtype(), array.dims());
  copy.copyFrom(array.data(), size_t(array.bytes()));
  return copy;
}

StatusOr<RecordedStep::Results> RecordedStep::run(rt::Device &device) const {
  rt::VariableStore store;
  SINTER_RETURN_IF_ERROR(store.addAll(*program));
  for (const auto &[name, value] : variables)
    store.find(name)->storage().copyFrom(value.data(), size_t(value.bytes()));
  rt::Executable::Options options;
  options.device = rt::DeviceVariables::create(
      std::shared_ptr<rt::Device>(std::shared_ptr<void>(), &device)); // the caller's
  options.deviceKernels = kernels;
  rt::ThreadPool pool(1);
  auto executable = rt::Executable::create(program, entry, {}, store, pool, nullptr, options);
  if (!executable.ok())
    return executable.status();
  auto outputs = (*executable)->call(inputs);
  if (!outputs.ok())
    return outputs.status();
  Results results;
  for (const rt::Array &output : *outputs) // as they are now: to read a variable waits
    results.outputs.push_back(copyOf(output));
  for (rt::StoredVariable &variable : store) {
    StatusOr<rt::Array> value = variable.read();
    if (!value.ok())
      return value.status();
    results.variables[variable.name] = copyOf(*value);
  }
  return results;
}

/// Compiles the kernels of the step for the emulated device.
static void load(RecordedStep &step) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(step.ir, diagnostic, context);
  if (!module)
    throw Error("the kernels' own IR does not parse: " + diagnostic.getMessage().str());
  auto emulated = codegen::emulate(*module, {});
  if (!emulated)
    throw Error(llvm::toString(emulated.takeError()));
  auto object = codegen::emitObject(*module, *codegen::findIsa(codegen::hostIsa()));
  if (failed(object))
    throw Error("no machine code for the emulated kernels");
  std::vector<std::string> symbols;
  for (const rt::Kernel &kernel : step.program->kernels)
    symbols.push_back(SINTER_EMU_PREFIX + kernel.symbol);
  auto loaded = codegen::loadObject(*object, symbols);
  if (!loaded)
    throw Error(llvm::toString(loaded.takeError()));
  for (auto [address, kernel] : llvm::zip_equal(loaded->addresses, step.program->kernels))
    step.kernels.push_back({address, kernel.symbol});
  step.code = std::move(loaded->code);
}

/// Recorded buffers know no types; those of the first command of their kernel do.
static void setTypes(RecordedStep &step) {
  const rt::Entry &entry = step.program->entries[step.entry];
  for (RecordedLaunch &launch : step.launches)
    for (const rt::Command &command : entry.commands) {
      if (command.kind != rt::CommandKind::Launch ||
          step.program->kernels[command.target].symbol != launch.kernel)
        continue;
      for (size_t i = 0; i < launch.buffers.size(); ++i)
        launch.buffers[i].dtype = entry.buffers[command.buffers[i]].dtype;
      break;
    }
}

namespace {

class RecordingRunnable : public detail::Runnable {
public:
  RecordingRunnable(detail::SessionState &session, RecordedStep &step)
      : session(session), step(step) {}

  std::vector<rt::Array> run(std::span<const rt::Array> inputs) override {
    for (const rt::Array &input : inputs)
      step.inputs.push_back(copyOf(input));
    for (const rt::Variable &variable : step.program->variables)
      if (const rt::StoredVariable *stored = session.store.find(variable.name))
        step.variables[variable.name] = copyOf(stored->storage());
    auto emulator = rt::EmuDevice::create({.threads = 1});
    data::check(emulator.status());
    RecordingDevice device(**emulator);
    auto results = step.run(device);
    data::check(results.status());
    step.launches = std::move(device.launches);
    setTypes(step);
    return std::move(results->outputs);
  }

private:
  detail::SessionState &session;
  RecordedStep &step;
};

class RecordingBackend : public detail::Backend {
public:
  RecordingBackend(detail::SessionState &session, RecordedStep &step)
      : session(session), step(step) {
    mlir::DialectRegistry registry;
    codegen::registerDialects(registry);
    session.context.appendDialectRegistry(registry);
  }

  std::shared_ptr<detail::Runnable> compile(mlir::ModuleOp module,
                                            const std::string &entry) override {
    if (step.program)
      throw Error("one session records one function; '" + entry + "' is another");
    codegen::CudaOptions options;
    options.architectures = {"sm_90"};
    auto image = codegen::compileCuda(module, options);
    if (failed(image))
      throw Error("'" + entry + "' could not be compiled for CUDA");
    step.program = std::make_shared<const rt::Program>(std::move(image->program));
    if (!step.program->symbols.empty())
      throw Error("'" + entry + "' has symbolic dimensions; proofs need fixed ones");
    while (step.program->entries[step.entry].name != entry)
      ++step.entry;
    step.ir = std::move(image->code.front().ir);
    load(step);
    return std::make_shared<RecordingRunnable>(session, step);
  }

private:
  detail::SessionState &session;
  RecordedStep &step;
};

} // namespace

void recordNext(Session &session, RecordedStep &step) {
  session.state()->backend = std::make_unique<RecordingBackend>(*session.state(), step);
}

} // namespace sinter::mutation
