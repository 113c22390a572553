#include "sinter/base/text.h"
#include "sinter/core/artifact_device.h"
#include "sinter/cuda/library.h"
#include "sinter/cuda/platform.h"

#include <charconv>
#include <string_view>

using namespace sinter;
using namespace sinter::rt;

namespace {

/// 1 of "cuda:1".
StatusOr<int> indexOf(const sinter_artifact_image &image, std::string_view device) {
  constexpr std::string_view prefix = "cuda:";
  int index = 0;
  if (device == "cuda")
    return index;
  if (device.starts_with(prefix)) {
    const char *end = device.data() + device.size();
    auto [next, error] = std::from_chars(device.data() + prefix.size(), end, index);
    if (error == std::errc() && next == end && index >= 0)
      return index;
  }
  return makeError(Code::NotFound, "artifact '", image.name, "' has no device '", device,
                   "': it was compiled for CUDA cards, 'cuda:0' and so on");
}

std::vector<CudaImage> formsOf(const sinter_artifact_image &image) {
  std::vector<CudaImage> forms;
  for (const sinter_device_code &code : std::span(image.codes, image.code_count))
    forms.push_back({code.kind == SINTER_CODE_CUBIN ? CudaImage::Kind::Cubin : CudaImage::Kind::Ptx,
                     code.architecture, std::as_bytes(std::span(code.bytes, size_t(code.size))),
                     int(code.toolkit)});
  return forms;
}

Status open(const sinter_artifact_image &image, const char *device,
            sinter_artifact_device &result) {
  StatusOr<int> index = indexOf(image, device ? device : "cuda");
  SINTER_RETURN_IF_ERROR(index.status());
  CudaPlatform &platform = CudaPlatform::global();
  StatusOr<CudaDevice *> card = platform.device(*index);
  SINTER_RETURN_IF_ERROR(card.status());
  result.device = std::shared_ptr<Device>(std::shared_ptr<void>(), *card); // the platform owns it
  auto loaded = loadKernels(**card, formsOf(image), result.program, image.name);
  SINTER_RETURN_IF_ERROR(loaded.status());
  result.kernels = std::move(loaded->kernels);
  result.code = std::move(loaded->code);
  if (image.vendor == SINTER_VENDOR_NVIDIA)
    result.library = std::make_shared<CudaLibraries>(
        **card,
        CudaLibraryOptions{.searchPath = platform.options().libraries, .deterministic = true});
  return {};
}

} // namespace

void sinter_open_cuda(const sinter_artifact_image *image, const char *device,
                      sinter_artifact_device *result) {
  Status status = open(*image, device, *result);
  result->status = status.ok() ? status
                               : Status(status.code(),
                                        concat("artifact '", image->name, "': ", status.message()));
}
