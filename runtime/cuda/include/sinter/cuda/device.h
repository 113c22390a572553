// A CUDA card as an rt::Device, and what only CUDA has: modules, events, pinned memory, whole-step
// graphs.
//
// Devices belong to the CudaPlatform that made them. Modules, graphs, events and pinned memory
// belong to the caller and must go before the platform does. A device serves one caller at a time,
// from any thread; two devices may be used at once, on one card too. Every call makes the card's
// primary context current on the calling thread and leaves it so.
#pragma once

#include "sinter/base/function_ref.h"
#include "sinter/core/device.h"
#include "sinter/core/program.h"
#include "sinter/cuda/image.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::rt {

/// What the driver tells of a card.
struct CudaCard {
  int ordinal = 0;    ///< as the driver counts, behind CUDA_VISIBLE_DEVICES
  std::string name;   ///< "NVIDIA H200"
  int capability = 0; ///< 10 major + minor: 90
  int64_t memoryBytes = 0;
  int multiprocessors = 0, warpSize = 0;
  int64_t l2Bytes = 0;
  std::array<int, 3> mostBlocks{}, mostThreads{}; ///< of a grid and a block, x first
  int mostThreadsPerBlock = 0;
  int sharedBytes = 0;      ///< of a block
  int optinSharedBytes = 0; ///< of a block whose kernel opts in, as `launch` does by itself
  int driverVersion = 0;    ///< 13000: CUDA 13.0
};

/// Bytes of one logical device.
struct CudaMemoryUse {
  int64_t reserved = 0;  ///< taken from the card
  int64_t allocated = 0; ///< in live allocations
  int64_t peak = 0;      ///< largest `allocated` so far
  int64_t limit = 0;
};

/// What ptxas made of a kernel.
struct CudaKernelResources {
  int registers = 0;
  int staticSharedBytes = 0;
  int localBytes = 0; ///< stack and spills, a thread
  int mostThreads = 0;
};

class CudaModule {
public:
  virtual ~CudaModule() = default;
  /// NotFound names the module and symbol. Valid as long as the module.
  virtual StatusOr<DeviceKernel> kernel(std::string_view symbol) = 0;
  virtual StatusOr<CudaKernelResources> resources(std::string_view symbol) = 0;
};

/// Work captured once, launched at one price. It uses the addresses it was captured with: memory it
/// reads or writes must live as long as it does.
class CudaGraph {
public:
  virtual ~CudaGraph() = default;
  virtual Status launch(const WorkOrigin &origin) = 0;
  virtual size_t nodes() const = 0;
};

/// A point in a device's stream.
class CudaEvent {
public:
  virtual ~CudaEvent() = default;
  virtual StatusOr<bool> done() = 0;
  virtual Status wait() = 0;
  /// Both must be recorded with `timed` and done.
  virtual StatusOr<double> millisecondsSince(const CudaEvent &start) = 0;
};

/// Page-locked host memory: copies to and from it need no staging and may be captured.
class PinnedMemory {
public:
  virtual ~PinnedMemory() = default;
  virtual std::byte *data() const = 0;
  virtual size_t bytes() const = 0;
};

class CudaDevice : public Device {
public:
  virtual const CudaCard &card() const = 0;
  std::unique_ptr<Replay> makeReplay() override;

  /// Loads the image that suits card and driver. `name` is for errors. The bytes are read during
  /// the call only.
  virtual StatusOr<std::unique_ptr<CudaModule>> loadModule(std::span<const CudaImage> images,
                                                           std::string_view name) = 0;

  /// From here to `endCapture` work is recorded and does not run. Refused meanwhile: `allocate`,
  /// `synchronize`, modules, and copies of memory that is not pinned.
  virtual Status beginCapture() = 0;
  virtual StatusOr<std::unique_ptr<CudaGraph>> endCapture() = 0;
  /// Ends a capture and forgets it; nothing happens if there is none.
  virtual void abandonCapture() = 0;
  virtual bool capturing() const = 0;

  virtual StatusOr<std::unique_ptr<CudaEvent>> record(bool timed = false) = 0;
  /// Work enqueued from now on runs after the event, which may be another device's.
  virtual Status waitFor(const CudaEvent &event) = 0;
  virtual StatusOr<std::unique_ptr<PinnedMemory>> pin(size_t bytes) = 0;

  virtual CudaMemoryUse memoryUse() const = 0;
  /// The table of an OutOfMemory error: sizes, then owners, largest first.
  virtual std::string memoryReport() const = 0;
  /// Gives what is kept for later requests, but not in use, back to the card.
  virtual Status releaseCache() = 0;

  /// Each work is awaited before its call returns (`--device-sync`).
  virtual bool synchronous() const = 0;
  virtual void *nativeStream() const = 0;  ///< CUstream, for vendor libraries
  virtual void *nativeContext() const = 0; ///< CUcontext
  /// Makes the card's context the calling thread's, as vendor libraries need.
  virtual Status makeCurrent() = 0;
  /// Books work that a vendor library enqueued on the stream, as `launch` does its own.
  virtual Status enqueued(const WorkOrigin &origin) = 0;
};

/// A program's kernels, one an entry of its table, loaded as long as `code` lives.
struct CudaKernels {
  std::vector<DeviceKernel> kernels;
  std::shared_ptr<CudaModule> code;
};
/// Loads what suits the card of `images`, which hold all kernels of the program.
StatusOr<CudaKernels> loadKernels(CudaDevice &card, std::span<const CudaImage> images,
                                  const Program &program, std::string_view name);

/// A step that is captured on its first run and replayed as long as its addresses stay the same.
/// Not captured at all by a device that is `synchronous`.
class CapturedStep final : public Replay {
public:
  explicit CapturedStep(CudaDevice &device) : device(device) {}

  /// On other addresses than last time the step is captured again by calling `enqueue`.
  Status run(std::span<void *const> addresses, FunctionRef<Status()> enqueue,
             const WorkOrigin &origin) override;
  size_t captures() const { return captureCount; }

private:
  CudaDevice &device;
  std::unique_ptr<CudaGraph> graph;
  std::vector<void *> capturedAddresses;
  size_t captureCount = 0;
};

} // namespace sinter::rt
