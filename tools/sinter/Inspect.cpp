// sinter inspect, for artifacts; packages need the compiler's half.
#include "Inspect.h"

#include "Artifact.h"
#include "Report.h"
#include "Sinter.h"
#include "sinter/base/text.h"
#include "sinter/core/isa.h"

namespace sinter::tools {
namespace {

std::string describeImage(const sinter_artifact_api *api) {
  const sinter_artifact_image &image = *api->image;
  std::string text = concat("artifact ", api->name(api), ", runtime ", api->version(), ", ABI ",
                            api->abi_version, "\ninstruction sets\n");
  for (int32_t i = 0; i < api->variant_count(api); ++i) {
    std::string isa = api->variant(api, i), missing = rt::missingForIsa(isa);
    text += concat("  ", isa, ": ", counted(image.variants[i].count, "kernel"),
                   missing.empty() ? "" : ", not for this CPU, which lacks " + missing, "\n");
  }
  text += image.vendor == SINTER_VENDOR_ONEDNN ? "vendor library: oneDNN\n" : "";
  if (image.weights)
    text += concat("weights: embedded, ", formatBytes(int64_t(image.weights_size)), "\n");
  else if (image.weights_file)
    text += concat("weights: ", image.weights_file, " beside the artifact\n");
  return text;
}

/// Dims of the inputs for the smallest shapes, or for the largest where all symbols have an upper
/// bound.
std::vector<std::vector<int64_t>> inputDims(const sinter_artifact_api *api, int32_t entry) {
  bool bounded = true;
  std::vector<std::vector<int64_t>> smallest, largest;
  for (int32_t i = 0; i < api->input_count(api, entry); ++i) {
    const sinter_port *port = api->input(api, entry, i);
    smallest.emplace_back(), largest.emplace_back();
    for (const sinter_dim &dim : std::span(port->dims, size_t(port->rank))) {
      bounded &= dim.size >= 0 || dim.upper >= 0;
      smallest.back().push_back(dim.size >= 0 ? dim.size : dim.lower);
      largest.back().push_back(dim.size >= 0 ? dim.size : dim.upper);
    }
  }
  return bounded ? largest : smallest;
}

/// Plans every entry, so that the report knows the arena. An entry that cannot be planned without
/// data is left out.
std::string memoryReport(const sinter_artifact_api *api, sinter_instance *instance) {
  for (int32_t entry = 0; entry < api->entry_count(api); ++entry) {
    if (api->output_count(api, entry) == 0)
      continue;
    auto dims = inputDims(api, entry);
    std::vector<sinter_tensor> inputs;
    for (size_t i = 0; i < dims.size(); ++i)
      inputs.push_back({nullptr, dims[i].data(), int32_t(dims[i].size()),
                        api->input(api, entry, int32_t(i))->dtype});
    int64_t result[64];
    if (int code =
            api->output_dims(instance, entry, inputs.data(), int32_t(inputs.size()), 0, result, 64))
      return concat("not known: ", lastError(api, code).message(), "\n");
  }
  return api->memory_report(instance);
}

int inspectArtifact(const InspectFlags &flags) {
  auto api = loadArtifact(flags.path);
  if (!api.ok())
    return fail(api.status());
  auto program = programOf(*api);
  if (!program.ok())
    return fail(flags.path + ": " + program.status().message());
  std::string text = describeImage(*api) + describeProgram(*program);
  sinter_options options = SINTER_OPTIONS_INIT;
  auto instance = createInstance(*api, options);
  text += "memory\n";
  text += instance.ok() ? memoryReport(*api, instance->get())
                        : concat("  not known: ", instance.status().message(), "\n");
  if (flags.commands)
    text += describeCommands(*program);
  std::fputs(text.c_str(), stdout);
  return kSuccess;
}

} // namespace

int inspectMain(int argc, char **argv) {
  InspectFlags flags;
  if (auto status = parseInspect(flags, argc, argv))
    return *status;
  return isElf(flags.path) ? inspectArtifact(flags) : runCompiler(argc, argv);
}

} // namespace sinter::tools
