// What tests may set and read of the fake driver, the shared library fake_cuda.
//
// It exports the driver's entry points that runtime/cuda uses, on host memory. Work runs late: only
// a wait runs it, in stream order, so that a missing wait shows in the results (`eager` runs it at
// once). Device addresses are not host addresses: code that mixes them crashes. Each copy of the
// library file is a driver of its own. Any thread.
//
// Settings, by name (`FAKE_CUDA="devices=0,version=11020"` in the environment sets first values):
//   version 13000, devices 1, capability 90, memory (bytes a card) 1 GiB
//   init_result     what cuInit returns
//   most_pinned     bytes that can be pinned
//   fault_launch    the launch (0: the first) that fails when it runs; -1 none
//   fault_result    how it fails, 700: illegal address
//   eager           1: work runs when it is enqueued
// Counters: allocated, peak_allocated, allocations, pinned, events, streams, modules, graphs,
//   contexts, launches (run), waits, pageable_copies, pending (work enqueued and not run)
#pragma once

#include <cstddef>
#include <cstdint>

#define FAKE_CUDA_EXPORT extern "C" __attribute__((visibility("default")))

FAKE_CUDA_EXPORT void fakeCudaSet(const char *name, int64_t value);
FAKE_CUDA_EXPORT int64_t fakeCudaGet(const char *name);
/// The driver has no such entry point from now on.
FAKE_CUDA_EXPORT void fakeCudaHide(const char *symbol);
/// Copies the names of the calls made so far, a line each, and forgets them; returns the length.
FAKE_CUDA_EXPORT size_t fakeCudaTakeLog(char *text, size_t size);

/// From now on modules that have a kernel of this name run `kernel` (a sinter_emu_kernel) for it,
/// so that compiled programs run whole. Modules that are loaded already keep theirs.
FAKE_CUDA_EXPORT void fakeCudaEmulate(const char *name, const void *kernel);

/// For fake libraries on this driver: host memory behind a device address (null: not allocated),
/// and work for a stream (a CuStream), which returns a CUresult.
using FakeCudaResolve = std::byte *(uint64_t address, size_t bytes);
using FakeCudaEnqueue = int(void *stream, int (*work)(void *), void *data);
FAKE_CUDA_EXPORT FakeCudaResolve fakeCudaResolve;
FAKE_CUDA_EXPORT FakeCudaEnqueue fakeCudaEnqueue;
