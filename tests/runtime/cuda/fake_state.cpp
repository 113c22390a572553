#include "fake_state.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace sinter::rt::cuda {
namespace {

constexpr size_t deviceAlignment = 512;

template <class T> T valueOf(const std::vector<std::byte> &param) {
  T value{};
  std::memcpy(&value, param.data(), sizeof value);
  return value;
}

template <class T> T *array(const std::vector<std::byte> &param, size_t count) {
  return reinterpret_cast<T *>(
      FakeState::get().resolve(valueOf<CuDevicePtr>(param), count * sizeof(T)));
}

CuResult addFloats(const FakeLaunch &launch) {
  int count = valueOf<int>(launch.params[3]);
  float *out = array<float>(launch.params[0], count), *a = array<float>(launch.params[1], count),
        *b = array<float>(launch.params[2], count);
  if (!out || !a || !b)
    return CuResult::IllegalAddress;
  for (int i = 0; i < count; ++i)
    out[i] = a[i] + b[i];
  return CuResult::Success;
}

CuResult scaleFloats(const FakeLaunch &launch) {
  int count = valueOf<int>(launch.params[2]);
  float *values = array<float>(launch.params[0], count);
  if (!values)
    return CuResult::IllegalAddress;
  for (int i = 0; i < count; ++i)
    values[i] *= valueOf<float>(launch.params[1]);
  return CuResult::Success;
}

/// Each block turns round its part of an array.
CuResult reverseInts(const FakeLaunch &launch) {
  size_t threads = launch.block[0], blocks = launch.grid[0];
  auto *values = array<int32_t>(launch.params[0], threads * blocks);
  if (!values)
    return CuResult::IllegalAddress;
  for (size_t block = 0; block < blocks; ++block)
    std::reverse(values + block * threads, values + (block + 1) * threads);
  return CuResult::Success;
}

CuResult numberInts(const FakeLaunch &launch) {
  size_t count = 1;
  for (int i = 0; i < 3; ++i)
    count *= size_t(launch.grid[i]) * launch.block[i];
  auto *values = array<int32_t>(launch.params[0], count);
  if (!values)
    return CuResult::IllegalAddress;
  for (size_t i = 0; i < count; ++i)
    values[i] = int32_t(i);
  return CuResult::Success;
}

CuResult trap(const FakeLaunch &) { return CuResult::LaunchFailed; }

CuResult nothing(const FakeLaunch &) { return CuResult::Success; }

const std::vector<FakeKernel> &kernels() {
  static const std::vector<FakeKernel> table = {
      {"add_f32", {8, 8, 8, 4}, addFloats},
      {"scale_f32", {8, 4, 4}, scaleFloats},
      {"reverse_i32", {8}, reverseInts},
      {"number_i32", {8}, numberInts},
      {"trap", {}, trap},
      {"nothing", {}, nothing},
      {"static_shared", {}, nothing, 40 << 10},
      {"many_registers", {}, nothing, 0, 256, 255},
  };
  return table;
}

} // namespace

const FakeKernel *findKernel(const std::string &name) {
  const auto &emulated = FakeState::get().emulated;
  if (auto found = emulated.find(name); found != emulated.end())
    return found->second;
  for (const FakeKernel &kernel : kernels())
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

FakeState &FakeState::get() {
  static FakeState *state = new FakeState;
  return *state;
}

FakeState::FakeState() {
  settings = {{"version", 13000},   {"devices", 1},        {"capability", 90},
              {"memory", 1 << 30},  {"init_result", 0},    {"most_pinned", 1 << 30},
              {"fault_launch", -1}, {"fault_result", 700}, {"eager", 0}};
  const char *given = std::getenv("FAKE_CUDA");
  for (std::string rest = given ? given : ""; !rest.empty();) {
    size_t comma = std::min(rest.find(','), rest.size()), equals = rest.find('=');
    if (equals < comma)
      settings[rest.substr(0, equals)] = std::atoll(rest.c_str() + equals + 1);
    rest.erase(0, comma + 1);
  }
}

std::byte *FakeState::resolve(CuDevicePtr address, size_t bytes) const {
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin())
    return nullptr;
  auto [start, size] = *std::prev(next);
  if (address - start > size || bytes > size - (address - start))
    return nullptr;
  return reinterpret_cast<std::byte *>(address - kDeviceOffset);
}

