#include "Target.h"

#include "sinter/abi/emu.h"
#include "sinter/base/text.h"
#include "sinter/emu/device.h"

#include <chrono>
#include <dlfcn.h>
#include <span>

namespace sinter::gpucheck {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class CudaTarget : public Target {
public:
  explicit CudaTarget(rt::CudaDevice &device) : card(device) {}

  rt::Device &device() override { return card; }
  rt::CudaDevice *cuda() override { return &card; }

  std::string describe() const override {
    const rt::CudaCard &about = card.card();
    return concat(about.name, ", sm_", about.capability, ", ", formatBytes(about.memoryBytes),
                  ", driver for CUDA ", rt::formatCudaVersion(about.driverVersion));
  }

  StatusOr<LoadedKernels> load(const Pack &pack, const rt::Program &program) override {
    auto start = Clock::now();
    LoadedKernels loaded;
    std::vector<rt::CudaImage> images;
    for (const DeviceCode &code : pack.code) {
      auto kind = code.form == DeviceCode::Form::Ptx ? rt::CudaImage::Kind::Ptx
                                                     : rt::CudaImage::Kind::Cubin;
      images.push_back(
          {kind, code.architecture, std::as_bytes(std::span(code.bytes)), code.toolkit});
    }
    auto kernels = rt::loadKernels(card, images, program, pack.name);
    if (!kernels.ok())
      return kernels.status();
    loaded.kernels = std::move(kernels->kernels);
    loaded.owner = std::move(kernels->code);
    loaded.seconds = secondsSince(start);
    return loaded;
  }

private:
  rt::CudaDevice &card;
};

class EmulatedTarget : public Target {
public:
  EmulatedTarget(std::unique_ptr<rt::EmuDevice> device, std::string folder)
      : card(std::move(device)), folder(std::move(folder)) {}

  rt::Device &device() override { return *card; }
  std::string describe() const override { return "the emulated card"; }

  StatusOr<LoadedKernels> load(const Pack &pack, const rt::Program &program) override {
    auto start = Clock::now();
    LoadedKernels loaded;
    if (program.kernels.empty())
      return loaded;
    std::string file = folder + "/" + pack.name + ".so";
    void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return makeError(Code::NotFound, "no emulated kernels for ", pack.name, ": ", dlerror(),
                       "; --emulated names their folder");
    loaded.owner = std::shared_ptr<void>(library, dlclose);
    for (const rt::Kernel &kernel : program.kernels) {
      void *handle = dlsym(library, (SINTER_EMU_PREFIX + kernel.symbol).c_str());
      if (!handle)
        return makeError(Code::Corrupt, file, " lacks the kernel ", kernel.symbol,
                         "; record packs and emulated kernels together");
      loaded.kernels.push_back({handle, kernel.symbol});
    }
    loaded.seconds = secondsSince(start);
    return loaded;
  }

private:
  std::unique_ptr<rt::EmuDevice> card;
  std::string folder;
};

} // namespace

StatusOr<std::unique_ptr<Target>> Target::openCuda(int index, const rt::CudaOptions &options) {
  rt::CudaPlatform &platform = rt::CudaPlatform::global();
  SINTER_RETURN_IF_ERROR(platform.configure(options));
  auto device = platform.device(index);
  if (!device.ok())
    return device.status();
  return std::unique_ptr<Target>(std::make_unique<CudaTarget>(**device));
}

StatusOr<std::unique_ptr<Target>> Target::openEmulated(const std::string &folder, int threads) {
  auto device = rt::EmuDevice::create({.threads = threads});
  if (!device.ok())
    return device.status();
  return std::unique_ptr<Target>(std::make_unique<EmulatedTarget>(*std::move(device), folder));
}

} // namespace sinter::gpucheck
