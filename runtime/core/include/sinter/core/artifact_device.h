// An artifact's kernels on a device: what the runtime of each kind of device gives artifacts. The
// image that the compiler emits names the function, so that only artifacts for a device link it.
#pragma once

#include "sinter/abi/artifact.h"
#include "sinter/core/device.h"
#include "sinter/core/library.h"

#include <memory>
#include <vector>

/// What `open_device` fills. `program` is given to it, and `status` is an error if nothing else is
/// of use.
struct sinter_artifact_device {
  const sinter::rt::Program &program;
  sinter::Status status = {};
  std::shared_ptr<sinter::rt::Device> device = {};
  std::vector<sinter::rt::DeviceKernel> kernels = {}; ///< one a kernel of the program
  std::shared_ptr<sinter::rt::DeviceLibrary> library = {};
  std::shared_ptr<void> code = {}; ///< keeps the kernels loaded
};

extern "C" {
/// Cards that run CUDA: "cuda:0" and so on (runtime/cuda).
void sinter_open_cuda(const sinter_artifact_image *image, const char *device,
                      sinter_artifact_device *result);
/// The emulated card: "emu" (runtime/emu).
void sinter_open_emu(const sinter_artifact_image *image, const char *device,
                     sinter_artifact_device *result);
}
