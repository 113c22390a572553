#include "sinter/base/text.h"
#include "sinter/core/artifact_device.h"
#include "sinter/emu/device.h"

#include <string_view>

using namespace sinter;
using namespace sinter::rt;

static Status open(const sinter_artifact_image &image, const char *device,
                   sinter_artifact_device &result) {
  if (device && std::string_view(device) != "emu")
    return makeError(Code::NotFound, "artifact '", image.name, "' has no device '", device,
                     "': it was compiled for the emulated card, 'emu'");
  auto emulator = EmuDevice::create();
  SINTER_RETURN_IF_ERROR(emulator.status());
  result.device = *std::move(emulator);
  const sinter_device_code &code = image.codes[0];
  for (size_t i = 0; i < result.program.kernels.size(); ++i)
    result.kernels.push_back(
        {const_cast<void *>(code.kernels[i]), result.program.kernels[i].symbol});
  return {};
}

void sinter_open_emu(const sinter_artifact_image *image, const char *device,
                     sinter_artifact_device *result) {
  result->status = open(*image, device, *result);
}
