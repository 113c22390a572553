#include "sinter/emu/device.h"

#include "block_runner.h"
#include "launch.h"
#include "memory.h"
#include "monitor.h"
#include "stream.h"

#include "sinter/abi/emu.h"
#include "sinter/base/text.h"
#include "sinter/core/thread_pool.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace sinter::rt {

using namespace emu;

struct EmuDevice::Impl {
  Impl(EmuOptions options, std::unique_ptr<DeviceMemory> memory)
      : options(options), memory(std::move(memory)), pool(options.threads),
        stream(options.deferred, options.delay) {
    for (int i = 0; i < pool.threads(); ++i)
      runners.push_back(std::make_unique<BlockRunner>());
  }

  Status checkLaunch(const sinter_emu_kernel &kernel, const LaunchShape &shape,
                     const WorkOrigin &origin) const;
  Status checkParams(const sinter_emu_kernel &kernel, void *const *params,
                     const WorkOrigin &origin) const;
  Status run(const sinter_emu_kernel &kernel, const LaunchShape &shape, const Params &params,
             const std::vector<DescribedBuffer> &buffers, const WorkOrigin &origin);
  void addCounts(const Launch &launch, const Monitoring &monitoring,
                 const std::vector<std::unique_ptr<Monitor>> &monitors);

  const EmuOptions options;
  std::unique_ptr<DeviceMemory> memory;
  ThreadPool pool;
  std::vector<std::unique_ptr<BlockRunner>> runners; ///< one a worker; the device's thread only
  std::vector<DescribedBuffer> nextBuffers;          ///< of the next launch
  mutable std::mutex countsMutex;
  std::vector<KernelCounts> counts;
  Stream stream; ///< the last, so that its thread ends before what it uses goes
};

emu::Params::Params(const sinter_emu_kernel &kernel, void *const *values) {
  std::vector<size_t> offsets;
  size_t end = 0;
  for (uint32_t i = 0; i < kernel.param_count; ++i) {
    offsets.push_back(end);
    end += (kernel.params[i].bytes + 15) & ~size_t(15);
  }
  bytes.resize(end);
  for (uint32_t i = 0; i < kernel.param_count; ++i) {
    places.push_back(bytes.data() + offsets[i]);
    std::memcpy(bytes.data() + offsets[i], values[i], kernel.params[i].bytes);
  }
}

StatusOr<std::unique_ptr<EmuDevice>> EmuDevice::create(EmuOptions options) {
  auto memory = DeviceMemory::reserve(options.memory);
  if (!memory.ok())
    return memory.status();
  auto impl = std::make_unique<Impl>(std::move(options), *std::move(memory));
  return std::unique_ptr<EmuDevice>(new EmuDevice(std::move(impl)));
}

