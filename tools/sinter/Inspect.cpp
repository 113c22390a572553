// sinter inspect, for artifacts; packages need the compiler's half.
#include "Inspect.h"

#include "Artifact.h"
#include "Report.h"
#include "Sinter.h"
#include "sinter/base/text.h"
#include "sinter/core/isa.h"
#include "sinter/cuda/image.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

namespace sinter::tools {
namespace {

rt::CudaImage formOf(const sinter_device_code &code) {
  return {code.kind == SINTER_CODE_CUBIN ? rt::CudaImage::Kind::Cubin : rt::CudaImage::Kind::Ptx,
          code.architecture, std::as_bytes(std::span(code.bytes, size_t(code.size))),
          int(code.toolkit)};
}

/// The forms of a device's code, with the driver that each needs.
std::string describeCodes(const sinter_artifact_image &image) {
  std::string text = "device code\n";
  for (const sinter_device_code &code : std::span(image.codes, image.code_count)) {
    if (code.kind == SINTER_CODE_EMULATED) {
      text += "  emulated card\n";
      continue;
    }
    rt::CudaImage form = formOf(code);
    int driver = rt::neededDriver(form);
    text += concat("  ", code.architecture, ": ", rt::describeForm(form), ", ",
                   formatBytes(int64_t(code.size)));
    if (driver)
      text += concat(", needs a driver for CUDA ", rt::formatCudaVersion(driver), " (",
                     rt::driverBranch(driver), ")");
    text += "\n";
  }
  return text;
}

/// Names of the commands that launch the kernel, and the bytes that they read and write at least,
/// for the given sizes of the symbols.
struct KernelUse {
  std::set<std::string> names;
  int64_t bytes = 0;
};
std::vector<KernelUse> usesOf(const rt::Program &program) {
  std::vector<int64_t> symbols, values;
  for (const rt::Symbol &symbol : program.symbols)
    symbols.push_back(std::max(symbol.lower, symbol.upper));
  rt::evaluate(program, symbols.data(), values);
  std::vector<KernelUse> uses(program.kernels.size());
  for (const rt::Entry &entry : program.entries)
    for (const rt::Command &command : entry.commands)
      if (command.kind == rt::CommandKind::Launch) {
        KernelUse &use = uses[size_t(command.target)];
        use.names.insert(program.strings[size_t(command.name)]);
        if (command.bytes != rt::kNone)
          use.bytes = std::max(use.bytes, values[size_t(command.bytes)]);
      }
  return uses;
}

/// What was counted of a kernel and how many times the least that is; without counts the least.
std::string describeBytes(const sinter_kernel_traffic *traffic, const KernelUse &use) {
  char text[64];
  if (traffic)
    std::snprintf(
        text, sizeof text, "%13llu %5.2fx", static_cast<unsigned long long>(traffic->fetched_bytes),
        double(traffic->fetched_bytes) / double(std::max<uint64_t>(1, traffic->distinct_bytes)));
  else
    std::snprintf(text, sizeof text, "%13lld", static_cast<long long>(use.bytes));
  return text;
}

/// What the assembler made of a kernel; null: there was none.
std::string describeUsage(const sinter_kernel_usage *usage) {
  char text[64];
  if (usage)
    std::snprintf(text, sizeof text, "%9u %7u %7u %8u", usage->registers, usage->shared_bytes,
                  usage->stack_bytes, usage->spill_store_bytes + usage->spill_load_bytes);
  else
    std::snprintf(text, sizeof text, "%9s %7s %7s %8s", "-", "-", "-", "-");
  return text;
}

/// A line a kernel and architecture: what ptxas made of it, and its traffic.
std::string describeKernels(const sinter_artifact_image &image, const rt::Program &program) {
  std::vector<KernelUse> uses = usesOf(program);
  std::string lines;
  auto add = [&](const char *architecture, const sinter_kernel_usage *usage) {
    for (size_t i = 0; i < program.kernels.size(); ++i) {
      const rt::Kernel &kernel = program.kernels[i];
      char head[128];
      std::snprintf(head, sizeof head, "  %-20s %-6s %7d ", kernel.symbol.c_str(), architecture,
                    kernel.threads);
      lines += concat(head, describeUsage(usage ? &usage[i] : nullptr), " ",
                      describeBytes(image.traffic ? &image.traffic[i] : nullptr, uses[i]), " ");
      const char *separator = " ";
      for (const std::string &name : uses[i].names)
        lines += std::exchange(separator, ", ") + name;
      lines += "\n";
    }
  };
  for (const sinter_device_code &code : std::span(image.codes, image.code_count))
    if (code.usage)
      add(code.architecture, code.usage);
  if (lines.empty() && image.code_count)
    add("-", nullptr); // there was no assembler
  if (lines.empty())
    return "";
  char header[256];
  std::snprintf(header, sizeof header, "%-22s %-6s %7s %9s %7s %7s %8s %13s%s  commands\n",
                "kernels", "arch", "threads", "registers", "shared", "stack", "spilled",
                image.traffic ? "counted bytes" : "least bytes", image.traffic ? "  least" : "");
  std::string note =
      !image.traffic         ? "least bytes are those of the largest sizes there are; sinter "
                               "compile --count has them counted"
      : *image.traffic_sizes ? concat("bytes were counted with ", image.traffic_sizes)
                             : "";
  return concat(header, lines, note.empty() ? "" : "  " + note + "\n");
}

std::string describeImage(const sinter_artifact_api *api) {
  const sinter_artifact_image &image = *api->image;
  std::string text =
      concat("artifact ", api->name(api), ", runtime ", api->version(), ", ABI ", api->abi_version,
             "\n", image.variant_count ? "instruction sets\n" : "");
  for (const sinter_kernel_variant &variant : std::span(image.variants, image.variant_count)) {
    std::string missing = rt::missingForIsa(variant.isa);
    text += concat("  ", variant.isa, ": ", counted(variant.count, "kernel"),
                   missing.empty() ? "" : ", not for this CPU, which lacks " + missing, "\n");
  }
  if (image.code_count)
    text += describeCodes(image);
  text += image.vendor == SINTER_VENDOR_ONEDNN   ? "vendor library: oneDNN\n"
          : image.vendor == SINTER_VENDOR_NVIDIA ? "vendor libraries: cuBLASLt, cuDNN\n"
                                                 : "";
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
  std::string text =
      describeImage(*api) + describeProgram(*program) + describeKernels(*(*api)->image, *program);
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
