#include "artifact.h"

#include "sinter/base/text.h"
#include "sinter/core/weights.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace sinter;
using namespace sinter::rt;

sinter_instance::sinter_instance(Artifact &artifact, const sinter_kernel_variant *variant,
                                 int threads)
    : artifact(artifact), variant(variant), device{*artifact.program}, pool(threads),
      workspace(std::make_shared<Workspace>()), executables(artifact.program->entries.size()) {}

StatusOr<std::unique_ptr<sinter_instance>> sinter_instance::create(Artifact &artifact,
                                                                   const sinter_options &options) {
  SINTER_RETURN_IF_ERROR(artifact.open());
  auto variant = artifact.chooseVariant(options.isa);
  if (!variant.ok())
    return variant.status();
  if (artifact.image->vendor == SINTER_VENDOR_ONEDNN && !vendorLibrary())
    return makeError(Code::FailedPrecondition, "artifact '", artifact.image->name,
                     "' calls a vendor library, but the runtime it was linked with has none; link "
                     "the CPU library or compile with --vendor=none");
  int threads = options.threads < 0 ? 0 : std::max(1, options.threads);
  std::unique_ptr<sinter_instance> instance(new sinter_instance(artifact, *variant, threads));
  SINTER_RETURN_IF_ERROR(instance->openDevice(options.device));
  SINTER_RETURN_IF_ERROR(instance->initialiseVariables(options));
  return instance;
}

Status sinter_instance::openDevice(const char *name) {
  const sinter_artifact_image &image = *artifact.image;
  if (!artifact.isForDevice())
    return name && std::string_view(name) != "cpu"
               ? makeError(Code::InvalidArgument, "artifact '", image.name,
                           "' was compiled for the CPU and does not run on '", name,
                           "'; compile it with --target=cuda:sm_90")
               : Status();
  image.open_device(&image, name, &device);
  SINTER_RETURN_IF_ERROR(device.status);
  deviceName = device.device->name();
  deviceVariables = DeviceVariables::create(device.device);
  return {};
}

Status sinter_instance::initialiseVariables(const sinter_options &options) {
  const sinter_artifact_image &image = *artifact.image;
  if (artifact.program->variables.empty())
    return {};
  if (!options.weights_path && image.weights) {
    std::string origin = concat("the weights embedded in artifact '", image.name, "'");
    auto weights = parseSafetensors(reinterpret_cast<const std::byte *>(image.weights),
                                    image.weights_size, origin);
    return weights.ok() ? adopt(*weights, origin, /*mayBorrow=*/false) : weights.status();
  }
  if (!options.weights_path && !image.weights_file)
    return makeError(Code::InvalidArgument, "artifact '", image.name,
                     "' holds no weights; name a safetensors file in options.weights_path");
  std::string path =
      options.weights_path ? options.weights_path : artifact.folder() + image.weights_file;
  auto weights = readSafetensors(path);
  if (!weights.ok())
    return makeError(weights.status().code(), "artifact '", image.name,
                     "': ", weights.status().message(),
                     options.weights_path ? "" : "; or name the file in options.weights_path");
  weightsFile = weights->storage;
  return adopt(*weights, path, /*mayBorrow=*/true);
}

/// Makes the variables. What no entry writes stays in the mapped file, which
/// costs neither time nor memory until it is read; the rest is copied.
Status sinter_instance::adopt(const Safetensors &weights, std::string_view origin, bool mayBorrow) {
  const std::vector<Variable> &wanted = artifact.program->variables;
  auto fitting = fitWeights(wanted, weights, origin);
  if (!fitting.ok())
    return fitting.status();
  std::vector<bool> written = writtenVariables(*artifact.program);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const TensorView &tensor = *(*fitting)[i];
    mapped.push_back(mayBorrow && !written[i] && tensor.aligned() && tensor.bytes > 0);
    auto added =
        mapped[i] ? variables.add(wanted[i].name,
                                  Array::borrow(const_cast<std::byte *>(tensor.data), tensor.dtype,
                                                tensor.dims),
                                  wanted[i].trainable)
                  : variables.add(wanted[i].name, tensor.dtype, tensor.dims, wanted[i].trainable);
    if (!added.ok())
      return added.status();
    byIndex.push_back(*added);
    if (!mapped[i])
      (*added)->storage().copyFrom(tensor.data, tensor.bytes);
  }
  return {};
}

StatusOr<Executable *> sinter_instance::executable(int32_t entry) {
  if (entry < 0 || size_t(entry) >= executables.size())
    return makeError(Code::InvalidArgument, "artifact '", artifact.image->name, "' has no entry ",
                     entry, ", only 0..", int64_t(executables.size()) - 1,
                     "; ask find_entry for its number");
  if (!executables[entry]) {
    std::vector<sinter_kernel> kernels;
    if (variant)
      kernels.assign(variant->kernels, variant->kernels + variant->count);
    bool usesOneDnn = artifact.image->vendor == SINTER_VENDOR_ONEDNN;
    auto made = Executable::create(artifact.program, entry, std::move(kernels), variables, pool,
                                   usesOneDnn ? vendorLibrary() : nullptr,
                                   {.workspace = workspace,
                                    .device = deviceVariables,
                                    .deviceKernels = device.kernels,
                                    .deviceLibrary = device.library});
    if (!made.ok())
      return makeError(made.status().code(), "artifact '", artifact.image->name,
                       "': ", made.status().message());
    if (profiler)
      (*made)->setHooks({.profiler = profiler.get()});
    executables[entry] = *std::move(made);
  }
  return executables[entry].get();
}

