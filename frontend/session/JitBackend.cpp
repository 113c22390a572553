// The backend of every session: codegen's compiler and the runtime's executor.
#include "session/State.h"
#include "session/Target.h"
#include "session/Weights.h"
#include "sinter/base/error.h"
#include "sinter/core/npy.h"
#include "tracing/Types.h"

#include "mlir/IR/Diagnostics.h"

#include <cstdio>

namespace sinter::detail {

namespace {

class JitRunnable : public Runnable {
public:
  JitRunnable(std::unique_ptr<rt::Executable> executable, std::shared_ptr<void> code)
      : code(std::move(code)), executable(std::move(executable)) {}

  std::vector<rt::Array> run(std::span<const rt::Array> inputs) override {
    StatusOr<std::vector<rt::Array>> results = executable->call(inputs);
    check(results.status());
    return std::move(*results);
  }

private:
  std::shared_ptr<void> code; ///< outlives the executable
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
    target = makeTarget(session.options);
  }

  std::shared_ptr<Runnable> compile(mlir::ModuleOp module, const std::string &entry) override;
  std::string profile() const override;
  void writeTrace(const std::string &path) const override { check(profiler.writeTrace(path)); }

private:
  rt::Hooks hooks();
  Loaded load(mlir::ModuleOp module, const std::string &entry, const char *vendor = "auto");
  StatusOr<std::unique_ptr<rt::Executable>> bind(const Loaded &loaded, const std::string &entry);

  SessionState &session;
  rt::ThreadPool pool;
  std::shared_ptr<rt::Workspace> workspace; ///< one for all: they run one at a time
  rt::Profiler profiler;
  std::unique_ptr<ComputeTarget> target;
};

std::string JitBackend::profile() const {
  return (session.options.profile.empty() ? "" : profiler.report()) + target->report();
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

Loaded JitBackend::load(mlir::ModuleOp module, const std::string &entry, const char *vendor) {
  codegen::CompileOptions options;
  options.vendor = vendor;
  options.fuse = session.options.fuse;
  options.deterministic = session.options.deterministic;
  options.dumpIr = session.options.dumpIr;
  options.printFusion = session.options.printFusion;
  std::string message;
  llvm::FailureOr<Loaded> loaded = [&] {
    mlir::ScopedDiagnosticHandler handler(&session.context, [&](mlir::Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
        return mlir::failure();
      message += (message.empty() ? "" : "; ") + diagnostic.str();
      return mlir::success();
    });
    return target->load(module, options);
  }();
  if (failed(loaded))
    throw Error("'" + entry + "' could not be compiled: " + message);
  return *std::move(loaded);
}

StatusOr<std::unique_ptr<rt::Executable>> JitBackend::bind(const Loaded &loaded,
                                                           const std::string &entry) {
  const std::vector<rt::Entry> &entries = loaded.program->entries;
  rt::Index index = 0;
  while (size_t(index) < entries.size() && entries[size_t(index)].name != entry)
    ++index;
  SINTER_RETURN_IF_ERROR(session.store.addAll(*loaded.program));
  return rt::Executable::create(loaded.program, index, loaded.kernels, session.store, pool,
                                target->library,
                                {.workspace = workspace,
                                 .device = target->device,
                                 .deviceKernels = loaded.deviceKernels,
                                 .deviceLibrary = target->deviceLibrary});
}

std::shared_ptr<Runnable> JitBackend::compile(mlir::ModuleOp module, const std::string &entry) {
  mlir::OwningOpRef<mlir::ModuleOp> spare; // should the library refuse, when it is asked in earnest
  if (target->deviceLibrary)
    spare = module.clone();
  Loaded loaded = load(module, entry);
  StatusOr<std::unique_ptr<rt::Executable>> executable = bind(loaded, entry);
  if (executable.status().code() == Code::Unsupported && spare &&
      target->allowsNoLibrary(executable.status().message())) {
    loaded = load(*spare, entry, "none");
    executable = bind(loaded, entry);
  }
  check(executable.status());
  (*executable)->setHooks(hooks());
  auto runnable = std::make_shared<JitRunnable>(std::move(*executable), loaded.code);
  runnable->ops = loaded.stats.ops;
  runnable->groups = loaded.stats.groups;
  return runnable;
}

} // namespace

std::unique_ptr<Backend> makeBackend(SessionState &session) {
  return std::make_unique<JitBackend>(session);
}

} // namespace sinter::detail