int64_t FakeState::allocatedOn(CuDevice device) const {
  int64_t sum = 0;
  for (auto [address, owner] : owners)
    if (owner == device)
      sum += int64_t(allocations.at(address));
  return sum;
}

CuResult FakeState::allocate(CuDevice device, size_t bytes, CuDevicePtr &address) {
  if (int64_t(bytes) > settings["memory"] - allocatedOn(device))
    return CuResult::OutOfMemory;
  size_t whole = (bytes + deviceAlignment - 1) / deviceAlignment * deviceAlignment;
  void *memory = std::aligned_alloc(deviceAlignment, whole);
  if (!memory)
    return CuResult::OutOfMemory;
  std::memset(memory, 0xCB, std::min<size_t>(whole, 1 << 20)); // what is not written is not 0
  address = reinterpret_cast<CuDevicePtr>(memory) + kDeviceOffset;
  allocations[address] = bytes;
  owners[address] = device;
  hosts[address] = memory;
  counters["allocations"] += 1;
  counters["allocated"] += int64_t(bytes);
  counters["peak_allocated"] = std::max(counters["peak_allocated"], counters["allocated"]);
  return CuResult::Success;
}

CuResult FakeState::release(CuDevicePtr address) {
  auto found = allocations.find(address);
  if (found == allocations.end())
    return CuResult::InvalidValue;
  counters["allocated"] -= int64_t(found->second);
  std::free(reinterpret_cast<void *>(address - kDeviceOffset));
  allocations.erase(found);
  owners.erase(address);
  hosts.erase(address);
  return CuResult::Success;
}

bool FakeState::isPinned(const void *memory, size_t bytes) const {
  const auto *address = static_cast<const std::byte *>(memory);
  auto next = pinned.upper_bound(address);
  if (next == pinned.begin())
    return false;
  auto [start, size] = *std::prev(next);
  return address + bytes <= start + size;
}

CuResult FakeState::enqueue(CuStream stream, Work work) {
  if (stream->capture) {
    stream->capture->works.push_back(std::move(work));
    return stream->captureBroken ? CuResult::StreamCaptureInvalidated : CuResult::Success;
  }
  stream->queue.push_back(std::move(work));
  stream->enqueued += 1;
  if (settings["eager"])
    (void)runUntil(stream, stream->enqueued); // the next call tells of a fault
  return CuResult::Success;
}

CuResult FakeState::runUntil(CuStream stream, uint64_t ticket) {
  while (lost == CuResult::Success && stream->done < ticket && !stream->queue.empty()) {
    Work work = std::move(stream->queue.front());
    stream->queue.pop_front();
    stream->done += 1;
    if (CuResult result = work(); result != CuResult::Success)
      lost = result;
  }
  return lost;
}

CuResult FakeState::runAll() {
  for (CuStream stream : streams)
    runUntil(stream, stream->enqueued);
  return lost;
}

bool FakeState::breaksCapture() {
  bool broken = false;
  for (CuStream stream : streams)
    if (stream->capture)
      broken = stream->captureBroken = true;
  return broken;
}

CuResult FakeState::launch(const CuFunctionObject &function, CuStream stream, FakeLaunch launch,
                           void **params) {
  const FakeKernel &kernel = *function.kernel;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const auto *first = static_cast<const std::byte *>(params[i]);
    launch.params.emplace_back(first, first + kernel.params[i]);
  }
  return enqueue(
      stream, [this, run = kernel.run, loaded = function.loaded, launch = std::move(launch)] {
        if (!*loaded)
          return CuResult::LaunchFailed;
        counters["launches"] += 1;
        return launchesRun++ == settings["fault_launch"] ? CuResult(settings["fault_result"])
                                                         : run(launch);
      });
}

} // namespace sinter::rt::cuda
