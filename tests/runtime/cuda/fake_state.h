// The fake card behind fake_cuda: memory, streams, kernels. One lock around everything.
#pragma once

#include "driver_types.h"
#include "sinter/abi/emu.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace sinter::rt::cuda {

using Work = std::function<CuResult()>;

struct CuContextObject {
  CuDevice device = 0;
  int references = 0;
};
struct CuGraphObject {
  std::vector<Work> works;
};
struct CuGraphExecObject {
  std::vector<Work> works;
};
struct CuStreamObject {
  CuContext context = nullptr;
  std::deque<Work> queue = {};
  uint64_t enqueued = 0, done = 0;
  CuGraph capture = nullptr;
  bool captureBroken = false;
};
struct CuEventObject {
  CuStream stream = nullptr;
  uint64_t ticket = 0; ///< the stream's `done` when it has happened
  bool timed = false;
};

struct FakeLaunch {
  std::vector<std::vector<std::byte>> params;
  uint32_t grid[3], block[3];
};

/// A kernel the fake knows: parameter sizes and what it does.
struct FakeKernel {
  const char *name;
  std::vector<size_t> params;
  std::function<CuResult(const FakeLaunch &launch)> run;
  int staticShared = 0, mostThreads = 1024, registers = 32;
};
struct CuFunctionObject {
  const FakeKernel *kernel = nullptr;
  uint32_t mostDynamicShared = 0;
  std::shared_ptr<bool> loaded; ///< false once its module is gone
};
struct CuModuleObject {
  std::map<std::string, CuFunctionObject> functions;
  std::shared_ptr<bool> loaded = std::make_shared<bool>(true);
};

class FakeState {
public:
  std::deque<FakeKernel> added;                       ///< by tests; modules point here
  std::map<std::string, const FakeKernel *> emulated; ///< the last of each name

  static FakeState &get();

  std::recursive_mutex mutex;
  std::map<std::string, int64_t> settings, counters;
  std::set<std::string> hidden;
  std::string log;
  CuResult lost = CuResult::Success; ///< what every call returns from now on
  std::map<CuDevice, CuContextObject> contexts;
  std::map<CuDevicePtr, size_t> allocations;
  std::map<CuDevicePtr, CuDevice> owners;
  std::map<CuDevicePtr, void *> hosts; ///< for leak checkers, to which device addresses are numbers
  std::map<const std::byte *, size_t> pinned;
  std::set<CuStream> streams;

  /// Host memory of `bytes` at a device address, null unless they are all allocated.
  std::byte *resolve(CuDevicePtr address, size_t bytes) const;
  CuResult allocate(CuDevice device, size_t bytes, CuDevicePtr &address);
  CuResult release(CuDevicePtr address);
  int64_t allocatedOn(CuDevice device) const;
  bool isPinned(const void *memory, size_t bytes) const;

  /// Into the stream's queue or the graph it captures.
  CuResult enqueue(CuStream stream, Work work);
  /// Runs the stream until `ticket` works are done.
  CuResult runUntil(CuStream stream, uint64_t ticket);
  CuResult runAll();
  /// Calls that are unsafe while a stream is captured break the capture.
  bool breaksCapture();
  /// `launch` has its shape; its parameters are copied from `params`.
  CuResult launch(const CuFunctionObject &function, CuStream stream, FakeLaunch launch,
                  void **params);

private:
  FakeState();
  int64_t launchesRun = 0;
};

/// Device addresses minus the host's of the same bytes.
inline constexpr CuDevicePtr kDeviceOffset = CuDevicePtr(1) << 47;

/// Those of tests come before the fake's own.
const FakeKernel *findKernel(const std::string &name);
/// Blocks of an emulated kernel, one after the other.
CuResult runEmulated(const sinter_emu_kernel &kernel, const FakeLaunch &launch);
/// Reads an image as the driver would; see fake_image.cpp for the forms. `log` gets the compiler's
/// words.
CuResult loadImage(const char *image, int capability, int version, CuModuleObject &module,
                   std::string &log);

} // namespace sinter::rt::cuda
