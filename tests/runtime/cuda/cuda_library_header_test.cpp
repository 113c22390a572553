// Compares runtime/cuda's declarations of cuBLASLt and cuDNN with the libraries' headers, at
// compile time, where they are there.
#include "cublaslt_types.h"
#include "cudnn_types.h"
#include "same_abi.h"

#include <gtest/gtest.h>

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

namespace sinter::rt::cuda {

#define SINTER_COMPARE(result, name, parameters)                                                   \
  static_assert(sameSignature<result(*) parameters, decltype(&::name)>, #name);
SINTER_CUBLASLT_ENTRY_POINTS(SINTER_COMPARE)
#undef SINTER_COMPARE

SAME(BlasStatus::Success, CUBLAS_STATUS_SUCCESS);
SAME(BlasStatus::NotInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
SAME(BlasStatus::AllocFailed, CUBLAS_STATUS_ALLOC_FAILED);
SAME(BlasStatus::InvalidValue, CUBLAS_STATUS_INVALID_VALUE);
SAME(BlasStatus::ArchMismatch, CUBLAS_STATUS_ARCH_MISMATCH);
SAME(BlasStatus::ExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
SAME(BlasStatus::NotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(BlasType::F32, CUDA_R_32F);
SAME(BlasType::F16, CUDA_R_16F);
SAME(BlasType::BF16, CUDA_R_16BF);
SAME(BlasCompute::F32, CUBLAS_COMPUTE_32F);
SAME(BlasCompute::F32FastTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(BlasOperation::None, CUBLAS_OP_N);
SAME(BlasOperation::Transpose, CUBLAS_OP_T);
SAME(BlasEpilogue::Default, CUBLASLT_EPILOGUE_DEFAULT);
SAME(BlasEpilogue::Relu, CUBLASLT_EPILOGUE_RELU);
SAME(BlasEpilogue::Bias, CUBLASLT_EPILOGUE_BIAS);
SAME(BlasEpilogue::ReluBias, CUBLASLT_EPILOGUE_RELU_BIAS);
SAME(BlasEpilogue::Gelu, CUBLASLT_EPILOGUE_GELU);
SAME(BlasEpilogue::GeluBias, CUBLASLT_EPILOGUE_GELU_BIAS);
SAME(BlasMatmulAttribute::TransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(BlasMatmulAttribute::TransposeB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(BlasMatmulAttribute::Epilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(BlasMatmulAttribute::BiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(BlasLayoutAttribute::BatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(BlasLayoutAttribute::StridedBatchOffset, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(BlasPreferenceAttribute::MaxWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(BlasPreferenceAttribute::MinAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(BlasPreferenceAttribute::MinAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(BlasPreferenceAttribute::MinAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(BlasPreferenceAttribute::MinAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(sameAbi<BlasAlgorithm, cublasLtMatmulAlgo_t>);
static_assert(sameAbi<BlasHeuristicResult, cublasLtMatmulHeuristicResult_t>);
static_assert(offsetof(BlasHeuristicResult, workspaceBytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(BlasHeuristicResult, status) ==
              offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(BlasHeuristicResult, waves) ==
              offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));

} // namespace sinter::rt::cuda

TEST(CudaHeader, CublasLtIsTheLibrarys) { SUCCEED() << "compared while compiling"; }
#else
TEST(CudaHeader, CublasLtIsTheLibrarys) {
  GTEST_SKIP() << "no cublasLt.h: install a CUDA toolkit to compare the declarations with it";
}
#endif

#if __has_include(<cudnn_graph.h>)
#include <cudnn_graph.h>

namespace sinter::rt::cuda {

#define SINTER_COMPARE(result, name, parameters)                                                   \
  static_assert(sameSignature<result(*) parameters, decltype(&::name)>, #name);
SINTER_CUDNN_ENTRY_POINTS(SINTER_COMPARE)
#undef SINTER_COMPARE

SAME(DnnStatus::Success, CUDNN_STATUS_SUCCESS);
SAME(DnnStatus::NotInitialized, CUDNN_STATUS_NOT_INITIALIZED);
SAME(DnnStatus::BadParam, CUDNN_STATUS_BAD_PARAM);
SAME(DnnStatus::NotSupported, CUDNN_STATUS_NOT_SUPPORTED);
SAME(DnnStatus::InternalError, CUDNN_STATUS_INTERNAL_ERROR);
SAME(DnnStatus::HostAllocationFailed, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
SAME(DnnStatus::DeviceAllocationFailed, CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED);
SAME(DnnStatus::ExecutionFailed, CUDNN_STATUS_EXECUTION_FAILED);
SAME(DnnDescriptorType::Pointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
SAME(DnnDescriptorType::Convolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
SAME(DnnDescriptorType::Engine, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
SAME(DnnDescriptorType::EngineConfig, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
SAME(DnnDescriptorType::EngineHeuristic, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
SAME(DnnDescriptorType::ExecutionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
SAME(DnnDescriptorType::ConvolutionForward, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
SAME(DnnDescriptorType::ConvolutionWeightGradient,
     CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
SAME(DnnDescriptorType::ConvolutionInputGradient,
     CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
SAME(DnnDescriptorType::PointwiseOperation, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
SAME(DnnDescriptorType::OperationGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
SAME(DnnDescriptorType::VariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
SAME(DnnDescriptorType::Tensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
SAME(DnnAttribute::PointwiseMode, CUDNN_ATTR_POINTWISE_MODE);
SAME(DnnAttribute::PointwisePrecision, CUDNN_ATTR_POINTWISE_MATH_PREC);
SAME(DnnAttribute::ConvolutionPrecision, CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
SAME(DnnAttribute::ConvolutionMode, CUDNN_ATTR_CONVOLUTION_CONV_MODE);
SAME(DnnAttribute::ConvolutionDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS);
SAME(DnnAttribute::ConvolutionStrides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
SAME(DnnAttribute::ConvolutionPostPaddings, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
SAME(DnnAttribute::ConvolutionPrePaddings, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
SAME(DnnAttribute::ConvolutionSpatialDims, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
SAME(DnnAttribute::HeuristicMode, CUDNN_ATTR_ENGINEHEUR_MODE);
SAME(DnnAttribute::HeuristicGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
SAME(DnnAttribute::HeuristicResults, CUDNN_ATTR_ENGINEHEUR_RESULTS);
SAME(DnnAttribute::ConfigEngine, CUDNN_ATTR_ENGINECFG_ENGINE);
SAME(DnnAttribute::PlanConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
SAME(DnnAttribute::PlanWorkspaceBytes, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
SAME(DnnAttribute::ForwardAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
SAME(DnnAttribute::ForwardBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
SAME(DnnAttribute::ForwardConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
SAME(DnnAttribute::ForwardW, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
SAME(DnnAttribute::ForwardX, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
SAME(DnnAttribute::ForwardY, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
SAME(DnnAttribute::InputGradientAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA);
SAME(DnnAttribute::InputGradientBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA);
SAME(DnnAttribute::InputGradientConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
SAME(DnnAttribute::InputGradientW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W);
SAME(DnnAttribute::InputGradientDx, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX);
SAME(DnnAttribute::InputGradientDy, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
SAME(DnnAttribute::WeightGradientAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA);
SAME(DnnAttribute::WeightGradientBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA);
SAME(DnnAttribute::WeightGradientConvolution,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC);
SAME(DnnAttribute::WeightGradientDw, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW);
SAME(DnnAttribute::WeightGradientX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X);
SAME(DnnAttribute::WeightGradientDy, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
SAME(DnnAttribute::PointwiseDescriptor, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
SAME(DnnAttribute::PointwiseX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
SAME(DnnAttribute::PointwiseB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
SAME(DnnAttribute::PointwiseY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
SAME(DnnAttribute::GraphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS);
SAME(DnnAttribute::TensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
SAME(DnnAttribute::TensorType, CUDNN_ATTR_TENSOR_DATA_TYPE);
SAME(DnnAttribute::TensorDims, CUDNN_ATTR_TENSOR_DIMENSIONS);
SAME(DnnAttribute::TensorStrides, CUDNN_ATTR_TENSOR_STRIDES);
SAME(DnnAttribute::TensorId, CUDNN_ATTR_TENSOR_UNIQUE_ID);
SAME(DnnAttribute::TensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
SAME(DnnAttribute::PackIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
SAME(DnnAttribute::PackPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
SAME(DnnAttribute::PackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
SAME(DnnAttribute::EngineNumericalNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
SAME(DnnValue::Handle, CUDNN_TYPE_HANDLE);
SAME(DnnValue::DataType, CUDNN_TYPE_DATA_TYPE);
SAME(DnnValue::Boolean, CUDNN_TYPE_BOOLEAN);
SAME(DnnValue::Int64, CUDNN_TYPE_INT64);
SAME(DnnValue::Float, CUDNN_TYPE_FLOAT);
SAME(DnnValue::Pointer, CUDNN_TYPE_VOID_PTR);
SAME(DnnValue::ConvolutionMode, CUDNN_TYPE_CONVOLUTION_MODE);
SAME(DnnValue::HeuristicMode, CUDNN_TYPE_HEUR_MODE);
SAME(DnnValue::NumericalNote, CUDNN_TYPE_NUMERICAL_NOTE);
SAME(DnnValue::PointwiseMode, CUDNN_TYPE_POINTWISE_MODE);
SAME(DnnValue::Descriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR);
SAME(DnnValue::Char, CUDNN_TYPE_CHAR);
SAME(DnnType::F32, CUDNN_DATA_FLOAT);
SAME(DnnType::F16, CUDNN_DATA_HALF);
SAME(DnnType::BF16, CUDNN_DATA_BFLOAT16);
SAME(DnnConvolutionMode::CrossCorrelation, CUDNN_CROSS_CORRELATION);
SAME(DnnPointwise::Add, CUDNN_POINTWISE_ADD);
SAME(DnnPointwise::Relu, CUDNN_POINTWISE_RELU_FWD);
SAME(DnnHeuristic::Fallback, CUDNN_HEUR_MODE_FALLBACK);
SAME(DnnHeuristic::A, CUDNN_HEUR_MODE_A);
SAME(DnnNote::TensorCore, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
SAME(DnnNote::DownConvertInputs, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
SAME(DnnNote::Nondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
static_assert(kDnnNotes >= CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
#if CUDNN_VERSION >= 90800 // plans without a device
SAME(DnnDescriptorType::DeviceProperties, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
SAME(DnnAttribute::HeuristicDeviceProperties, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
SAME(DnnAttribute::PlanDeviceProperties, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
SAME(DnnAttribute::DevicePropertiesJson, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
#endif
// The header deprecates handles in favour of device properties, which need 9.8.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
SAME(DnnAttribute::GraphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
SAME(DnnAttribute::PlanHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
#pragma GCC diagnostic pop

} // namespace sinter::rt::cuda

TEST(CudaHeader, CudnnIsTheLibrarys) { SUCCEED() << "compared while compiling"; }
#else
TEST(CudaHeader, CudnnIsTheLibrarys) {
  GTEST_SKIP() << "no cudnn_graph.h: install cuDNN 9 to compare the declarations with it";
}
#endif
