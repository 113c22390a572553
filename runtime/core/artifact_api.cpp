// The C functions of an artifact's table: each checks its pointers, calls the
// C++ behind it and keeps the error for last_error. Nothing throws across.
#include "artifact.h"

#include "sinter/base/text.h"
#include "sinter/core/weights.h"

#include <cstring>
#include <new>

using namespace sinter;
using namespace sinter::rt;

namespace {

thread_local std::string lastError;

int fail(const Status &status) {
  lastError = status.message();
  return int(status.code());
}

/// Runs `body`, which returns a Status, and turns the outcome into a code.
template <class Body> int guarded(Body body) {
  try {
    Status status = body();
    return status.ok() ? int(SINTER_OK) : fail(status);
  } catch (const std::bad_alloc &) {
    return fail(Status(Code::OutOfMemory, "out of memory; free memory or use a smaller batch"));
  } catch (const std::exception &error) {
    return fail(Status(Code::Internal, error.what()));
  }
}

Status nullArgument(const char *function) {
  return makeError(Code::InvalidArgument, function, " was given a null pointer");
}

/// The artifact behind the table, parsed; null if that failed.
Artifact *opened(const sinter_artifact_api *api) {
  if (guarded([&] { return api ? Artifact::of(api).open() : nullArgument("the function"); }))
    return nullptr;
  return &Artifact::of(api);
}

template <class Table> bool inRange(const Table &table, int32_t index, const char *what) {
  if (index >= 0 && size_t(index) < table.size())
    return true;
  fail(makeError(Code::InvalidArgument, "there is no ", what, " ", index, "; there are ",
                 table.size()));
  return false;
}

/// Position of `name` among the names, -1 with an error that suggests one.
int32_t findName(std::span<const std::string> names, const char *name, const char *what) {
  for (size_t i = 0; name && i < names.size(); ++i)
    if (names[i] == name)
      return int32_t(i);
  std::string_view near = nearestName(name ? name : "", names);
  fail(makeError(Code::NotFound, "there is no ", what, " '", name ? name : "(null)", "'",
                 near.empty() ? "" : concat("; did you mean '", near, "'?")));
  return -1;
}

template <class Table> std::vector<std::string> namesOf(const Table &table) {
  std::vector<std::string> names;
  for (const auto &record : table)
    names.push_back(record.name);
  return names;
}

const char *getLastError() { return lastError.c_str(); }
const char *getVersion() { return SINTER_VERSION; }
const char *getName(const sinter_artifact_api *api) { return api->image->name; }

int32_t entryCount(const sinter_artifact_api *api) {
  Artifact *artifact = opened(api);
  return artifact ? int32_t(artifact->ports.size()) : -1;
}

const char *entryName(const sinter_artifact_api *api, int32_t entry) {
  Artifact *artifact = opened(api);
  return artifact && inRange(artifact->ports, entry, "entry")
             ? artifact->program->entries[entry].name.c_str()
             : nullptr;
}

int32_t findEntry(const sinter_artifact_api *api, const char *name) {
  Artifact *artifact = opened(api);
  return artifact ? findName(namesOf(artifact->program->entries), name, "entry") : -1;
}

/// The ports of an entry on one side, null if there is none such.
const std::vector<Artifact::Port> *portsOf(const sinter_artifact_api *api, int32_t entry,
                                           bool input) {
  Artifact *artifact = opened(api);
  if (!artifact || !inRange(artifact->ports, entry, "entry"))
    return nullptr;
  return input ? &artifact->ports[entry].inputs : &artifact->ports[entry].outputs;
}

template <bool Input> int32_t portCount(const sinter_artifact_api *api, int32_t entry) {
  auto *ports = portsOf(api, entry, Input);
  return ports ? int32_t(ports->size()) : -1;
}

template <bool Input>
const sinter_port *portAt(const sinter_artifact_api *api, int32_t entry, int32_t index) {
  auto *ports = portsOf(api, entry, Input);
  return ports && inRange(*ports, index, Input ? "input" : "output") ? &(*ports)[index] : nullptr;
}

int32_t variableCount(const sinter_artifact_api *api) {
  Artifact *artifact = opened(api);
  return artifact ? int32_t(artifact->variables.size()) : -1;
}

const sinter_variable *variableAt(const sinter_artifact_api *api, int32_t index) {
  Artifact *artifact = opened(api);
  return artifact && inRange(artifact->variables, index, "variable") ? &artifact->variables[index]
                                                                     : nullptr;
}

int32_t findVariable(const sinter_artifact_api *api, const char *name) {
  Artifact *artifact = opened(api);
  return artifact ? findName(namesOf(artifact->variables), name, "variable") : -1;
}

int32_t variantCount(const sinter_artifact_api *api) {
  return int32_t(Artifact::of(api).variantNames().size());
}

const char *variantAt(const sinter_artifact_api *api, int32_t index) {
  const std::vector<std::string> &names = Artifact::of(api).variantNames();
  return inRange(names, index, "variant") ? names[index].c_str() : nullptr;
}

int create(const sinter_artifact_api *api, const sinter_options *given,
           sinter_instance **instance) {
  return guarded([&]() -> Status {
    if (!api || !instance)
      return nullArgument("create");
    *instance = nullptr;
    sinter_options options = SINTER_OPTIONS_INIT;
    if (given && (given->size < offsetof(sinter_options, isa) || given->size > sizeof options))
      return makeError(Code::InvalidArgument, "sinter_options has size ", given->size,
                       ", this artifact knows ", sizeof options,
                       "; begin with SINTER_OPTIONS_INIT from the header of the same release");
    if (given)
      std::memcpy(&options, given, given->size);
    auto made = sinter_instance::create(Artifact::of(api), options);
    SINTER_RETURN_IF_ERROR(made.status());
    *instance = made->release();
    return {};
  });
}

void destroy(sinter_instance *instance) { delete instance; }
const char *getIsa(const sinter_instance *instance) {
  return instance->variant ? instance->variant->isa : instance->deviceName.c_str();
}

/// `count` tensors from a C array; negative counts and null arrays are refused.
Status checkArray(const sinter_tensor *tensors, int32_t count, const char *what) {
  if (count >= 0 && (tensors || count == 0))
    return {};
  return makeError(Code::InvalidArgument, count < 0 ? "a negative number" : "a null array", " of ",
                   what, "s was given");
}

int run(sinter_instance *instance, int32_t entry, const sinter_tensor *inputs, int32_t inputCount,
        const sinter_tensor *outputs, int32_t outputCount) {
  return guarded([&]() -> Status {
    if (!instance)
      return nullArgument("run");
    SINTER_RETURN_IF_ERROR(checkArray(inputs, inputCount, "input"));
    SINTER_RETURN_IF_ERROR(checkArray(outputs, outputCount, "output"));
    return instance->run(entry, {inputs, size_t(inputCount)}, {outputs, size_t(outputCount)});
  });
}

int outputDims(sinter_instance *instance, int32_t entry, const sinter_tensor *inputs,
               int32_t inputCount, int32_t output, int64_t *dims, int32_t capacity) {
  return guarded([&]() -> Status {
    if (!instance || (!dims && capacity > 0))
      return nullArgument("output_dims");
    SINTER_RETURN_IF_ERROR(checkArray(inputs, inputCount, "input"));
    return instance->outputDims(entry, {inputs, size_t(inputCount)}, output,
                                {dims, size_t(std::max(0, capacity))});
  });
}

int getVariable(sinter_instance *instance, int32_t index, sinter_tensor *view) {
  return guarded([&] {
    return instance && view ? instance->getVariable(index, *view) : nullArgument("get_variable");
  });
}

int setVariable(sinter_instance *instance, int32_t index, const sinter_tensor *value) {
  return guarded([&] {
    return instance && value ? instance->setVariable(index, *value) : nullArgument("set_variable");
  });
}

int save(sinter_instance *instance, const char *path) {
  return guarded([&] {
    return instance && path ? saveWeights(path, instance->variables) : nullArgument("save");
  });
}

int load(sinter_instance *instance, const char *path) {
  return guarded([&] { return instance && path ? instance->load(path) : nullArgument("load"); });
}

const char *memoryReport(sinter_instance *instance) {
  const char *text = "";
  guarded([&]() -> Status {
    if (!instance)
      return nullArgument("memory_report");
    text = instance->memoryReport();
    return {};
  });
  return text;
}

int profile(sinter_instance *instance, int32_t on) {
  return guarded([&] { return instance ? instance->profile(on != 0) : nullArgument("profile"); });
}

Status profilerOff() {
  return Status(Code::FailedPrecondition, "profiling is off; call profile(instance, 1) first");
}

const char *profileReport(sinter_instance *instance) {
  const char *text = "";
  guarded([&]() -> Status {
    if (!instance)
      return nullArgument("profile_report");
    if (!instance->profiler)
      return profilerOff();
    instance->text = instance->profiler->report();
    text = instance->text.c_str();
    return {};
  });
  return text;
}

int profileTrace(sinter_instance *instance, const char *path) {
  return guarded([&]() -> Status {
    if (!instance || !path)
      return nullArgument("profile_trace");
    return instance->profiler ? instance->profiler->writeTrace(path) : profilerOff();
  });
}

} // namespace

const sinter_artifact_api &sinter::rt::artifactFunctions() {
  static constexpr sinter_artifact_api functions = {
      .abi_version = SINTER_ABI_VERSION,
      .size = sizeof(sinter_artifact_api),
      .image = nullptr,
      .last_error = getLastError,
      .version = getVersion,
      .name = getName,
      .entry_count = entryCount,
      .entry_name = entryName,
      .find_entry = findEntry,
      .input_count = portCount<true>,
      .output_count = portCount<false>,
      .input = portAt<true>,
      .output = portAt<false>,
      .variable_count = variableCount,
      .variable = variableAt,
      .find_variable = findVariable,
      .variant_count = variantCount,
      .variant = variantAt,
      .create = create,
      .destroy = destroy,
      .isa = getIsa,
      .run = run,
      .output_dims = outputDims,
      .get_variable = getVariable,
      .set_variable = setVariable,
      .save = save,
      .load = load,
      .memory_report = memoryReport,
      .profile = profile,
      .profile_report = profileReport,
      .profile_trace = profileTrace,
  };
  return functions;
}
