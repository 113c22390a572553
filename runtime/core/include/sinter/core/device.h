// What an accelerator is to the executor: memory of its own, one stream of work, kernels.
//
// Work is enqueued and runs later, in order; only `synchronize` waits. Host memory handed to a copy
// must stay valid and untouched until then. An error of enqueued work surfaces at the next call
// that can return one, and names the work. One caller at a time each device.
//
// Every implementation passes tests/runtime/device_conformance.h.
#pragma once

#include "sinter/base/status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sinter::rt {

/// A loaded kernel, made by the device's own loader and valid as long as what it was loaded from.
struct DeviceKernel {
  void *handle = nullptr; ///< the device's own
  std::string_view symbol;
};

/// How a kernel is started. Sizes are in blocks and threads, x first; none may be 0.
struct LaunchShape {
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  uint32_t dynamicSharedBytes = 0;
};

/// Where enqueued work comes from, for errors and profiles; must live until the work is done.
struct WorkOrigin {
  std::string_view name;     ///< the command's, "layer_norm.gelu"
  std::string_view location; ///< "train.cc:31"
};

/// What a pointer parameter of a launch points to.
struct DeviceBuffer {
  const void *first = nullptr;
  size_t bytes = 0;
  std::string_view name;
  bool written = true; ///< false: the kernel may only read it
};

class Device {
public:
  virtual ~Device() = default;

  virtual std::string_view name() const = 0; ///< "cuda:0", "emu"

  /// Device memory, aligned to 256 bytes, contents undefined. `origin` names the owner in the
  /// report of an OutOfMemory error.
  virtual StatusOr<void *> allocate(size_t bytes, const WorkOrigin &origin) = 0;
  /// Gives memory back once the work enqueued so far is done. Null is fine.
  virtual void free(void *memory) = 0;

  virtual Status copyToDevice(void *to, const void *from, size_t bytes,
                              const WorkOrigin &origin) = 0;
  virtual Status copyToHost(void *to, const void *from, size_t bytes, const WorkOrigin &origin) = 0;
  virtual Status copy(void *to, const void *from, size_t bytes, const WorkOrigin &origin) = 0;

  /// `params[i]` points to the value of the kernel's parameter i, which is copied before the call
  /// returns.
  virtual Status launch(const DeviceKernel &kernel, const LaunchShape &shape, void *const *params,
                        const WorkOrigin &origin) = 0;

  /// Whether `describeBuffers` should come before each launch; only devices that check kernels
  /// look.
  virtual bool wantsBuffers() const { return false; }
  /// What the first parameters of the next launch point to, in order; copied before the call
  /// returns.
  virtual void describeBuffers(std::span<const DeviceBuffer>) {}

  /// Waits until all enqueued work is done.
  virtual Status synchronize() = 0;
};

} // namespace sinter::rt
