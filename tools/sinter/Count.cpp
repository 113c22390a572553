#include "Count.h"

#include "Arrays.h"
#include "sinter/base/text.h"
#include "sinter/core/executable.h"
#include "sinter/emu/device.h"

#include <algorithm>
#include <bit>

namespace sinter::tools {
namespace {

/// One value a symbol of the program.
StatusOr<std::vector<int64_t>> sizesOf(const rt::Program &program,
                                       const std::map<std::string, int64_t> &sizes) {
  std::vector<int64_t> values;
  std::vector<std::string> names;
  for (const rt::Symbol &symbol : program.symbols) {
    auto given = sizes.find(symbol.name);
    int64_t size = given == sizes.end() ? std::max<int64_t>(1, symbol.lower) : given->second;
    if (size < symbol.lower || (symbol.upper >= 0 && size > symbol.upper))
      return makeError(Code::InvalidArgument, "--dim ", symbol.name, "=", size,
                       " is out of bounds: ", symbol.name, " is ", symbol.lower,
                       symbol.upper < 0 ? " or more" : concat(" to ", symbol.upper));
    values.push_back(size);
    names.push_back(symbol.name);
  }
  for (const auto &[name, size] : sizes)
    if (std::ranges::find(names, name) == names.end()) {
      std::string_view near = nearestName(name, names);
      return makeError(Code::NotFound, "--dim ", name, "=", size, ": no entry has a dimension '",
                       name, "'", near.empty() ? "" : concat("; did you mean '", near, "'?"));
    }
  return values;
}

std::string describe(const rt::Program &program, const std::vector<int64_t> &sizes) {
  std::string text;
  for (size_t i = 0; i < sizes.size(); ++i)
    text += concat(i ? ", " : "", program.symbols[i].name, "=", sizes[i]);
  return text;
}

/// Runs every entry; `device` counts.
Status callAll(const codegen::JitImage &image, std::shared_ptr<rt::EmuDevice> device,
               const std::vector<int64_t> &dims) {
  const rt::Program &program = *image.program;
  rt::VariableStore variables;
  SINTER_RETURN_IF_ERROR(variables.addAll(program));
  rt::ThreadPool pool(0);
  rt::Executable::Options options;
  options.device = rt::DeviceVariables::create(std::move(device));
  options.deviceKernels = image.deviceKernels;
  for (size_t entry = 0; entry < program.entries.size(); ++entry) {
    auto executable = rt::Executable::create(image.program, rt::Index(entry), image.kernels,
                                             variables, pool, nullptr, options);
    SINTER_RETURN_IF_ERROR(executable.status());
    std::vector<rt::Array> inputs;
    for (const rt::Port &port : program.entries[entry].inputs) {
      rt::Dims shape;
      for (rt::Index dim : port.dims)
        shape.push_back(dims[size_t(dim)]);
      inputs.push_back(randomArray(port.dtype, std::move(shape), inputs.size()));
    }
    SINTER_RETURN_IF_ERROR((*executable)->call(inputs).status());
  }
  return {};
}

} // namespace

StatusOr<codegen::KernelTraffic> countTraffic(mlir::ModuleOp module,
                                              codegen::CompileOptions options,
                                              const std::map<std::string, int64_t> &sizes) {
  options.device = "emu";
  options.instrument = true;
  auto image = codegen::compile(module, options);
  if (failed(image))
    return Status(Code::InvalidArgument, "its kernels could not be made for the emulated card");
  const rt::Program &program = *image->program;
  auto symbols = sizesOf(program, sizes);
  SINTER_RETURN_IF_ERROR(symbols.status());
  std::vector<int64_t> dims;
  rt::evaluate(program, symbols->data(), dims);
  auto device = rt::EmuDevice::create(
      {.count = true, .keptBytes = std::bit_floor(rt::findCard("h200")->cacheBytes)});
  SINTER_RETURN_IF_ERROR(device.status());
  std::shared_ptr<rt::EmuDevice> emulator = *std::move(device);
  SINTER_RETURN_IF_ERROR(callAll(*image, emulator, dims));
  codegen::KernelTraffic traffic{describe(program, *symbols), {}};
  traffic.kernels.resize(program.kernels.size());
  for (const rt::KernelCounts &counts : emulator->counts()) {
    auto kernel = std::ranges::find(program.kernels, counts.kernel, &rt::Kernel::symbol);
    traffic.kernels[size_t(kernel - program.kernels.begin())] = {
        counts.launches, counts.bytesFetched(),
        counts.read.distinctBytes + counts.written.distinctBytes};
  }
  return traffic;
}

} // namespace sinter::tools
