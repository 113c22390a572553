// A real card: kernels as PTX, which the driver assembles, and NVIDIA's libraries where they are.
#include "session/Target.h"

#include "session/Weights.h"
#include "sinter/base/error.h"
#include "sinter/base/text.h"
#include "sinter/codegen/Cuda.h"
#include "sinter/cuda/library.h"
#include "sinter/cuda/platform.h"

#include <charconv>
#include <cstdio>

namespace sinter::detail {
namespace {

class CudaTarget final : public ComputeTarget {
public:
  explicit CudaTarget(const Options &options)
      : chosenVendor(options.vendor), verbose(options.verbose) {
    rt::CudaPlatform &platform = rt::CudaPlatform::global();
    for (const std::string &option : options.cuda)
      check(platform.setOption("--" + option));
    auto found = platform.device(indexOf(options.device));
    check(found.status());
    card = *found;
    device = rt::DeviceVariables::create(
        std::shared_ptr<rt::Device>(std::shared_ptr<void>(), card)); // the platform owns it
    architecture = codegen::architectureFor(card->card().capability);
    if (architecture.empty())
      throw Error(concat(card->name(), " is ", card->card().name, ", sm_", card->card().capability,
                         ": too old, sinter needs sm_80; run on another card or the cpu"));
    if (chosenVendor != "none")
      openLibraries(
          {.searchPath = platform.options().libraries, .deterministic = options.deterministic});
  }

  llvm::FailureOr<Loaded> load(mlir::ModuleOp module, codegen::CompileOptions options) override {
    if (options.vendor != "none")
      options.vendor = vendor;
    auto image = codegen::compileCuda(
        module, {.architectures = {architecture}, .assemble = false, .compile = options});
    if (failed(image))
      return llvm::failure();
    Loaded result;
    result.program = std::make_shared<const rt::Program>(std::move(image->program));
    result.stats = image->stats;
    const std::string &ptx = image->code.front().ptx;
    rt::CudaImage form{rt::CudaImage::Kind::Ptx, architecture,
                       std::as_bytes(std::span(ptx.data(), ptx.size()))};
    auto loaded =
        rt::loadKernels(*card, {&form, 1}, *result.program, result.program->entries.front().name);
    check(loaded.status());
    result.deviceKernels = std::move(loaded->kernels);
    result.code = std::move(loaded->code);
    return result;
  }

  bool allowsNoLibrary(const std::string &reason) override {
    if (chosenVendor != "auto" || vendor == "none")
      return false;
    say(reason + "; this step's products and convolutions use generated kernels");
    return true;
  }

private:
  static int indexOf(const std::string &device) {
    int index = 0;
    if (size_t colon = device.find(':'); colon != device.npos)
      std::from_chars(device.data() + colon + 1, device.data() + device.size(), index);
    return index;
  }

  void openLibraries(const rt::CudaLibraryOptions &wanted) {
    auto libraries = std::make_shared<rt::CudaLibraries>(*card, wanted);
    Status products = libraries->openProducts(), convolutions = libraries->openConvolutions();
    if (chosenVendor == "nvidia") {
      check(products);
      check(convolutions);
    }
    deviceLibrary = libraries;
    vendor = !products.ok() ? "none" : convolutions.ok() ? "nvidia" : "cublaslt";
    if (!products.ok())
      say(concat(products.message(), "; products and convolutions use generated kernels"));
    else if (!convolutions.ok())
      say(concat(convolutions.message(), "; convolutions use generated kernels"));
  }

  void say(const std::string &text) const {
    if (verbose)
      std::fprintf(stderr, "sinter: %s\n", text.c_str());
  }

  std::string chosenVendor, vendor = "none", architecture;
  bool verbose;
  rt::CudaDevice *card = nullptr;
};

} // namespace

std::unique_ptr<ComputeTarget> makeCudaTarget(const Options &options) {
  return std::make_unique<CudaTarget>(options);
}

} // namespace sinter::detail
