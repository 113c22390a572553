// Compares runtime/cuda's own declarations with the toolkit's cuda.h, at compile time.
#include "driver.h"
#include "same_abi.h"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
namespace sinter::rt::cuda {
// Named before cuda.h, which makes macros of some of the names.
#define SINTER_CUDA_NAME(name, symbol, parameters) using Ours_##name = decltype(Driver::name);
SINTER_CUDA_ENTRY_POINTS(SINTER_CUDA_NAME)
#undef SINTER_CUDA_NAME
} // namespace sinter::rt::cuda

#include <cuda.h>

namespace sinter::rt::cuda {
namespace {

#define SINTER_CUDA_COMPARE(name, symbol, parameters)                                              \
  static_assert(sameSignature<Ours_##name, decltype(&::name)>, #name);
SINTER_CUDA_ENTRY_POINTS(SINTER_CUDA_COMPARE)
#undef SINTER_CUDA_COMPARE

SAME(CuResult::Success, CUDA_SUCCESS);
SAME(CuResult::InvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME(CuResult::OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(CuResult::NotInitialized, CUDA_ERROR_NOT_INITIALIZED);
SAME(CuResult::Deinitialized, CUDA_ERROR_DEINITIALIZED);
SAME(CuResult::StubLibrary, CUDA_ERROR_STUB_LIBRARY);
SAME(CuResult::DeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
SAME(CuResult::NoDevice, CUDA_ERROR_NO_DEVICE);
SAME(CuResult::InvalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME(CuResult::InvalidImage, CUDA_ERROR_INVALID_IMAGE);
SAME(CuResult::InvalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME(CuResult::NoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(CuResult::EccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME(CuResult::InvalidPtx, CUDA_ERROR_INVALID_PTX);
SAME(CuResult::NvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
SAME(CuResult::JitCompilerNotFound, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
SAME(CuResult::UnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(CuResult::JitCompilationDisabled, CUDA_ERROR_JIT_COMPILATION_DISABLED);
SAME(CuResult::InvalidSource, CUDA_ERROR_INVALID_SOURCE);
SAME(CuResult::InvalidHandle, CUDA_ERROR_INVALID_HANDLE);
SAME(CuResult::NotFound, CUDA_ERROR_NOT_FOUND);
SAME(CuResult::NotReady, CUDA_ERROR_NOT_READY);
SAME(CuResult::IllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(CuResult::LaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
SAME(CuResult::LaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME(CuResult::Assert, CUDA_ERROR_ASSERT);
SAME(CuResult::HardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
SAME(CuResult::IllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
SAME(CuResult::MisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME(CuResult::InvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
SAME(CuResult::InvalidPc, CUDA_ERROR_INVALID_PC);
SAME(CuResult::LaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
SAME(CuResult::SystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY);
SAME(CuResult::SystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
SAME(CuResult::CompatNotSupported, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
SAME(CuResult::MpsClientTerminated, CUDA_ERROR_MPS_CLIENT_TERMINATED);
SAME(CuResult::StreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME(CuResult::StreamCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
SAME(CuResult::ExternalDevice, CUDA_ERROR_EXTERNAL_DEVICE);
SAME(CuResult::Unknown, CUDA_ERROR_UNKNOWN);
#if CUDA_VERSION >= 13000 // named later than the rest
SAME(CuResult::Contained, CUDA_ERROR_CONTAINED);
SAME(CuResult::TensorMemoryLeak, CUDA_ERROR_TENSOR_MEMORY_LEAK);
#endif

SAME(CuDeviceAttribute::MaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(CuDeviceAttribute::MaxBlockDimX, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
SAME(CuDeviceAttribute::MaxBlockDimY, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
SAME(CuDeviceAttribute::MaxBlockDimZ, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
SAME(CuDeviceAttribute::MaxGridDimX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
SAME(CuDeviceAttribute::MaxGridDimY, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
SAME(CuDeviceAttribute::MaxGridDimZ, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
SAME(CuDeviceAttribute::MaxSharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
SAME(CuDeviceAttribute::WarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
SAME(CuDeviceAttribute::MultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(CuDeviceAttribute::L2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(CuDeviceAttribute::ComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(CuDeviceAttribute::ComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(CuDeviceAttribute::MaxSharedMemoryPerBlockOptin,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(CuFunctionAttribute::MaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(CuFunctionAttribute::SharedSizeBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(CuFunctionAttribute::LocalSizeBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(CuFunctionAttribute::NumRegs, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(CuFunctionAttribute::MaxDynamicSharedSizeBytes,
     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(CuJitOption::InfoLogBuffer, CU_JIT_INFO_LOG_BUFFER);
SAME(CuJitOption::InfoLogBufferSizeBytes, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
SAME(CuJitOption::ErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
SAME(CuJitOption::ErrorLogBufferSizeBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(CuPointerAttribute::MemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(CuMemoryType::Host, CU_MEMORYTYPE_HOST);
SAME(CuMemoryType::Device, CU_MEMORYTYPE_DEVICE);
SAME(CuStreamCaptureMode::Global, CU_STREAM_CAPTURE_MODE_GLOBAL);
SAME(CuStreamCaptureMode::ThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(CuStreamCaptureMode::Relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(kEventDefault, CU_EVENT_DEFAULT);
SAME(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME(kMemHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
static_assert(sizeof(CuDevice) == sizeof(CUdevice) && sizeof(CuDevicePtr) == sizeof(CUdeviceptr));
static_assert(sizeof(CuMemoryType) == sizeof(CUmemorytype));
#if CUDA_VERSION >= 12000
SAME(CuProcAddressResult::Success, CU_GET_PROC_ADDRESS_SUCCESS);
SAME(CuProcAddressResult::SymbolNotFound, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
SAME(CuProcAddressResult::VersionNotSufficient, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
#endif

TEST(CudaHeader, DeclarationsAreTheToolkits) {
  // The assertions above are the test; the names of symbols are checked here.
  std::string renamed;
#define SPELLED(text) #text
#define SPELL(text) SPELLED(text)
#define SINTER_CUDA_NAMES(name, symbol, parameters)                                                \
  if (std::string_view(SPELL(name)) != #symbol)                                                    \
    renamed += std::string(SPELL(name)) + " is not " + #symbol + "\n";
  SINTER_CUDA_ENTRY_POINTS(SINTER_CUDA_NAMES)
  // cuda.h gives newest versions; of this one an older one is used, which has the same parameters.
  EXPECT_EQ(renamed,
            CUDA_VERSION >= 13000 ? "cuEventElapsedTime_v2 is not cuEventElapsedTime\n" : "");
}

} // namespace
} // namespace sinter::rt::cuda
#else
TEST(CudaHeader, DeclarationsAreTheToolkits) {
  GTEST_SKIP() << "no cuda.h: install a CUDA toolkit to compare the declarations with it";
}
#endif
