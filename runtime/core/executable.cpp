#include "sinter/core/executable.h"

#include "device_side.h"
#include "numerics.h"
#include "shape_plan.h"
#include "signature.h"

#include "sinter/base/text.h"
#include "sinter/core/weights.h"

#include <algorithm>
#include <cstring>

namespace sinter::rt {

struct Executable::Impl {
  Impl(std::shared_ptr<const Program> program, Index entryIndex, ThreadPool &pool,
       VariableStore &variables, Options options)
      : program(std::move(program)), entry(this->program->entries[entryIndex]),
        signature(*this->program, entry), pool(pool), variables(variables),
        workspace(options.workspace ? std::move(options.workspace) : std::make_shared<Workspace>()),
        cachedShapes(std::max<size_t>(1, options.cachedShapes)),
        symbols(this->program->symbols.size()) {}

  Status select(std::span<const Argument> inputs, bool needData);
  Status makeCurrent();
  Status attachWorkspace();
  Status setPorts(std::span<const Argument> inputs, std::span<const Argument> outputs);
  Status execute(const Step &step);
  void launch(const Step &step);
  void copy(const Step &step);
  Status showProbe(const Step &step);
  Status runOnDevice(std::span<const Argument> inputs, std::span<const Argument> outputs);
  Status enqueueOnDevice(std::span<const Argument> inputs, std::span<const Argument> outputs);
  Status runBesideDevices(std::span<const Argument> inputs);
  Status executeAll();
  Status executeObserved(std::span<const Argument> inputs);
  Status executeChecked(const Step &step);
  Status checkInputs(std::span<const Argument> inputs);
  Status numericsError(NumericsFailure &failure);

