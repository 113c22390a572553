// Where packs run: a card, or the emulated one. A target owns its device and loads kernels for it;
// one caller at a time.
#pragma once

#include "Pack.h"

#include "sinter/core/device.h"
#include "sinter/core/program.h"
#include "sinter/cuda/platform.h"

#include <memory>
#include <string>
#include <vector>

namespace sinter::gpucheck {

/// A program's kernels, in its order.
struct LoadedKernels {
  std::shared_ptr<void> owner;
  std::vector<rt::DeviceKernel> kernels; ///< refer to the program's symbols
  double seconds = 0;                    ///< that loading took, the driver's compiler included
};

class Target {
public:
  virtual ~Target() = default;
  virtual rt::Device &device() = 0;
  /// "NVIDIA H200, sm_90, 139.7 GiB, driver for CUDA 13.0"
  virtual std::string describe() const = 0;
  virtual StatusOr<LoadedKernels> load(const Pack &pack, const rt::Program &program) = 0;
  virtual rt::CudaDevice *cuda() { return nullptr; } ///< null: not a card

  static StatusOr<std::unique_ptr<Target>> openCuda(int index, const rt::CudaOptions &options);
  /// `folder` has a shared object for each pack, `<folder>/<name>.so`.
  static StatusOr<std::unique_ptr<Target>> openEmulated(const std::string &folder, int threads);
};

} // namespace sinter::gpucheck
