// The CudaDevice: one stream and one allocator on the card's primary context. See device.h for
// ownership and threads; the parts that belong to callers keep a reference to it.
#pragma once

#include "caching_allocator.h"
#include "driver.h"
#include "sinter/cuda/platform.h"
#include "staging.h"
#include "work_log.h"

#include <memory>
#include <optional>

namespace sinter::rt::cuda {

/// A loaded function and what must be known to launch it: what DeviceKernel::handle points to.
struct LoadedKernel {
  CuFunction function = nullptr;
  CudaKernelResources resources;
  uint32_t allowedDynamicShared = 0; ///< without opting in again
};

/// The card's primary context, held, and a stream on it: the first to come, the last to go.
class Session {
public:
  Session(const Driver &driver, int ordinal) : driver(driver), ordinal(ordinal) {}
  ~Session();
  Session(const Session &) = delete;
  CuResult open();

  const Driver &driver;
  CuContext context = nullptr;
  CuStream stream = nullptr;

private:
  int ordinal;
  CuDevice device = 0;
};

class DeviceImpl final : public CudaDevice, private BlockSource {
public:
  struct Settings {
    int64_t memoryLimit = 0;
    bool grow = true, sync = false;
    int64_t stagingBytes = 0;
  };
  static StatusOr<std::unique_ptr<CudaDevice>> create(const Driver &driver, const CudaCard &card,
                                                      std::string name, const Settings &settings);
  ~DeviceImpl() override;

  std::string_view name() const override { return deviceName; }
  const CudaCard &card() const override { return cardInfo; }
  StatusOr<void *> allocate(size_t bytes, const WorkOrigin &origin) override;
  void free(void *memory) override;
  Status copyToDevice(void *to, const void *from, size_t bytes, const WorkOrigin &origin) override;
  Status copyToHost(void *to, const void *from, size_t bytes, const WorkOrigin &origin) override;
  Status copy(void *to, const void *from, size_t bytes, const WorkOrigin &origin) override;
  Status launch(const DeviceKernel &kernel, const LaunchShape &shape, void *const *params,
                const WorkOrigin &origin) override;
  Status synchronize() override;

  StatusOr<std::unique_ptr<CudaModule>> loadModule(std::span<const CudaImage> images,
                                                   std::string_view name) override;
  Status beginCapture() override;
  StatusOr<std::unique_ptr<CudaGraph>> endCapture() override;
  void abandonCapture() override;
  bool capturing() const override { return inCapture; }
  StatusOr<std::unique_ptr<CudaEvent>> record(bool timed) override;
  Status waitFor(const CudaEvent &event) override;
  StatusOr<std::unique_ptr<PinnedMemory>> pin(size_t bytes) override;
  CudaMemoryUse memoryUse() const override;
  std::string memoryReport() const override;
  Status releaseCache() override;
  bool synchronous() const override { return sync; }
  void *nativeStream() const override { return session->stream; }
  void *nativeContext() const override { return session->context; }
  Status makeCurrent() override;
  Status enqueued(const WorkOrigin &origin) override;

  // For modules, graphs and events.
  const Driver &api() const { return driver; }
  CuStream cuStream() const { return session->stream; }
  /// An error of `action` ("load module 'x'", a launch's origin); a lost context is remembered.
  Status fail(CuResult result, std::string_view action);
  Status check(CuResult result, std::string_view action) {
    return result == CuResult::Success ? Status() : fail(result, action);
  }
  /// Refuses `what` while a step is captured.
  Status refuseInCapture(std::string_view what, std::string_view remedy) const;
  /// Waits without an error, before something that work may use goes away.
  void quiesce();

private:
  DeviceImpl(std::unique_ptr<Session> session, const CudaCard &card, std::string name,
             const Settings &settings);

  StatusOr<void *> reserve(int64_t bytes) override;
  void release(void *block) override;
  Status drain() override;

  /// Waits and delivers the downloads.
  Status settle();
  bool pinned(const void *memory) const;
  Status refusePageable(std::string_view direction, const WorkOrigin &origin) const;
  Status copyStaged(void *to, const void *from, size_t bytes, bool upload,
                    const WorkOrigin &origin);
  Status finishWork(CuResult result, const WorkOrigin &origin);
  Status checkShape(const LoadedKernel &kernel, const LaunchShape &shape) const;
  Status explainOutOfMemory(size_t bytes, const WorkOrigin &origin);

  std::unique_ptr<Session> session;
  const Driver &driver;
  CudaCard cardInfo;
  std::string deviceName;
  bool sync;
  bool inCapture = false;
  Status lost;    ///< why the context cannot be used any more
  Status pending; ///< a mistake of a call that returns no status
  WorkLog log;
  StagingRing staging;
  CachingAllocator allocator; ///< behind what its `drain` uses
};

} // namespace sinter::rt::cuda
