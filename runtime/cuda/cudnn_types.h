// What sinter uses of cuDNN 9's backend (graph) API, in its own declarations, from NVIDIA's public
// cuDNN backend API reference; cuda_header_test compares them with cudnn_graph.h where there is
// one. Plain values; opaque pointers are the library's.
#pragma once

#include "driver_types.h"

#include <cstddef>
#include <cstdint>

namespace sinter::rt::cuda {

/// cudnnStatus_t: thousands are classes.
enum class DnnStatus : int {
  Success = 0,
  NotInitialized = 1001,
  BadParam = 2000,
  NotSupported = 3000,
  InternalError = 4000,
  HostAllocationFailed = 4003,
  DeviceAllocationFailed = 4004,
  ExecutionFailed = 5000,
};

/// cudnnBackendDescriptorType_t.
enum class DnnDescriptorType : int {
  Pointwise = 0,
  Convolution = 1,
  Engine = 2,
  EngineConfig = 3,
  EngineHeuristic = 4,
  ExecutionPlan = 5,
  ConvolutionForward = 10,
  ConvolutionWeightGradient = 11,
  ConvolutionInputGradient = 12,
  PointwiseOperation = 13,
  OperationGraph = 15,
  VariantPack = 16,
  Tensor = 17,
  DeviceProperties = 38, ///< since 9.8
};

/// cudnnBackendAttributeName_t.
enum class DnnAttribute : int {
  PointwiseMode = 0,
  PointwisePrecision = 1,
  ConvolutionPrecision = 100,
  ConvolutionMode = 101,
  ConvolutionDilations = 102,
  ConvolutionStrides = 103,
  ConvolutionPostPaddings = 104,
  ConvolutionPrePaddings = 105,
  ConvolutionSpatialDims = 106,
  HeuristicMode = 200,
  HeuristicGraph = 201,
  HeuristicResults = 202,
  HeuristicDeviceProperties = 204,
  ConfigEngine = 300,
  PlanHandle = 400,
  PlanConfig = 401,
  PlanWorkspaceBytes = 402,
  PlanDeviceProperties = 407,
  ForwardAlpha = 700,
  ForwardBeta = 701,
  ForwardConvolution = 702,
  ForwardW = 703,
  ForwardX = 704,
  ForwardY = 705,
  InputGradientAlpha = 706,
  InputGradientBeta = 707,
  InputGradientConvolution = 708,
  InputGradientW = 709,
  InputGradientDx = 710,
  InputGradientDy = 711,
  WeightGradientAlpha = 712,
  WeightGradientBeta = 713,
  WeightGradientConvolution = 714,
  WeightGradientDw = 715,
  WeightGradientX = 716,
  WeightGradientDy = 717,
  PointwiseDescriptor = 750,
  PointwiseX = 751,
  PointwiseB = 752,
  PointwiseY = 753,
  GraphHandle = 800,
  GraphOperations = 801,
  TensorAlignment = 900,
  TensorType = 901,
  TensorDims = 902,
  TensorStrides = 903,
  TensorId = 906,
  TensorIsVirtual = 907,
  PackIds = 1000,
  PackPointers = 1001,
  PackWorkspace = 1003,
  EngineNumericalNotes = 1303,
  DevicePropertiesJson = 2702,
};

/// cudnnBackendAttributeType_t: what an attribute's value is.
enum class DnnValue : int {
  Handle = 0,
  DataType = 1,
  Boolean = 2,
  Int64 = 3,
  Float = 4,
  Pointer = 6,
  ConvolutionMode = 7,
  HeuristicMode = 8,
  NumericalNote = 11,
  PointwiseMode = 14,
  Descriptor = 15,
  Char = 24,
};

/// cudnnDataType_t.
enum class DnnType : int { F32 = 0, F16 = 2, BF16 = 9 };
/// cudnnConvolutionMode_t: a deep-learning convolution is a cross-correlation.
enum class DnnConvolutionMode : int { CrossCorrelation = 1 };
/// cudnnPointwiseMode_t.
enum class DnnPointwise : int { Add = 0, Relu = 100 };
/// cudnnBackendHeurMode_t: A ranks by a model, Fallback lists what works nearly always.
enum class DnnHeuristic : int { Fallback = 2, A = 3 };
/// cudnnBackendNumericalNote_t.
enum class DnnNote : int { TensorCore = 0, DownConvertInputs = 1, Nondeterministic = 4 };
inline constexpr int kDnnNotes = 16; ///< at least as many as an engine can have

using DnnHandle = struct DnnHandleObject *;
using DnnDescriptor = void *;

// clang-format off
#define SINTER_CUDNN_ENTRY_POINTS(ENTRY)                                                           \
  ENTRY(size_t, cudnnGetVersion, ())                                                               \
  ENTRY(const char *, cudnnGetErrorString, (DnnStatus status))                                     \
  ENTRY(void, cudnnGetLastErrorString, (char *text, size_t bytes))                                 \
  ENTRY(DnnStatus, cudnnCreate, (DnnHandle *handle))                                               \
  ENTRY(DnnStatus, cudnnDestroy, (DnnHandle handle))                                               \
  ENTRY(DnnStatus, cudnnSetStream, (DnnHandle handle, CuStream stream))                            \
  ENTRY(DnnStatus, cudnnBackendCreateDescriptor,                                                   \
        (DnnDescriptorType type, DnnDescriptor *descriptor))                                       \
  ENTRY(DnnStatus, cudnnBackendDestroyDescriptor, (DnnDescriptor descriptor))                      \
  ENTRY(DnnStatus, cudnnBackendFinalize, (DnnDescriptor descriptor))                               \
  ENTRY(DnnStatus, cudnnBackendSetAttribute,                                                       \
        (DnnDescriptor descriptor, DnnAttribute attribute, DnnValue type, int64_t count,           \
         const void *values))                                                                      \
  ENTRY(DnnStatus, cudnnBackendGetAttribute,                                                       \
        (DnnDescriptor descriptor, DnnAttribute attribute, DnnValue type, int64_t asked,           \
         int64_t *count, void *values))                                                            \
  ENTRY(DnnStatus, cudnnBackendExecute,                                                            \
        (DnnHandle handle, DnnDescriptor plan, DnnDescriptor pack))
// clang-format on

} // namespace sinter::rt::cuda
