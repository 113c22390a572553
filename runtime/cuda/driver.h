// The driver's entry points, loaded at run time: one table per driver library, shared by all
// devices and never unloaded, since the driver keeps threads of its own. Any thread.
#pragma once

#include "driver_types.h"
#include "sinter/base/status.h"

#include <memory>
#include <string>

namespace sinter::rt::cuda {

// clang-format off
/// Every entry point: name, name of the exported symbol, parameters. One list for the table, the
/// loader and the test that compares it with cuda.h.
#define SINTER_CUDA_ENTRY_POINTS(ENTRY)                                                            \
  ENTRY(cuInit, cuInit, (unsigned int flags))                                                      \
  ENTRY(cuGetErrorName, cuGetErrorName, (CuResult error, const char **text))                       \
  ENTRY(cuGetErrorString, cuGetErrorString, (CuResult error, const char **text))                   \
  ENTRY(cuDeviceGetCount, cuDeviceGetCount, (int *count))                                          \
  ENTRY(cuDeviceGet, cuDeviceGet, (CuDevice *device, int ordinal))                                 \
  ENTRY(cuDeviceGetName, cuDeviceGetName, (char *name, int length, CuDevice device))               \
  ENTRY(cuDeviceGetAttribute, cuDeviceGetAttribute,                                                \
        (int *value, CuDeviceAttribute attribute, CuDevice device))                                \
  ENTRY(cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t *bytes, CuDevice device))                   \
  ENTRY(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CuContext *context, CuDevice device)) \
  ENTRY(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CuDevice device))                \
  ENTRY(cuCtxSetCurrent, cuCtxSetCurrent, (CuContext context))                                     \
  ENTRY(cuMemGetInfo, cuMemGetInfo_v2, (size_t *free, size_t *total))                              \
  ENTRY(cuMemAlloc, cuMemAlloc_v2, (CuDevicePtr *memory, size_t bytes))                            \
  ENTRY(cuMemFree, cuMemFree_v2, (CuDevicePtr memory))                                             \
  ENTRY(cuMemHostAlloc, cuMemHostAlloc, (void **memory, size_t bytes, unsigned int flags))         \
  ENTRY(cuMemFreeHost, cuMemFreeHost, (void *memory))                                              \
  ENTRY(cuPointerGetAttribute, cuPointerGetAttribute,                                              \
        (void *value, CuPointerAttribute attribute, CuDevicePtr pointer))                          \
  ENTRY(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                                   \
        (CuDevicePtr to, const void *from, size_t bytes, CuStream stream))                         \
  ENTRY(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                                   \
        (void *to, CuDevicePtr from, size_t bytes, CuStream stream))                               \
  ENTRY(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                                   \
        (CuDevicePtr to, CuDevicePtr from, size_t bytes, CuStream stream))                         \
  ENTRY(cuStreamCreate, cuStreamCreate, (CuStream *stream, unsigned int flags))                    \
  ENTRY(cuStreamDestroy, cuStreamDestroy_v2, (CuStream stream))                                    \
  ENTRY(cuStreamSynchronize, cuStreamSynchronize, (CuStream stream))                               \
  ENTRY(cuStreamWaitEvent, cuStreamWaitEvent,                                                      \
        (CuStream stream, CuEvent event, unsigned int flags))                                      \
  ENTRY(cuStreamBeginCapture, cuStreamBeginCapture_v2, (CuStream stream, CuStreamCaptureMode mode))\
  ENTRY(cuStreamEndCapture, cuStreamEndCapture, (CuStream stream, CuGraph *graph))                 \
  ENTRY(cuGraphGetNodes, cuGraphGetNodes, (CuGraph graph, CuGraphNode *nodes, size_t *count))      \
  ENTRY(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags,                                  \
        (CuGraphExec *exec, CuGraph graph, unsigned long long flags))                              \
  ENTRY(cuGraphLaunch, cuGraphLaunch, (CuGraphExec exec, CuStream stream))                         \
  ENTRY(cuGraphExecDestroy, cuGraphExecDestroy, (CuGraphExec exec))                                \
  ENTRY(cuGraphDestroy, cuGraphDestroy, (CuGraph graph))                                           \
  ENTRY(cuEventCreate, cuEventCreate, (CuEvent *event, unsigned int flags))                        \
  ENTRY(cuEventRecord, cuEventRecord, (CuEvent event, CuStream stream))                            \
  ENTRY(cuEventQuery, cuEventQuery, (CuEvent event))                                               \
  ENTRY(cuEventSynchronize, cuEventSynchronize, (CuEvent event))                                   \
  ENTRY(cuEventElapsedTime, cuEventElapsedTime, (float *milliseconds, CuEvent start, CuEvent end)) \
  ENTRY(cuEventDestroy, cuEventDestroy_v2, (CuEvent event))                                        \
  ENTRY(cuModuleLoadDataEx, cuModuleLoadDataEx,                                                    \
        (CuModule *module, const void *image, unsigned int count, CuJitOption *options,            \
         void **values))                                                                           \
  ENTRY(cuModuleUnload, cuModuleUnload, (CuModule module))                                         \
  ENTRY(cuModuleGetFunction, cuModuleGetFunction,                                                  \
        (CuFunction *function, CuModule module, const char *name))                                 \
  ENTRY(cuFuncGetAttribute, cuFuncGetAttribute,                                                    \
        (int *value, CuFunctionAttribute attribute, CuFunction function))                          \
  ENTRY(cuFuncSetAttribute, cuFuncSetAttribute,                                                    \
        (CuFunction function, CuFunctionAttribute attribute, int value))                           \
  ENTRY(cuLaunchKernel, cuLaunchKernel,                                                            \
        (CuFunction function, unsigned int gridX, unsigned int gridY, unsigned int gridZ,          \
         unsigned int blockX, unsigned int blockY, unsigned int blockZ, unsigned int sharedBytes,  \
         CuStream stream, void **params, void **extra))
// clang-format on

/// Oldest driver that has all of them (R470).
inline constexpr int kOldestDriver = 11040;

struct Driver {
#define SINTER_CUDA_MEMBER(name, symbol, parameters) CuResult(*name) parameters = nullptr;
  SINTER_CUDA_ENTRY_POINTS(SINTER_CUDA_MEMBER)
#undef SINTER_CUDA_MEMBER

  std::string path; ///< of the library
  int version = 0;  ///< newest CUDA it supports, 1000 major + 10 minor

  /// Loads the library at `path`, or libcuda.so.1 if that is empty, and initialises it. One table a
  /// path for the whole process. Errors: no library (where it looked), too old, symbol missing, no
  /// card.
  static StatusOr<const Driver *> load(const std::string &path);

  /// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)"
  std::string describe(CuResult result) const;
};

/// Whether the result leaves the context unusable for the rest of the process.
bool losesContext(CuResult result);

} // namespace sinter::rt::cuda