EmuDevice::EmuDevice(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
EmuDevice::~EmuDevice() = default;

std::string_view EmuDevice::name() const { return impl->options.name; }

static std::string described(const WorkOrigin &origin) {
  return concat("'", origin.name, "' (", origin.location, ")");
}

StatusOr<void *> EmuDevice::allocate(size_t bytes, const WorkOrigin &origin) {
  std::string owner = concat(origin.name, origin.location.empty() ? "" : " at ", origin.location);
  auto address = impl->memory->allocate(bytes, owner);
  if (!address.ok() && impl->memory->hasRetired()) {
    SINTER_RETURN_IF_ERROR(impl->stream.synchronize()); // freed memory comes back only then
    address = impl->memory->allocate(bytes, owner);
  }
  if (!address.ok())
    return address.status();
  return reinterpret_cast<void *>(*address);
}

void EmuDevice::free(void *memory) {
  uint64_t address = reinterpret_cast<uint64_t>(memory);
  // Freeing what is not there is an error of the program that nothing else would tell.
  if (memory && !impl->memory->retire(address)) {
    impl->stream.fail(makeError(Code::InvalidArgument, "free of ", memory, " on device '", name(),
                                "', which is no allocation's first byte or was freed before"));
    return;
  }
  if (memory)
    impl->stream.enqueueAnyway(
        [memory = impl->memory.get(), address] { memory->release(address); });
}

/// A copy's end on the host.
static Status checkHost(const void *pointer, size_t bytes, const std::string &what) {
  if (bytes != 0 && (!pointer || isDeviceAddress(pointer)))
    return makeError(Code::InvalidArgument, what, " is ", pointer,
                     ", which is no address of the host; pass host memory");
  return {};
}

Status EmuDevice::copyToDevice(void *to, const void *from, size_t bytes, const WorkOrigin &origin) {
  SINTER_RETURN_IF_ERROR(checkHost(from, bytes, "the source of copy " + described(origin)));
  SINTER_RETURN_IF_ERROR(impl->memory->check(reinterpret_cast<uint64_t>(to), bytes,
                                             "the destination of copy " + described(origin)));
  return impl->stream.enqueue([=, memory = impl->memory.get()] {
    std::memcpy(memory->host(reinterpret_cast<uint64_t>(to)), from, bytes);
    return Status();
  });
}

Status EmuDevice::copyToHost(void *to, const void *from, size_t bytes, const WorkOrigin &origin) {
  SINTER_RETURN_IF_ERROR(checkHost(to, bytes, "the destination of copy " + described(origin)));
  SINTER_RETURN_IF_ERROR(impl->memory->check(reinterpret_cast<uint64_t>(from), bytes,
                                             "the source of copy " + described(origin)));
  return impl->stream.enqueue([=, memory = impl->memory.get()] {
    std::memcpy(to, memory->host(reinterpret_cast<uint64_t>(from)), bytes);
    return Status();
  });
}

Status EmuDevice::copy(void *to, const void *from, size_t bytes, const WorkOrigin &origin) {
  SINTER_RETURN_IF_ERROR(impl->memory->check(reinterpret_cast<uint64_t>(from), bytes,
                                             "the source of copy " + described(origin)));
  SINTER_RETURN_IF_ERROR(impl->memory->check(reinterpret_cast<uint64_t>(to), bytes,
                                             "the destination of copy " + described(origin)));
  return impl->stream.enqueue([=, memory = impl->memory.get()] {
    std::memmove(memory->host(reinterpret_cast<uint64_t>(to)),
                 memory->host(reinterpret_cast<uint64_t>(from)), bytes);
    return Status();
  });
}

Status EmuDevice::Impl::checkLaunch(const sinter_emu_kernel &kernel, const LaunchShape &shape,
                                    const WorkOrigin &origin) const {
  auto refuse = [&](const auto &...parts) {
    return makeError(Code::InvalidArgument, "kernel '", kernel.name, "' of ", described(origin),
                     parts...);
  };
  // CUDA's limits, the same on every card since compute capability 3.0.
  const uint64_t mostThreads[3] = {1024, 1024, 64}, mostBlocks[3] = {0x7fffffff, 65535, 65535};
  uint64_t threads = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (shape.grid[axis] == 0 || shape.grid[axis] > mostBlocks[axis])
      return refuse(" is launched with ", shape.grid[axis], " blocks along dimension ", axis,
                    "; give 1 to ", mostBlocks[axis]);
    if (shape.block[axis] == 0 || shape.block[axis] > mostThreads[axis])
      return refuse(" is launched with ", shape.block[axis], " threads along dimension ", axis,
                    "; give 1 to ", mostThreads[axis]);
    threads *= shape.block[axis];
  }
  uint64_t most = kernel.max_threads ? std::min(kernel.max_threads, 1024u) : 1024;
  if (threads > most)
    return refuse(" is launched with ", threads, " threads a block; it can have ", most);
  if (uint64_t(kernel.static_shared) + shape.dynamicSharedBytes > options.mostShared)
    return refuse(" needs ", uint64_t(kernel.static_shared) + shape.dynamicSharedBytes,
                  " bytes of shared memory; a block can have ", options.mostShared);
  if ((options.check || options.count) && !kernel.instrumented)
    return refuse(" is not instrumented, so that it cannot be checked or counted; emulate it with "
                  "`instrument`");
  return {};
}

Status EmuDevice::Impl::checkParams(const sinter_emu_kernel &kernel, void *const *params,
                                    const WorkOrigin &origin) const {
  for (uint32_t i = 0; i < kernel.param_count; ++i) {
    if (!kernel.params[i].is_pointer)
      continue;
    uint64_t address;
    std::memcpy(&address, params[i], sizeof(address));
    if (address != 0)
      SINTER_RETURN_IF_ERROR(memory->check(
          address, 0,
          concat("parameter ", i, " of kernel '", kernel.name, "' of ", described(origin))));
  }
  return {};
}

Status EmuDevice::launch(const DeviceKernel &handle, const LaunchShape &shape, void *const *values,
                         const WorkOrigin &origin) {
  std::vector<DescribedBuffer> buffers;
  buffers.swap(impl->nextBuffers);
  auto *kernel = static_cast<const sinter_emu_kernel *>(handle.handle);
  if (!kernel || kernel->abi_version != SINTER_EMU_ABI_VERSION)
    return makeError(Code::InvalidArgument, "kernel '", handle.symbol, "' of '", origin.name,
                     kernel ? "' was emulated by another version of sinter; compile it again"
                            : "' was not loaded; load it before the launch");
  SINTER_RETURN_IF_ERROR(impl->checkLaunch(*kernel, shape, origin));
  SINTER_RETURN_IF_ERROR(impl->checkParams(*kernel, values, origin));
  auto params = std::make_shared<const Params>(*kernel, values);
  return impl->stream.enqueue(
      [impl = impl.get(), kernel, shape, params, buffers = std::move(buffers), origin] {
        return impl->run(*kernel, shape, *params, buffers, origin);
      });
}

