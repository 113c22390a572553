// Loading compiled kernels, with what the driver's compiler says when it refuses PTX.
#include "device_impl.h"
#include "sinter/base/text.h"

#include <map>
#include <vector>

namespace sinter::rt::cuda {
namespace {

class ModuleImpl final : public CudaModule {
public:
  ModuleImpl(DeviceImpl &device, CuModule module, std::string name)
      : device(device), module(module), name(std::move(name)) {}
  ~ModuleImpl() override {
    device.quiesce(); // its kernels may be running
    device.api().cuModuleUnload(module);
  }

  StatusOr<DeviceKernel> kernel(std::string_view symbol) override {
    StatusOr<Entry *> entry = find(symbol);
    if (!entry.ok())
      return entry.status();
    return DeviceKernel{&(*entry)->second, (*entry)->first};
  }
  StatusOr<CudaKernelResources> resources(std::string_view symbol) override {
    StatusOr<Entry *> entry = find(symbol);
    if (!entry.ok())
      return entry.status();
    return (*entry)->second.resources;
  }

private:
  using Entry = std::pair<const std::string, LoadedKernel>;

  StatusOr<Entry *> find(std::string_view symbol) {
    std::string text(symbol);
    if (auto found = kernels.find(text); found != kernels.end())
      return &*found;
    SINTER_RETURN_IF_ERROR(device.refuseInCapture(concat("look up kernel '", symbol, "'"),
                                                  "look it up before the capture"));
    SINTER_RETURN_IF_ERROR(device.makeCurrent());
    const Driver &driver = device.api();
    LoadedKernel kernel;
    CuResult result = driver.cuModuleGetFunction(&kernel.function, module, text.c_str());
    if (result == CuResult::NotFound)
      return makeError(Code::NotFound, device.name(), ": module '", name, "' has no kernel '",
                       symbol, "': compile the program again");
    SINTER_RETURN_IF_ERROR(device.check(result, concat("load kernel '", symbol, "'")));
    // Asking also loads what the driver would load lazily, which it may not do in a capture.
    std::pair<CuFunctionAttribute, int *> wanted[] = {
        {CuFunctionAttribute::NumRegs, &kernel.resources.registers},
        {CuFunctionAttribute::SharedSizeBytes, &kernel.resources.staticSharedBytes},
        {CuFunctionAttribute::LocalSizeBytes, &kernel.resources.localBytes},
        {CuFunctionAttribute::MaxThreadsPerBlock, &kernel.resources.mostThreads}};
    for (auto [attribute, value] : wanted)
      SINTER_RETURN_IF_ERROR(
          device.check(driver.cuFuncGetAttribute(value, attribute, kernel.function),
                       concat("load kernel '", symbol, "'")));
    int allowed = device.card().sharedBytes - kernel.resources.staticSharedBytes;
    kernel.allowedDynamicShared = uint32_t(std::max(allowed, 0));
    return &*kernels.emplace(std::move(text), kernel).first;
  }

  DeviceImpl &device;
  CuModule module;
  std::string name;
  std::map<std::string, LoadedKernel> kernels; // nodes stay where they are
};

/// What the driver wrote, in one line.
std::string oneLine(std::string_view log) {
  std::string text;
  for (char c : log.substr(0, log.find('\0')))
    if (c != '\n' || (!text.empty() && text.back() != ' '))
      text += c == '\n' ? ' ' : c;
  while (text.ends_with(' '))
    text.pop_back();
  return text;
}

Status explainLoad(CuResult result, const CudaImage &image, const CudaCard &card,
                   const Driver &driver, std::string_view log) {
  switch (result) {
  case CuResult::NoBinaryForGpu:
    return makeError(Code::Unsupported, "it holds no kernels for sm_", card.capability, " (",
                     card.name, "): compile with --target=cuda:sm_", card.capability);
  case CuResult::InvalidImage:
  case CuResult::InvalidSource:
    return makeError(Code::Corrupt, "the driver (CUDA ", formatCudaVersion(driver.version),
                     ") does not take the image: it is damaged, or made by a newer toolkit than "
                     "the driver knows; compile or copy it again, or update the driver");
  case CuResult::UnsupportedPtxVersion:
    return makeError(Code::Unsupported, "its ", describeForm(image),
                     " is newer than the driver (CUDA ", formatCudaVersion(driver.version),
                     "): update the driver");
  case CuResult::JitCompilerNotFound:
    return makeError(Code::Unsupported,
                     "the driver's PTX compiler (libnvidia-ptxjitcompiler) is "
                     "not installed: install it, or compile for sm_",
                     card.capability);
  case CuResult::JitCompilationDisabled:
    return makeError(Code::Unsupported,
                     "CUDA_DISABLE_PTX_JIT forbids compiling PTX: unset it, or "
                     "compile for sm_",
                     card.capability);
  case CuResult::InvalidPtx:
    return makeError(Code::Internal, "the driver's compiler refuses its PTX: ",
                     log.empty() ? driver.describe(result) : oneLine(log),
                     ": this is a mistake of sinter's; report it with the PTX");
  default:
    return makeError(Code::Internal, driver.describe(result), log.empty() ? "" : ": ",
                     oneLine(log));
  }
}

} // namespace

StatusOr<std::unique_ptr<CudaModule>> DeviceImpl::loadModule(std::span<const CudaImage> images,
                                                             std::string_view name) {
  SINTER_RETURN_IF_ERROR(
      refuseInCapture(concat("load module '", name, "'"), "load it before the capture"));
  SINTER_RETURN_IF_ERROR(makeCurrent());
  auto explain = [&](const Status &status) {
    return makeError(status.code(), deviceName, ": module '", name, "': ", status.message());
  };
  StatusOr<size_t> chosen = chooseImage(images, cardInfo.capability, driver.version);
  if (!chosen.ok())
    return explain(chosen.status());
  const CudaImage &image = images[*chosen];
  // The driver reads PTX up to a zero byte.
  std::vector<std::byte> bytes(image.bytes.begin(), image.bytes.end());
  bytes.push_back(std::byte(0));
  std::string log(8192, '\0');
  CuJitOption options[] = {CuJitOption::ErrorLogBuffer, CuJitOption::ErrorLogBufferSizeBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  CuModule module = nullptr;
  CuResult result = driver.cuModuleLoadDataEx(&module, bytes.data(), 2, options, values);
  if (losesContext(result))
    return fail(result, concat("load module '", name, "'"));
  if (result != CuResult::Success)
    return explain(explainLoad(result, image, cardInfo, driver, std::string_view(log.c_str())));
  return std::unique_ptr<CudaModule>(
      std::make_unique<ModuleImpl>(*this, module, std::string(name)));
}

} // namespace sinter::rt::cuda

namespace sinter::rt {

StatusOr<CudaKernels> loadKernels(CudaDevice &card, std::span<const CudaImage> images,
                                  const Program &program, std::string_view name) {
  CudaKernels loaded;
  if (program.kernels.empty()) // and there may be no image
    return loaded;
  StatusOr<std::unique_ptr<CudaModule>> module = card.loadModule(images, name);
  if (!module.ok())
    return module.status();
  loaded.code = *std::move(module);
  for (const Kernel &kernel : program.kernels) {
    StatusOr<DeviceKernel> found = loaded.code->kernel(kernel.symbol);
    if (!found.ok())
      return found.status();
    loaded.kernels.push_back(*found);
  }
  return loaded;
}

} // namespace sinter::rt
