// What sinter uses of the CUDA driver API, in its own declarations: handles, results, attributes.
//
// From NVIDIA's public "CUDA Driver API" reference; cuda_header_test compares every line with the
// toolkit's cuda.h where there is one. Plain values and opaque pointers owned by the driver.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sinter::rt::cuda {

using CuDevice = int;                   ///< ordinal's handle
using CuDevicePtr = unsigned long long; ///< an address in device memory
using CuContext = struct CuContextObject *;
using CuModule = struct CuModuleObject *;
using CuFunction = struct CuFunctionObject *;
using CuStream = struct CuStreamObject *;
using CuEvent = struct CuEventObject *;
using CuGraph = struct CuGraphObject *;
using CuGraphExec = struct CuGraphExecObject *;
using CuGraphNode = struct CuGraphNodeObject *;

/// CUresult. Those marked "lost" leave the context unusable: the process must be started again.
enum class CuResult : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  Deinitialized = 4, ///< the process is exiting
  StubLibrary = 34,  ///< the toolkit's link-time stub was loaded instead of a driver
  DeviceUnavailable = 46,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  EccUncorrectable = 214, ///< lost
  InvalidPtx = 218,
  NvlinkUncorrectable = 220, ///< lost
  JitCompilerNotFound = 221,
  UnsupportedPtxVersion = 222,
  JitCompilationDisabled = 223,
  Contained = 226, ///< lost
  InvalidSource = 300,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,       ///< enqueued work is not done; not an error
  IllegalAddress = 700, ///< lost
  LaunchOutOfResources = 701,
  LaunchTimeout = 702,            ///< lost
  Assert = 710,                   ///< lost
  HardwareStackError = 714,       ///< lost
  IllegalInstruction = 715,       ///< lost
  MisalignedAddress = 716,        ///< lost
  InvalidAddressSpace = 717,      ///< lost
  InvalidPc = 718,                ///< lost
  LaunchFailed = 719,             ///< lost
  TensorMemoryLeak = 721,         ///< lost
  SystemNotReady = 802,           ///< e.g. the fabric manager is not running
  SystemDriverMismatch = 803,     ///< library and kernel module are of different versions
  CompatNotSupported = 804,       ///< a forward-compatibility library on a card that has none
  MpsClientTerminated = 810,      ///< lost
  StreamCaptureUnsupported = 900, ///< the call may not be made while a stream is captured
  StreamCaptureInvalidated = 901, ///< an earlier call broke the capture
  ExternalDevice = 911,           ///< lost
  Unknown = 999,
};

/// CUdevice_attribute.
enum class CuDeviceAttribute : int {
  MaxThreadsPerBlock = 1,
  MaxBlockDimX = 2, ///< Y and Z follow
  MaxBlockDimY = 3,
  MaxBlockDimZ = 4,
  MaxGridDimX = 5, ///< Y and Z follow
  MaxGridDimY = 6,
  MaxGridDimZ = 7,
  MaxSharedMemoryPerBlock = 8, ///< without opting in: 48 KiB
  WarpSize = 10,
  MultiprocessorCount = 16,
  L2CacheSize = 38,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerBlockOptin = 97,
};

/// CUfunction_attribute.
enum class CuFunctionAttribute : int {
  MaxThreadsPerBlock = 0, ///< what its registers allow
  SharedSizeBytes = 1,    ///< static shared memory
  LocalSizeBytes = 3,     ///< spills and stack, a thread
  NumRegs = 4,
  MaxDynamicSharedSizeBytes = 8, ///< settable: the opt-in beyond 48 KiB
};

/// CUjit_option.
enum class CuJitOption : int {
  InfoLogBuffer = 3,
  InfoLogBufferSizeBytes = 4,
  ErrorLogBuffer = 5,          ///< char *
  ErrorLogBufferSizeBytes = 6, ///< its size; what was written when the call returns
};

/// CUpointer_attribute and CUmemorytype, for telling pinned host memory.
enum class CuPointerAttribute : int { MemoryType = 2 };
enum class CuMemoryType : unsigned int { Host = 1, Device = 2 };

/// CUstreamCaptureMode: ThreadLocal forbids unsafe calls to the capturing thread only.
enum class CuStreamCaptureMode : int { Global = 0, ThreadLocal = 1, Relaxed = 2 };

/// CUdriverProcAddressQueryResult.
enum class CuProcAddressResult : int { Success = 0, SymbolNotFound = 1, VersionNotSufficient = 2 };

inline constexpr unsigned int kStreamNonBlocking = 1;    ///< does not wait for the NULL stream
inline constexpr unsigned int kEventDefault = 0;         ///< records times
inline constexpr unsigned int kEventDisableTiming = 2;   ///< cheaper to record
inline constexpr unsigned int kMemHostAllocPortable = 1; ///< pinned for every context

} // namespace sinter::rt::cuda
