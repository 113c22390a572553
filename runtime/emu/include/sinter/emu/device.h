// A device that is the CPU: it runs GPU kernels that codegen/emulator compiled for the host, and
// behaves as a card does, so that what would fail there fails here, with a better message.
//
// Memory is of its own: device addresses mean nothing to the host (touching one faults), and the
// host's mean nothing to kernels. Work runs later, on the device's thread, its blocks over the
// device's pool. A kernel's handle is its description (`sinter_emu_kernel`, sinter/abi/emu.h),
// which must outlive the work. One caller at a time; see docs/emulator.md.
#pragma once

#include "sinter/core/device.h"
#include "sinter/emu/counts.h"

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct sinter_emu_kernel;

namespace sinter::rt {

struct EmuOptions {
  std::string name = "emu";
  int64_t memory = int64_t(16) << 30; ///< bytes that allocations may have together
  int threads = 0;                    ///< that blocks run on; 0: one for each hardware thread
  /// Nothing runs before `synchronize`, so that a missing one is found every time.
  bool deferred = false;
  /// Each piece of work starts so much later.
  std::chrono::microseconds delay{0};
  /// Kernels' accesses and meetings are checked. Kernels that are not instrumented are refused.
  bool check = false;
  /// Kernels' transactions and instructions are counted; needs instrumented kernels, too.
  bool count = false;
  /// count: buffers of at most so many bytes are taken to stay in the card's cache during a launch,
  /// so that their sectors come from memory once; those of larger ones each time.
  uint64_t keptBytes = 0;
  uint32_t mostShared = 227 << 10; ///< bytes a block; an H100's and H200's limit
};

class EmuDevice final : public Device {
public:
  /// Fails if there is no address space for the memory.
  static StatusOr<std::unique_ptr<EmuDevice>> create(EmuOptions options = {});
  ~EmuDevice() override; ///< work that has not begun is dropped

  std::string_view name() const override;
  StatusOr<void *> allocate(size_t bytes, const WorkOrigin &origin) override;
  void free(void *memory) override;
  Status copyToDevice(void *to, const void *from, size_t bytes, const WorkOrigin &origin) override;
  Status copyToHost(void *to, const void *from, size_t bytes, const WorkOrigin &origin) override;
  Status copy(void *to, const void *from, size_t bytes, const WorkOrigin &origin) override;
  Status launch(const DeviceKernel &kernel, const LaunchShape &shape, void *const *params,
                const WorkOrigin &origin) override;
  Status synchronize() override;
  /// To check and to know what stays in the cache, where buffers share an allocation: a parameter
  /// must stay within its buffer.
  bool wantsBuffers() const override;
  void describeBuffers(std::span<const DeviceBuffer> buffers) override;

  /// What was counted since the last `resetCounts`, one entry a kernel, in order of first launch.
  /// Synchronize first.
  std::vector<KernelCounts> counts() const;
  void resetCounts();

  /// Bytes that allocations have now, freed ones whose work is not done included.
  int64_t bytesInUse() const;

private:
  struct Impl;
  explicit EmuDevice(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace sinter::rt