Status sinter_instance::setArguments(std::span<const sinter_tensor> tensors, std::string_view what,
                                     std::vector<Argument> &arguments) {
  arguments.clear();
  for (const sinter_tensor &tensor : tensors) {
    if (tensor.dtype < 0 || tensor.dtype >= kDTypeCount || tensor.rank < 0 ||
        (tensor.rank > 0 && !tensor.dims))
      return makeError(Code::InvalidArgument, what, " ", arguments.size(), " has dtype ",
                       tensor.dtype, ", rank ", tensor.rank, tensor.dims ? "" : " and no dims",
                       "; fill all fields of its sinter_tensor");
    arguments.emplace_back(tensor.data, DType(tensor.dtype),
                           std::span(tensor.dims, size_t(tensor.rank)));
  }
  return {};
}

Status sinter_instance::run(int32_t entry, std::span<const sinter_tensor> inputs,
                            std::span<const sinter_tensor> outputs) {
  auto found = executable(entry);
  SINTER_RETURN_IF_ERROR(found.status());
  SINTER_RETURN_IF_ERROR(setArguments(inputs, "input", inputArguments));
  SINTER_RETURN_IF_ERROR(setArguments(outputs, "output", outputArguments));
  return (*found)->run(inputArguments, outputArguments);
}

Status sinter_instance::outputDims(int32_t entry, std::span<const sinter_tensor> inputs,
                                   int32_t output, std::span<int64_t> dims) {
  auto found = executable(entry);
  SINTER_RETURN_IF_ERROR(found.status());
  SINTER_RETURN_IF_ERROR(setArguments(inputs, "input", inputArguments));
  auto all = (*found)->outputDims(inputArguments);
  SINTER_RETURN_IF_ERROR(all.status());
  if (output < 0 || size_t(output) >= all->size())
    return makeError(Code::InvalidArgument, "entry '", (*found)->entry().name, "' has no output ",
                     output, ", only ", all->size());
  const Dims &result = (*all)[output];
  if (dims.size() < result.size())
    return makeError(Code::InvalidArgument, "output ", output, " has rank ", result.size(),
                     ", there is room for ", dims.size(), " dims");
  std::copy(result.begin(), result.end(), dims.begin());
  return {};
}

static Status noVariable(const Artifact &artifact, int32_t index) {
  return makeError(Code::InvalidArgument, "artifact '", artifact.image->name, "' has no variable ",
                   index, ", only ", artifact.variables.size(),
                   "; ask find_variable for its number");
}

Status sinter_instance::getVariable(int32_t index, sinter_tensor &view) {
  if (index < 0 || size_t(index) >= byIndex.size())
    return noVariable(artifact, index);
  StatusOr<Array> value = byIndex[index]->read();
  if (!value.ok())
    return value.status();
  const Dims &dims = byIndex[index]->dims();
  view = {value->data(), dims.data(), int32_t(dims.size()), int32_t(value->dtype())};
  return {};
}

Status sinter_instance::setVariable(int32_t index, const sinter_tensor &value) {
  if (index < 0 || size_t(index) >= byIndex.size())
    return noVariable(artifact, index);
  std::vector<Argument> argument;
  SINTER_RETURN_IF_ERROR(setArguments({&value, 1}, "value", argument));
  StoredVariable &variable = *byIndex[index];
  const Argument &got = argument[0];
  const Dims &dims = variable.dims();
  if (got.dtype != variable.dtype() ||
      !std::equal(got.dims.begin(), got.dims.end(), dims.begin(), dims.end()) ||
      (!got.data && variable.bytes() > 0))
    return makeError(Code::InvalidArgument, "variable '", variable.name, "' is ", variable.type(),
                     ", got ", formatType(got.dtype, got.dims),
                     got.data ? "" : " without data (null pointer)", "; pass a value of its type");
  return assign(variable, got.data);
}

Status sinter_instance::assign(StoredVariable &variable, const void *data) {
  size_t index = std::find(byIndex.begin(), byIndex.end(), &variable) - byIndex.begin();
  if (mapped[index]) {
    // The mapping is private to this instance: written pages become copies.
    uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE));
    uintptr_t start = reinterpret_cast<uintptr_t>(variable.storage().data());
    uintptr_t first = start & -page, end = start + variable.bytes();
    if (mprotect(reinterpret_cast<void *>(first), end - first, PROT_READ | PROT_WRITE) != 0)
      return makeError(Code::OutOfMemory, "cannot make variable '", variable.name,
                       "' writable: ", std::strerror(errno));
    mapped[index] = false;
  }
  StatusOr<Array> home = variable.write();
  if (home.ok())
    home->copyFrom(data, variable.bytes());
  return home.status();
}

Status sinter_instance::load(const std::string &path) {
  auto weights = readSafetensors(path);
  SINTER_RETURN_IF_ERROR(weights.status());
  auto fitting = fitWeights(artifact.program->variables, *weights, path);
  SINTER_RETURN_IF_ERROR(fitting.status());
  for (size_t i = 0; i < byIndex.size(); ++i)
    SINTER_RETURN_IF_ERROR(assign(*byIndex[i], (*fitting)[i]->data));
  return {};
}

Status sinter_instance::profile(bool on) {
  auto fresh = on ? std::make_unique<Profiler>() : nullptr;
  for (auto &executable : executables)
    if (executable)
      executable->setHooks({.profiler = fresh.get()});
  profiler = std::move(fresh);
  return {};
}

const char *sinter_instance::memoryReport() {
  text = concat("variables: ", variables.size(), " with ", formatBytes(variables.bytes()));
  if (deviceVariables) // where each entry has its own
    text += concat("; on ", deviceName, "\n");
  else
    text += concat("; arena ", formatBytes(workspace->arenaBytes()), ", scratch ",
                   formatBytes(workspace->scratchBytes()), " shared by all entries\n");
  for (auto &executable : executables)
    if (executable)
      text += executable->memoryReport();
  return text.c_str();
}
