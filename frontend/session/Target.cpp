// The CPU and the emulated card; CudaTarget.cpp has the real one.
#include "session/Target.h"

#include "session/Weights.h"
#include "sinter/base/error.h"
#include "sinter/base/text.h"
#include "sinter/emu/device.h"

namespace sinter::detail {
namespace {

Loaded loaded(codegen::JitImage image) {
  return {std::move(image.program), std::move(image.kernels), std::move(image.deviceKernels),
          std::move(image.code), image.stats};
}

class CpuTarget final : public ComputeTarget {
public:
  explicit CpuTarget(const Options &options) : useOneDnn(options.vendor != "none") {
    if (useOneDnn)
      library = rt::vendorLibrary();
  }
  llvm::FailureOr<Loaded> load(mlir::ModuleOp module, codegen::CompileOptions options) override {
    options.device = "cpu";
    options.vendor = useOneDnn ? "onednn" : "none";
    auto image = codegen::compile(module, options);
    if (failed(image))
      return llvm::failure();
    return loaded(*std::move(image));
  }

private:
  bool useOneDnn;
};

class EmulatedTarget final : public ComputeTarget {
public:
  explicit EmulatedTarget(const Options &options) : card(*rt::findCard(options.card)) {
    rt::EmuOptions emulation;
    emulation.threads = options.threads;
    emulation.check = options.emu == "check";
    emulation.count = counts = options.emu == "count";
    instrument = emulation.check || emulation.count;
    auto made = rt::EmuDevice::create(emulation);
    check(made.status());
    emulator = *std::move(made);
    device = rt::DeviceVariables::create(emulator);
  }
  llvm::FailureOr<Loaded> load(mlir::ModuleOp module, codegen::CompileOptions options) override {
    options.device = "emu";
    options.instrument = instrument;
    options.vendor = "none";
    auto image = codegen::compile(module, options);
    if (failed(image))
      return llvm::failure();
    return loaded(*std::move(image));
  }
  std::string report() const override {
    return counts ? rt::formatCounts(emulator->counts(), card) : std::string();
  }

private:
  const rt::Card &card;
  bool instrument = false, counts = false;
  std::shared_ptr<rt::EmuDevice> emulator;
};

void checkVendor(const Options &options, const char *own) {
  if (options.vendor != "auto" && options.vendor != "none" && options.vendor != own)
    throw Error(concat("--sinter-vendor=", options.vendor, " does not run on the device '",
                       options.device, "'; leave it to auto, or say none",
                       *own ? concat(" or ", own) : std::string()));
}

/// What a program filled into the struct is held to what the flags are.
void checkChoices(const Options &options) {
  Options checked;
  checked.set("--sinter-device=" + options.device);
  checked.set("--sinter-vendor=" + options.vendor);
  checked.set("--sinter-card=" + options.card);
  if (!options.emu.empty())
    checked.set("--sinter-emu=" + options.emu);
}

} // namespace

std::unique_ptr<ComputeTarget> makeTarget(const Options &options) {
  checkChoices(options);
  bool isCuda = options.device.starts_with("cuda"), isEmulated = options.device == "emu";
  if (!options.emu.empty() && !isEmulated)
    throw Error(
        concat("--sinter-emu=", options.emu, " needs --sinter-device=emu, not ", options.device));
  if (!options.cuda.empty() && !isCuda)
    throw Error(concat("--sinter-", options.cuda.front(), " needs --sinter-device=cuda, not ",
                       options.device));
  checkVendor(options, isCuda ? "nvidia" : isEmulated ? "" : "onednn");
  if (isCuda)
    return makeCudaTarget(options);
  if (isEmulated)
    return std::make_unique<EmulatedTarget>(options);
  return std::make_unique<CpuTarget>(options);
}

} // namespace sinter::detail
