// Kernels written as the emulator writes them, so that the device is tested without a compiler.
#pragma once

#include "sinter/abi/emu.h"
#include "sinter/core/device.h"

#include <atomic>
#include <cstdint>
#include <cstring>

namespace sinter::rt::test {

template <class T> T param(const sinter_emu_thread *thread, int index) {
  T value;
  std::memcpy(&value, thread->block->params[index], sizeof(T));
  return value;
}

/// Element `index` of device memory at `address`.
template <class T> T &at(const sinter_emu_thread *thread, uint64_t address, uint64_t index = 0) {
  return *reinterpret_cast<T *>(address + index * sizeof(T) + thread->block->global_delta);
}

inline uint64_t linearIndex(const sinter_emu_thread *thread) {
  const sinter_emu_block &block = *thread->block;
  uint64_t blocks =
      block.ctaid[0] +
      uint64_t(block.nctaid[0]) * (block.ctaid[1] + uint64_t(block.nctaid[1]) * block.ctaid[2]);
  return blocks * block.ntid[0] * block.ntid[1] * block.ntid[2] + thread->index;
}

inline void scaleKernel(const sinter_emu_thread *thread) {
  uint64_t i = linearIndex(thread);
  if (i < uint64_t(param<int32_t>(thread, 2)))
    at<float>(thread, param<uint64_t>(thread, 0), i) *= param<float>(thread, 1);
}

inline void reverseKernel(const sinter_emu_thread *thread) {
  auto *shared = reinterpret_cast<int32_t *>(thread->block->shared);
  int32_t &own = at<int32_t>(thread, param<uint64_t>(thread, 0), linearIndex(thread));
  shared[thread->index] = own;
  thread->block->services->barrier(thread, 0, 0, 0, 0);
  own = shared[thread->block->ntid[0] - 1 - thread->index];
}

inline void numberKernel(const sinter_emu_thread *thread) {
  uint64_t i = linearIndex(thread);
  at<int32_t>(thread, param<uint64_t>(thread, 0), i) = int32_t(i);
}

inline void trapKernel(const sinter_emu_thread *thread) {
  thread->block->services->trap(thread, nullptr, 0);
}

/// Tells the host at once, which no real kernel could.
inline std::atomic<bool> ran{false};
inline void tellKernel(const sinter_emu_thread *) { ran = true; }

/// Threads wait for each other in vain.
inline void stuckKernel(const sinter_emu_thread *thread) {
  thread->block->services->barrier(thread, thread->index % 2, 0, 0, thread->index % 2);
}

/// A warp's lanes add up their numbers; lane 0 of each writes.
inline void warpSumKernel(const sinter_emu_thread *thread) {
  uint32_t sum = thread->index;
  for (uint32_t by = 16; by > 0; by /= 2)
    sum += uint32_t(
        thread->block->services->shuffle(thread, SINTER_EMU_SHUFFLE_BFLY, ~0u, sum, by, 31, 0));
  at<int32_t>(thread, param<uint64_t>(thread, 0), linearIndex(thread)) = int32_t(sum);
}

inline const sinter_emu_param kParams[] = {{8, 1}, {4, 0}, {4, 0}};
inline const sinter_emu_site kSites[] = {{"kernel.cc", 10, 0, 0, 0, 0, -1},
                                         {"kernel.cc", 20, 0, 0, 0, 0, -1}};

/// A description; the first `params` of `kParams` are the kernel's.
constexpr sinter_emu_kernel describe(const char *name, void (*run)(const sinter_emu_thread *),
                                     uint32_t params, bool communicates = false) {
  sinter_emu_kernel kernel = {};
  kernel.abi_version = SINTER_EMU_ABI_VERSION;
  kernel.name = name;
  kernel.run = run;
  kernel.params = kParams;
  kernel.param_count = params;
  kernel.sites = kSites;
  kernel.site_count = 2;
  kernel.communicates = communicates;
  return kernel;
}

inline const sinter_emu_kernel kScale = describe("scale", scaleKernel, 3);
inline const sinter_emu_kernel kReverse = describe("reverse", reverseKernel, 1, true);
inline const sinter_emu_kernel kNumber = describe("number", numberKernel, 1);
inline const sinter_emu_kernel kTrap = describe("trap", trapKernel, 0);
inline const sinter_emu_kernel kTell = describe("tell", tellKernel, 0);
inline const sinter_emu_kernel kStuck = describe("stuck", stuckKernel, 0, true);
inline const sinter_emu_kernel kWarpSum = describe("warp_sum", warpSumKernel, 1, true);

inline DeviceKernel handleOf(const sinter_emu_kernel &kernel) {
  return {const_cast<sinter_emu_kernel *>(&kernel), kernel.name};
}

} // namespace sinter::rt::test
