// What sinter uses of cuBLASLt, in its own declarations, from NVIDIA's public cuBLAS reference;
// cuda_header_test compares them with cublasLt.h where there is one. Plain values; opaque pointers
// are the library's.
#pragma once

#include "driver_types.h"

#include <cstddef>
#include <cstdint>

namespace sinter::rt::cuda {

/// cublasStatus_t.
enum class BlasStatus : int {
  Success = 0,
  NotInitialized = 1,
  AllocFailed = 3,
  InvalidValue = 7,
  ArchMismatch = 8,
  ExecutionFailed = 13,
  NotSupported = 15,
};

/// cudaDataType_t.
enum class BlasType : int { F32 = 0, F16 = 2, BF16 = 14 };
/// cublasComputeType_t: f32 sums; FastTf32 rounds f32 factors to TF32.
enum class BlasCompute : int { F32 = 68, F32FastTf32 = 77 };
/// cublasOperation_t.
enum class BlasOperation : int32_t { None = 0, Transpose = 1 };

/// cublasLtEpilogue_t; Bias is added before the activation.
enum class BlasEpilogue : uint32_t {
  Default = 1,
  Relu = 2,
  Bias = 4,
  ReluBias = 6,
  Gelu = 32,
  GeluBias = 36,
};

/// cublasLtMatmulDescAttributes_t.
enum class BlasMatmulAttribute : int {
  TransposeA = 3,  ///< int32_t
  TransposeB = 4,  ///< int32_t
  Epilogue = 7,    ///< uint32_t
  BiasPointer = 8, ///< const void *; the heuristic reads its alignment
};

/// cublasLtMatrixLayoutAttribute_t.
enum class BlasLayoutAttribute : int {
  BatchCount = 5,         ///< int32_t
  StridedBatchOffset = 6, ///< int64_t, elements
};

/// cublasLtMatmulPreferenceAttributes_t.
enum class BlasPreferenceAttribute : int {
  MaxWorkspaceBytes = 1, ///< uint64_t
  MinAlignmentA = 5,     ///< uint32_t, bytes
  MinAlignmentB = 6,
  MinAlignmentC = 7,
  MinAlignmentD = 8,
};

using BlasHandle = struct BlasHandleObject *;
using BlasMatmulDescriptor = struct BlasMatmulDescriptorObject *;
using BlasLayout = struct BlasLayoutObject *;
using BlasPreference = struct BlasPreferenceObject *;

/// cublasLtMatmulAlgo_t.
struct BlasAlgorithm {
  uint64_t data[8];
};
/// cublasLtMatmulHeuristicResult_t.
struct BlasHeuristicResult {
  BlasAlgorithm algorithm;
  size_t workspaceBytes;
  BlasStatus status;
  float waves;
  int reserved[4];
};

// clang-format off
#define SINTER_CUBLASLT_ENTRY_POINTS(ENTRY)                                                        \
  ENTRY(size_t, cublasLtGetVersion, ())                                                            \
  ENTRY(BlasStatus, cublasLtCreate, (BlasHandle *handle))                                          \
  ENTRY(BlasStatus, cublasLtDestroy, (BlasHandle handle))                                          \
  ENTRY(const char *, cublasLtGetStatusName, (BlasStatus status))                                  \
  ENTRY(BlasStatus, cublasLtMatmulDescCreate,                                                      \
        (BlasMatmulDescriptor *descriptor, BlasCompute compute, BlasType scale))                   \
  ENTRY(BlasStatus, cublasLtMatmulDescDestroy, (BlasMatmulDescriptor descriptor))                  \
  ENTRY(BlasStatus, cublasLtMatmulDescSetAttribute,                                                \
        (BlasMatmulDescriptor descriptor, BlasMatmulAttribute attribute, const void *value,        \
         size_t bytes))                                                                            \
  ENTRY(BlasStatus, cublasLtMatrixLayoutCreate,                                                    \
        (BlasLayout *layout, BlasType type, uint64_t rows, uint64_t columns, int64_t stride))      \
  ENTRY(BlasStatus, cublasLtMatrixLayoutDestroy, (BlasLayout layout))                              \
  ENTRY(BlasStatus, cublasLtMatrixLayoutSetAttribute,                                              \
        (BlasLayout layout, BlasLayoutAttribute attribute, const void *value, size_t bytes))       \
  ENTRY(BlasStatus, cublasLtMatmulPreferenceCreate, (BlasPreference *preference))                  \
  ENTRY(BlasStatus, cublasLtMatmulPreferenceDestroy, (BlasPreference preference))                  \
  ENTRY(BlasStatus, cublasLtMatmulPreferenceSetAttribute,                                          \
        (BlasPreference preference, BlasPreferenceAttribute attribute, const void *value,          \
         size_t bytes))                                                                            \
  ENTRY(BlasStatus, cublasLtMatmulAlgoGetHeuristic,                                                \
        (BlasHandle handle, BlasMatmulDescriptor descriptor, BlasLayout a, BlasLayout b,           \
         BlasLayout c, BlasLayout d, BlasPreference preference, int asked,                         \
         BlasHeuristicResult *results, int *found))                                                \
  ENTRY(BlasStatus, cublasLtMatmul,                                                                \
        (BlasHandle handle, BlasMatmulDescriptor descriptor, const void *alpha, const void *a,     \
         BlasLayout layoutA, const void *b, BlasLayout layoutB, const void *beta, const void *c,   \
         BlasLayout layoutC, void *d, BlasLayout layoutD, const BlasAlgorithm *algorithm,          \
         void *workspace, size_t workspaceBytes, CuStream stream))
// clang-format on

} // namespace sinter::rt::cuda