Status EmuDevice::Impl::run(const sinter_emu_kernel &kernel, const LaunchShape &shape,
                            const Params &params, const std::vector<DescribedBuffer> &buffers,
                            const WorkOrigin &origin) {
  Findings findings(kernel, shape);
  Launch launch{kernel, shape, params.pointers(), memory->delta(), findings};
  std::optional<Monitoring> monitoring;
  std::vector<std::unique_ptr<Monitor>> monitors(runners.size());
  if (options.check || options.count) {
    launch.allocations = memory->snapshot();
    monitoring.emplace(launch, buffers, options.check, options.count, options.keptBytes);
  }
  std::vector<char> begun(runners.size());
  std::atomic<bool> failed{false};
  pool.parallelFor(int64_t(launch.blocks()), [&](int64_t begin, int64_t end, int worker) {
    BlockRunner &runner = *runners[size_t(worker)];
    if (!begun[size_t(worker)]) {
      begun[size_t(worker)] = true;
      if (monitoring)
        monitors[size_t(worker)] = std::make_unique<Monitor>(launch, *monitoring);
      if (!runner.begin(launch, monitors[size_t(worker)].get()))
        failed.store(true, std::memory_order_relaxed);
    }
    for (int64_t block = begin; block < end && !failed.load(std::memory_order_relaxed); ++block)
      runner.run(uint64_t(block));
  });
  if (failed)
    return makeError(Code::OutOfMemory, "no memory for the threads of kernel '", kernel.name,
                     "' of '", origin.name, "' on the emulated device; use fewer threads");
  if (monitoring && monitoring->blockAccesses)
    monitoring->blockAccesses->report();
  if (options.count)
    addCounts(launch, *monitoring, monitors);
  return findings.status(origin);
}

void EmuDevice::Impl::addCounts(const Launch &launch, const Monitoring &monitoring,
                                const std::vector<std::unique_ptr<Monitor>> &monitors) {
  std::lock_guard lock(countsMutex);
  auto entry = std::find_if(counts.begin(), counts.end(), [&](const KernelCounts &known) {
    return known.kernel == launch.kernel.name;
  });
  if (entry == counts.end()) {
    counts.push_back({});
    entry = std::prev(counts.end());
    entry->kernel = launch.kernel.name;
  }
  ++entry->launches;
  entry->blocks += launch.blocks();
  entry->threads += launch.blocks() * launch.threads();
  for (size_t worker = 0; worker < monitors.size(); ++worker) {
    if (!monitors[worker])
      continue;
    monitors[worker]->counted()->addTo(*entry);
    const std::vector<uint64_t> &ran = runners[worker]->blockCounts();
    for (size_t block = 0; block < ran.size(); ++block)
      for (int kind = 0; kind < SINTER_EMU_CLASSES; ++kind)
        entry->instructions[kind] += ran[block] * launch.kernel.basic_blocks[block].count[kind];
  }
  monitoring.touched->addTo(entry->read, entry->written);
  MemoryCounts read, written;
  monitoring.kept->touched.addTo(read, written);
  entry->read.fetchedSectors += read.distinctSectors;
  entry->written.fetchedSectors += written.distinctSectors;
}

Status EmuDevice::synchronize() { return impl->stream.synchronize(); }

bool EmuDevice::wantsBuffers() const { return impl->options.check || impl->options.keptBytes; }

void EmuDevice::describeBuffers(std::span<const DeviceBuffer> buffers) {
  impl->nextBuffers.clear();
  for (const DeviceBuffer &buffer : buffers)
    impl->nextBuffers.push_back({reinterpret_cast<uint64_t>(buffer.first), buffer.bytes,
                                 std::string(buffer.name), buffer.written});
}

std::vector<KernelCounts> EmuDevice::counts() const {
  std::lock_guard lock(impl->countsMutex);
  return impl->counts;
}

void EmuDevice::resetCounts() {
  std::lock_guard lock(impl->countsMutex);
  impl->counts.clear();
}

int64_t EmuDevice::bytesInUse() const { return impl->memory->bytesInUse(); }

} // namespace sinter::rt
