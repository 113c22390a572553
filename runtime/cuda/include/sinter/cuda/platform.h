// The CUDA devices of this process: options, driver, and one CudaDevice for each logical device.
//
// `CudaPlatform::global()` is the process's; others are for tests. Any thread may call; devices are
// made at their first use and live as long as the platform. Options can be set until then.
#pragma once

#include "sinter/base/status.h"
#include "sinter/cuda/device.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::rt {

namespace cuda {
struct Driver;
}

/// How much of a card a device may take.
struct CudaMemory {
  int64_t limitBytes = 0; ///< 0: `fraction` tells
  double fraction = 0.95; ///< of all the card's memory
  bool grow = true;       ///< on demand; else all of it at the first allocation
  bool operator==(const CudaMemory &) const = default;
};

struct CudaOptions {
  std::string driver = {};    ///< path of libcuda; empty: $SINTER_CUDA_DRIVER, else the system's
  std::string libraries = {}; ///< folders of cuBLASLt and cuDNN; empty: $SINTER_CUDA_LIBRARIES
  bool deviceSync = false;    ///< wait after each work, so that errors name it exactly
  int64_t stagingBytes = 32 << 20; ///< of pinned memory for copies of pageable memory
  CudaMemory memory = {};          ///< of each card that is not split
  /// Card ordinal to its logical devices; others have one, with `memory`.
  std::map<int, std::vector<CudaMemory>> logicalDevices = {};
  bool operator==(const CudaOptions &) const = default;
};

class CudaPlatform {
public:
  CudaPlatform();
  ~CudaPlatform();
  CudaPlatform(const CudaPlatform &) = delete;
  CudaPlatform &operator=(const CudaPlatform &) = delete;
  static CudaPlatform &global();

  /// Checks and takes the options; FailedPrecondition if they change once a device is in use.
  Status configure(const CudaOptions &options);
  /// One option as text: --device-memory=8G (bytes, K/M/G/T, or a share as 0.5),
  /// --device-memory-growth=on|off, --device-sync=on|off (also alone), --staging-memory=64M,
  /// --logical-devices=ORDINAL:4G,4G, --cuda-driver=FILE, --cuda-libraries=FOLDERS.
  Status setOption(std::string_view option);
  CudaOptions options() const;

  /// Number of logical devices. Loads the driver.
  StatusOr<int> deviceCount();
  /// All cards, without making a device of any.
  StatusOr<std::vector<CudaCard>> cards();
  /// "cuda:0", "cuda:1", …: the logical devices of card 0, then those of card 1, and so on.
  StatusOr<CudaDevice *> device(int index);

private:
  Status refuseIfInUse(std::string_view what) const;
  Status configureLocked(const CudaOptions &options);
  Status loadLocked();
  /// Of each logical device: its card and its memory.
  struct Place {
    int card;
    CudaMemory memory;
  };
  std::vector<Place> placesLocked() const;
  Status checkLimits(const CudaCard &card) const;

  mutable std::mutex mutex;
  CudaOptions current;
  const cuda::Driver *driver = nullptr;
  std::vector<CudaCard> cardList;
  std::vector<std::unique_ptr<CudaDevice>> devices; ///< by index, null until used
};

} // namespace sinter::rt