  std::shared_ptr<const Program> program;
  const Entry &entry;
  Signature signature;
  ThreadPool &pool;
  VariableStore &variables;
  std::shared_ptr<Workspace> workspace;
  size_t cachedShapes;
  std::vector<int64_t> symbols;                 ///< of the call at hand
  std::shared_ptr<DeviceLibrary> deviceLibrary; ///< before the primitives it made
  std::unique_ptr<ShapePlanner> planner;
  std::unique_ptr<DeviceSide> device; ///< null: the CPU
  /// On the CPU: those that the entry uses, and whether it writes them.
  std::vector<std::pair<StoredVariable *, bool>> ownVariables;
  bool hasProbes = false;
  std::vector<std::unique_ptr<ShapePlan>> plans;
  ShapePlan *current = nullptr;
  uint64_t uses = 0;
  Hooks hooks;
  bool observed = false; ///< a profiler or the numerics check is on
  size_t firstProfiled = 0;
};

/// Makes the plan for the inputs' shapes the current one.
Status Executable::Impl::select(std::span<const Argument> inputs, bool needData) {
  SINTER_RETURN_IF_ERROR(signature.bind(inputs, needData, symbols));
  return current && current->symbols == symbols ? Status() : makeCurrent();
}

Status Executable::Impl::makeCurrent() {
  auto known = std::find_if(plans.begin(), plans.end(),
                            [&](const auto &plan) { return plan->symbols == symbols; });
  if (known == plans.end()) {
    StatusOr<std::unique_ptr<ShapePlan>> made = planner->plan(symbols);
    if (!made.ok())
      return made.status();
    if (plans.size() == cachedShapes) {
      current = nullptr;
      plans.erase(std::min_element(plans.begin(), plans.end(), [](const auto &a, const auto &b) {
        return a->lastUse < b->lastUse;
      }));
    }
    plans.push_back(*std::move(made));
    known = plans.end() - 1;
  }
  current = known->get();
  current->lastUse = ++uses;
  return {};
}

Status Executable::Impl::attachWorkspace() {
  if (device)
    return device->attach(*planner, *current);
  if (Status status = workspace->reserve(current->arena.peak, current->scratchBytes); !status.ok())
    return makeError(status.code(), "entry '", entry.name, "': ", status.message(), "\n",
                     planner->describe(*current));
  if (current->workspaceVersion != workspace->version())
    planner->resolve(*current, workspace->arena(), workspace->version());
  return {};
}

Status Executable::Impl::setPorts(std::span<const Argument> inputs,
                                  std::span<const Argument> outputs) {
  bool changed = false;
  auto set = [&](size_t port, void *data) {
    if (current->ports[port].data == data)
      return;
    changed = true;
    current->setPort(port, data);
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    set(i, inputs[i].data);
  for (size_t i = 0; i < outputs.size(); ++i)
    set(inputs.size() + i, outputs[i].data);
  if (!changed)
    return {};
  Status status = signature.checkOverlap(inputs, outputs);
  if (!status.ok()) // forget the pointers, so that the next call checks again
    for (size_t i = 0; i < current->ports.size(); ++i)
      current->setPort(i, nullptr);
  return status;
}

/// Generated code carries no type in front of a function, where UBSan would look for it.
#ifdef __clang__
__attribute__((no_sanitize("function")))
#endif
static void runTasks(const Step &step, const int64_t *symbols, void *scratch, int64_t begin,
                     int64_t end) {
  step.kernel(step.buffers, symbols, scratch, begin, end);
}

void Executable::Impl::launch(const Step &step) {
  std::byte *scratch = step.scratchStride ? workspace->scratch() : nullptr;
  const int64_t *values = current->symbols.data();
  if (step.tasks == 1)
    return runTasks(step, values, scratch, 0, 1);
  pool.parallelFor(step.tasks, [&](int64_t begin, int64_t end, int worker) {
    runTasks(step, values, scratch + worker * step.scratchStride, begin, end);
  });
}

void Executable::Impl::copy(const Step &step) {
  constexpr int64_t piece = 1 << 20;
  auto *from = static_cast<const std::byte *>(step.buffers[0]);
  auto *to = static_cast<std::byte *>(step.buffers[1]);
  if (from == to)
    return;
  pool.parallelFor((step.bytes + piece - 1) / piece, [&](int64_t begin, int64_t end, int) {
    int64_t first = begin * piece, last = std::min(end * piece, step.bytes);
    std::memcpy(to + first, from + first, last - first);
  });
}

Status Executable::Impl::showProbe(const Step &step) {
  if (!hooks.probe)
    return {};
  CommandInfo about = planner->info(step.command);
  Index buffer = entry.commands[step.command].buffers[0];
  DType dtype = entry.buffers[buffer].dtype;
  const Dims &dims = current->bufferDims[buffer];
  StatusOr<Array> value =
      device ? device->download(step.buffers[0], dtype, dims, {about.name, about.location})
             : Array::borrow(step.buffers[0], dtype, dims);
  if (value.ok())
    hooks.probe(about, *value);
  return value.status();
}

Status Executable::Impl::execute(const Step &step) {
  if (device && step.kind != CommandKind::Probe)
    return device->execute(*planner, *current, step);
  switch (step.kind) {
  case CommandKind::Launch:
    launch(step);
    return {};
  case CommandKind::Copy:
    copy(step);
    return {};
  case CommandKind::Library:
    if (Status status = static_cast<LibraryPrimitive *>(step.primitive)
                            ->run(step.buffers, workspace->scratch(), pool);
        !status.ok()) {
      CommandInfo about = planner->info(step.command);
      return makeError(status.code(), about.location, about.location.empty() ? "" : ": ", "entry '",
                       entry.name, "', command '", about.name, "': ", status.message());
    }
    return {};
  case CommandKind::Probe:
    return showProbe(step);
  }
  return {};
}

Status Executable::Impl::executeAll() {
  for (const Step &step : current->steps) {
    if (step.kind == CommandKind::Launch && !device)
      launch(step);
    else
      SINTER_RETURN_IF_ERROR(execute(step));
  }
  return {};
}

Status Executable::Impl::executeObserved(std::span<const Argument> inputs) {
  if (hooks.checkNumerics)
    SINTER_RETURN_IF_ERROR(checkInputs(inputs));
  Profiler::Time start = Profiler::Clock::now();
  auto value = [&](Index expr) { return expr == kNone ? 0 : current->values[expr]; };
  for (const Step &step : current->steps) {
    Profiler::Time before = Profiler::Clock::now();
    SINTER_RETURN_IF_ERROR(hooks.checkNumerics ? executeChecked(step) : execute(step));
    if (device)
      SINTER_RETURN_IF_ERROR(device->synchronize()); // the time is of this command alone
    const Command &command = entry.commands[step.command];
    if (hooks.profiler)
      hooks.profiler->record(firstProfiled + step.command, before, Profiler::Clock::now(),
                             value(command.flops), value(command.bytes));
  }
  if (hooks.profiler)
    hooks.profiler->recordRun(firstProfiled, start, Profiler::Clock::now());
  return {};
}

Status Executable::Impl::executeChecked(const Step &step) {
  CommandInfo about = planner->info(step.command);
  ReadOperand read = [&](void *data, DType dtype, const Dims &dims) {
    return device ? device->download(data, dtype, dims, {about.name, about.location})
                  : Array::borrow(data, dtype, dims);
  };
  StatusOr<NumericsCheck> check = NumericsCheck::begin(entry, *current, step, read);
  SINTER_RETURN_IF_ERROR(check.status());
  SINTER_RETURN_IF_ERROR(execute(step));
  StatusOr<std::optional<NumericsFailure>> failure = check->find(read);
  SINTER_RETURN_IF_ERROR(failure.status());
  if (!*failure)
    return {};
  (*failure)->command = about;
  return numericsError(**failure);
}

Status Executable::Impl::checkInputs(std::span<const Argument> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    Array array = Array::borrow(inputs[i].data, inputs[i].dtype,
                                Dims(inputs[i].dims.begin(), inputs[i].dims.end()));
    if (auto found = firstNonFinite(array)) {
      NumericsFailure failure{{entry.name, "", ""},
                              concat(*found, " of input '", entry.inputs[i].name, "', ",
                                     array.type(), ", before any command ran"),
                              {array},
                              array};
      return numericsError(failure);
    }
  }
  return {};
}

Status Executable::Impl::numericsError(NumericsFailure &failure) {
  const CommandInfo &about = failure.command;
  std::string saved = hooks.onNumericsFailure ? hooks.onNumericsFailure(failure) : "";
  return makeError(Code::FailedPrecondition, about.location, about.location.empty() ? "" : ": ",
                   "check-numerics: ", about.name, about.module.empty() ? "" : " in ", about.module,
                   ": ", failure.what, saved.empty() ? "" : "; ", saved);
}

Status Executable::Impl::runOnDevice(std::span<const Argument> inputs,
                                     std::span<const Argument> outputs) {
  SINTER_RETURN_IF_ERROR(signature.checkOverlap(inputs, outputs));
  Status status = enqueueOnDevice(inputs, outputs);
  // The device may still read the caller's arrays, or write to them. That wait's error is no news.
  Status waited = device->synchronize();
  return status.ok() ? waited : status;
}

Status Executable::Impl::enqueueOnDevice(std::span<const Argument> inputs,
                                         std::span<const Argument> outputs) {
  SINTER_RETURN_IF_ERROR(device->begin(inputs));
  if (observed)
    SINTER_RETURN_IF_ERROR(executeObserved(inputs));
  else if (hasProbes)
    SINTER_RETURN_IF_ERROR(executeAll());
  else
    SINTER_RETURN_IF_ERROR(device->replay(*current, [&] { return executeAll(); }));
  return device->end(outputs);
}

/// Devices may have newer contents, and hear of those that the CPU leaves.
Status Executable::Impl::runBesideDevices(std::span<const Argument> inputs) {
  for (auto [variable, isWritten] : ownVariables)
    SINTER_RETURN_IF_ERROR((isWritten ? variable->write() : variable->read()).status());
  return observed ? executeObserved(inputs) : executeAll();
}

Executable::Executable(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Executable::~Executable() = default;

/// The same for the CPU's libraries and a device's.
template <class Library> static PrepareCall prepareWith(Library &library) {
  return [&library](
             const LibraryCall &call,
             std::span<const LibraryOperand> operands) -> StatusOr<std::unique_ptr<PreparedCall>> {
    auto made = library.prepare(call, operands);
    if (!made.ok())
      return made.status();
    return std::unique_ptr<PreparedCall>(*std::move(made));
  };
}

StatusOr<std::unique_ptr<Executable>>
Executable::create(std::shared_ptr<const Program> program, Index entry,
                   std::vector<sinter_kernel> kernels, VariableStore &variables, ThreadPool &pool,
                   const LibraryProvider *library, Options options) {
  SINTER_RETURN_IF_ERROR(validate(*program));
  if (entry < 0 || size_t(entry) >= program->entries.size())
    return makeError(Code::InvalidArgument, "entry ", entry, " of a program with ",
                     program->entries.size());
  std::shared_ptr<DeviceVariables> device = std::move(options.device);
  std::vector<DeviceKernel> deviceKernels = std::move(options.deviceKernels);
  std::shared_ptr<DeviceLibrary> deviceLibrary = std::move(options.deviceLibrary);
  auto impl =
      std::make_unique<Impl>(std::move(program), entry, pool, variables, std::move(options));
  if (!device && kernels.empty() && !impl->program->kernels.empty())
    return makeError(Code::Internal, "the image has 0 kernels, its program ",
                     impl->program->kernels.size(), "; compile the model again");
  PrepareCall prepare;
  if (device && deviceLibrary)
    prepare = prepareWith(*deviceLibrary);
  else if (!device && library)
    prepare = prepareWith(*library);
  auto planner = ShapePlanner::create(*impl->program, impl->entry, std::move(kernels), variables,
                                      pool.threads(), std::move(prepare));
  if (!planner.ok())
    return planner.status();
  impl->planner = *std::move(planner);
  impl->deviceLibrary = std::move(deviceLibrary);
  for (const Command &command : impl->entry.commands)
    impl->hasProbes |= command.kind == CommandKind::Probe;
  if (device) {
    auto side = DeviceSide::create(std::move(device), *impl->program, impl->entry,
                                   std::move(deviceKernels), variables);
    if (!side.ok())
      return side.status();
    impl->device = *std::move(side);
    impl->device->place(*impl->planner);
  } else {
    for (const VariableUse &use : usedVariables(*impl->program, impl->entry))
      impl->ownVariables.emplace_back(variables.find(impl->program->variables[use.slot].name),
                                      use.written);
  }
  if (impl->signature.isStatic()) {
    for (size_t i = 0; i < impl->symbols.size(); ++i)
      impl->symbols[i] = impl->program->symbols[i].lower;
    SINTER_RETURN_IF_ERROR(impl->makeCurrent());
    SINTER_RETURN_IF_ERROR(impl->attachWorkspace());
  }
  return std::unique_ptr<Executable>(new Executable(std::move(impl)));
}

Status Executable::run(std::span<const Argument> inputs, std::span<const Argument> outputs) {
  SINTER_RETURN_IF_ERROR(impl->select(inputs, /*needData=*/true));
  SINTER_RETURN_IF_ERROR(impl->signature.checkOutputs(outputs, impl->current->outputDims));
  SINTER_RETURN_IF_ERROR(impl->attachWorkspace());
  if (impl->device)
    return impl->runOnDevice(inputs, outputs);
  SINTER_RETURN_IF_ERROR(impl->setPorts(inputs, outputs));
  if (impl->variables.copied())
    return impl->runBesideDevices(inputs);
  return impl->observed ? impl->executeObserved(inputs) : impl->executeAll();
}

StatusOr<std::vector<Array>> Executable::call(std::span<const Array> inputs) {
  std::vector<Argument> arguments(inputs.begin(), inputs.end());
  StatusOr<std::span<const Dims>> dims = outputDims(arguments);
  if (!dims.ok())
    return dims.status();
  std::vector<Array> results;
  std::vector<Argument> outputs;
  for (size_t i = 0; i < dims->size(); ++i) {
    StatusOr<Array> result = Array::allocate(entry().outputs[i].dtype, (*dims)[i]);
    if (!result.ok())
      return result.status();
    outputs.emplace_back(*result);
    results.push_back(*std::move(result));
  }
  SINTER_RETURN_IF_ERROR(run(arguments, outputs));
  return results;
}

StatusOr<std::span<const Dims>> Executable::outputDims(std::span<const Argument> inputs) {
  SINTER_RETURN_IF_ERROR(impl->select(inputs, /*needData=*/false));
  return std::span<const Dims>(impl->current->outputDims);
}

void Executable::setHooks(Hooks hooks) {
  if (hooks.profiler && hooks.profiler != impl->hooks.profiler)
    impl->firstProfiled = hooks.profiler->attach(*impl->program, impl->entry);
  impl->observed = hooks.profiler || hooks.checkNumerics;
  impl->hooks = std::move(hooks);
}

const Program &Executable::program() const { return *impl->program; }
const Entry &Executable::entry() const { return impl->entry; }

std::string Executable::memoryReport() const {
  std::string text =
      concat("entry '", entry().name, "': variables ", formatBytes(impl->variables.bytes()),
             ", constants ", formatBytes(impl->planner->constantBytes()), ", scratch ",
             formatBytes(impl->current ? impl->current->scratchBytes : 0), "\n");
  if (!impl->current)
    return text + "arena: not planned yet, its size depends on the inputs; run the entry first\n";
  return text + impl->planner->describe(*impl->current);
}

} // namespace sinter::rt
