// The backend of every session: codegen's compiler and the runtime's executor.
#include "session/State.h"
#include "session/Weights.h"
#include "sinter/base/error.h"
#include "sinter/codegen/Compile.h"
#include "sinter/core/executable.h"
#include "sinter/core/npy.h"
#include "sinter/emu/device.h"
#include "tracing/Types.h"

#include "mlir/IR/Diagnostics.h"

#include <cstdio>

namespace sinter::detail {

namespace {

class JitRunnable : public Runnable {
public:
  JitRunnable(std::unique_ptr<rt::Executable> executable, std::shared_ptr<void> code,
              std::shared_ptr<rt::Device> device)
      : device(std::move(device)), code(std::move(code)), executable(std::move(executable)) {}

  std::vector<rt::Array> run(std::span<const rt::Array> inputs) override {
    StatusOr<std::vector<rt::Array>> results = executable->call(inputs);
    check(results.status());
    return std::move(*results);
  }

private:
  std::shared_ptr<rt::Device> device; ///< outlives the executable, as does the machine code
  std::shared_ptr<void> code;
  std::unique_ptr<rt::Executable> executable;
};

class JitBackend : public Backend {
public:
  explicit JitBackend(SessionState &session)
      : session(session), pool(session.options.threads),
        workspace(std::make_shared<rt::Workspace>()) {
    mlir::DialectRegistry registry;
    codegen::registerDialects(registry);
    session.context.appendDialectRegistry(registry);
    const Options &options = session.options;
    if (options.device == "emu")
      device = makeEmulator(options);
    else if (!options.emu.empty())
      throw Error("--sinter-emu=" + options.emu + " needs --sinter-device=emu, not " +
                  options.device);
  }

  std::shared_ptr<Runnable> compile(mlir::ModuleOp module, const std::string &entry) override;
  std::string profile() const override;
  void writeTrace(const std::string &path) const override { check(profiler.writeTrace(path)); }

private:
  rt::Hooks hooks();
  static std::shared_ptr<rt::EmuDevice> makeEmulator(const Options &options);

  SessionState &session;
  rt::ThreadPool pool;
  std::shared_ptr<rt::Workspace> workspace; ///< one for all: they run one at a time
  rt::Profiler profiler;
  std::shared_ptr<rt::EmuDevice> device; ///< null: steps run on the CPU
};

std::shared_ptr<rt::EmuDevice> JitBackend::makeEmulator(const Options &options) {
  rt::EmuOptions emulation;
  emulation.threads = options.threads;
  emulation.check = options.emu == "check";
  emulation.count = options.emu == "count";
  auto made = rt::EmuDevice::create(emulation);
  check(made.status());
  return *std::move(made);
}

std::string JitBackend::profile() const {
  std::string report = session.options.profile.empty() ? "" : profiler.report();
  if (device && session.options.emu == "count")
    report += rt::formatCounts(device->counts(), *rt::findCard(session.options.card));
  return report;
}

/// Saves what a failed numerics check shows, for a look at it in NumPy.
std::string saveFailure(const rt::NumericsFailure &failure) {
  std::string saved;
  auto save = [&](const std::string &file, const rt::Array &array) {
    if (array && rt::writeNpy(file, viewOf({}, array)).ok())
      saved += (saved.empty() ? "saved " : ", ") + file;
  };
  for (size_t i = 0; i < failure.inputs.size(); ++i)
    save(text("sinter-numerics-input", i, ".npy"), failure.inputs[i]);
  save("sinter-numerics-output.npy", failure.output);
  return saved;
}

rt::Hooks JitBackend::hooks() {
  rt::Hooks result;
  if (!session.options.profile.empty())
    result.profiler = &profiler;
  result.checkNumerics = session.options.checkNumerics;
  result.onNumericsFailure = saveFailure;
  result.probe = [this](const rt::CommandInfo &command, const rt::Array &value) {
    if (session.probe)
      return session.probe(command.name, value);
    std::fprintf(stderr, "%.*s: %.*s = %s\n%s\n", int(command.location.size()),
                 command.location.data(), int(command.name.size()), command.name.data(),
                 value.type().c_str(), value.str().c_str());
  };
  return result;
}

std::shared_ptr<Runnable> JitBackend::compile(mlir::ModuleOp module, const std::string &entry) {
  codegen::CompileOptions options;
  options.device = session.options.device;
  options.instrument = !session.options.emu.empty();
  options.vendor = session.options.vendor;
  options.fuse = session.options.fuse;
  options.dumpIr = session.options.dumpIr;
  options.printFusion = session.options.printFusion;
  std::string message;
  llvm::FailureOr<codegen::JitImage> image = [&] {
    mlir::ScopedDiagnosticHandler handler(&session.context, [&](mlir::Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
        return mlir::failure();
      message += (message.empty() ? "" : "; ") + diagnostic.str();
      return mlir::success();
    });
    return codegen::compile(module, options);
  }();
  if (failed(image))
    throw Error("'" + entry + "' could not be compiled: " + message);
  const std::vector<rt::Entry> &entries = image->program->entries;
  rt::Index index = 0;
  while (size_t(index) < entries.size() && entries[size_t(index)].name != entry)
    ++index;
  check(session.store.addAll(*image->program));
  rt::Executable::Options execution;
  execution.workspace = workspace;
  execution.device = device.get();
  for (size_t i = 0; i < image->deviceKernels.size(); ++i)
    execution.deviceKernels.push_back({image->deviceKernels[i], image->program->kernels[i].symbol});
  const rt::LibraryProvider *library =
      session.options.vendor == "none" ? nullptr : rt::vendorLibrary();
  auto executable = rt::Executable::create(image->program, index, image->kernels, session.store,
                                           pool, library, execution);
  check(executable.status());
  (*executable)->setHooks(hooks());
  auto runnable = std::make_shared<JitRunnable>(std::move(*executable), image->code, device);
  runnable->ops = image->stats.ops;
  runnable->groups = image->stats.groups;
  return runnable;
}

} // namespace

std::unique_ptr<Backend> makeBackend(SessionState &session) {
  return std::make_unique<JitBackend>(session);
}

} // namespace sinter::detail
