// A convolution, with what follows it, as cuDNN describes operations.
#include "cudnn.h"
#include "sinter/base/text.h"

#include <optional>

namespace sinter::rt::cuda {
namespace {

std::optional<DnnType> typeOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return DnnType::F32;
  case DType::F16:
    return DnnType::F16;
  case DType::BF16:
    return DnnType::BF16;
  default:
    return std::nullopt;
  }
}

/// Strides of [n, c, h, w] stored so, or as [n, h, w, c].
std::array<int64_t, 4> stridesOf(const std::array<int64_t, 4> &dims, bool channelsLast) {
  auto [n, c, h, w] = dims;
  if (channelsLast)
    return {h * w * c, 1, w * c, c};
  return {c * h * w, h * w, w, 1};
}

} // namespace

std::string describe(const CudaConvolution &convolution) {
  using Kind = CudaConvolution::Kind;
  std::string_view what = convolution.kind == Kind::Forward         ? "convolve"
                          : convolution.kind == Kind::InputGradient ? "take the input gradient of"
                                                                    : "take the weight gradient of";
  return concat(what, " ", name(convolution.dtype), convolution.channelsLast ? " NHWC " : " NCHW ",
                convolution.batch, "x", convolution.channels, "x", convolution.height, "x",
                convolution.width, " with ", convolution.outputChannels, " kernels of ",
                convolution.kernelHeight, "x", convolution.kernelWidth, ", stride ",
                convolution.strideHeight, "x", convolution.strideWidth,
                convolution.groups > 1 ? concat(", ", convolution.groups, " groups") : "");
}

Status ConvolutionGraph::addTensor(std::span<const int64_t> dims, std::span<const int64_t> strides,
                                   DnnType type, int64_t alignment, bool isVirtual) {
  DnnObject tensor(dnn, DnnDescriptorType::Tensor);
  tensor.set(DnnAttribute::TensorType, type);
  tensor.setAll(DnnAttribute::TensorDims, dims);
  tensor.setAll(DnnAttribute::TensorStrides, strides);
  tensor.set(DnnAttribute::TensorId, int64_t(tensors.size()));
  tensor.set(DnnAttribute::TensorAlignment, alignment);
  if (isVirtual)
    tensor.set(DnnAttribute::TensorIsVirtual, true);
  SINTER_RETURN_IF_ERROR(tensor.finish("describe a tensor"));
  tensors.push_back(objects.size());
  objects.push_back(std::move(tensor));
  return {};
}

Status ConvolutionGraph::addTensors(const CudaConvolution &conv) {
  using Kind = CudaConvolution::Kind;
  using Dims = std::array<int64_t, 4>;
  const Dims x = {conv.batch, conv.channels, conv.height, conv.width};
  const Dims w = {conv.outputChannels, conv.channels / conv.groups, conv.kernelHeight,
                  conv.kernelWidth};
  const Dims y = {conv.batch, conv.outputChannels, conv.outputHeight(), conv.outputWidth()};
  const Dims xStrides = stridesOf(x, conv.channelsLast), yStrides = stridesOf(y, conv.channelsLast);
  const Dims wStrides = stridesOf(w, conv.weightChannelsLast);
  DnnType type = *typeOf(conv.dtype);
  auto add = [&](const Dims &dims, const Dims &strides, bool isVirtual = false) {
    // Intermediate results stay in registers, at the precision of the sums.
    return addTensor(dims, strides, isVirtual ? DnnType::F32 : type, conv.alignment, isVirtual);
  };
  resultDims.assign(y.begin(), y.end());
  resultStrides.assign(yStrides.begin(), yStrides.end());
  switch (conv.kind) {
  case Kind::Forward:
    SINTER_RETURN_IF_ERROR(add(x, xStrides));
    SINTER_RETURN_IF_ERROR(add(w, wStrides));
    SINTER_RETURN_IF_ERROR(add(y, yStrides));
    break;
  case Kind::InputGradient:
    SINTER_RETURN_IF_ERROR(add(y, yStrides));
    SINTER_RETURN_IF_ERROR(add(w, wStrides));
    SINTER_RETURN_IF_ERROR(add(x, xStrides));
    break;
  case Kind::WeightGradient:
    SINTER_RETURN_IF_ERROR(add(x, xStrides));
    SINTER_RETURN_IF_ERROR(add(y, yStrides));
    SINTER_RETURN_IF_ERROR(add(w, wStrides));
    break;
  }
  if (conv.bias) {
    const Dims bias = {1, conv.outputChannels, 1, 1};
    SINTER_RETURN_IF_ERROR(add(bias, stridesOf(bias, conv.channelsLast)));
  }
  if (conv.add)
    SINTER_RETURN_IF_ERROR(add(y, yStrides));
  operands = int64_t(tensors.size());
  for (int i = 0; i < int(conv.bias) + int(conv.add) + int(conv.relu); ++i)
    SINTER_RETURN_IF_ERROR(add(y, yStrides, true));
  return {};
}

Status ConvolutionGraph::addConvolution(const CudaConvolution &conv) {
  DnnObject shape(dnn, DnnDescriptorType::Convolution);
  const int64_t strides[] = {conv.strideHeight, conv.strideWidth};
  const int64_t before[] = {conv.padTop, conv.padLeft}, after[] = {conv.padBottom, conv.padRight};
  const int64_t dilations[] = {conv.dilationHeight, conv.dilationWidth};
  const DnnConvolutionMode mode = DnnConvolutionMode::CrossCorrelation;
  shape.set(DnnAttribute::ConvolutionSpatialDims, int64_t(2));
  shape.set(DnnAttribute::ConvolutionPrecision, DnnType::F32);
  shape.setRaw(DnnAttribute::ConvolutionMode, DnnValue::ConvolutionMode, 1, &mode);
  shape.setAll(DnnAttribute::ConvolutionStrides, strides);
  shape.setAll(DnnAttribute::ConvolutionPrePaddings, before);
  shape.setAll(DnnAttribute::ConvolutionPostPaddings, after);
  shape.setAll(DnnAttribute::ConvolutionDilations, dilations);
  SINTER_RETURN_IF_ERROR(shape.finish(describe(conv)));

  /// Type of the operation and its attributes; which operand is which follows the order of ids.
  struct Names {
    DnnDescriptorType type;
    DnnAttribute alpha, beta, convolution, operand[3];
  };
  using A = DnnAttribute;
  const Names names[] = {
      {DnnDescriptorType::ConvolutionForward,
       A::ForwardAlpha,
       A::ForwardBeta,
       A::ForwardConvolution,
       {A::ForwardX, A::ForwardW, A::ForwardY}},
      {DnnDescriptorType::ConvolutionInputGradient,
       A::InputGradientAlpha,
       A::InputGradientBeta,
       A::InputGradientConvolution,
       {A::InputGradientDy, A::InputGradientW, A::InputGradientDx}},
      {DnnDescriptorType::ConvolutionWeightGradient,
       A::WeightGradientAlpha,
       A::WeightGradientBeta,
       A::WeightGradientConvolution,
       {A::WeightGradientX, A::WeightGradientDy, A::WeightGradientDw}},
  };
  const Names &chosen = names[size_t(conv.kind)];
  if (tensors.size() > size_t(operands))
    convolved = size_t(operands); // an epilogue follows: y is the result of that
  DnnObject operation(dnn, chosen.type);
  operation.set(chosen.alpha, 1.0f);
  operation.set(chosen.beta, 0.0f);
  operation.set(chosen.convolution, shape);
  for (size_t i = 0; i < 3; ++i)
    operation.set(chosen.operand[i], objects[tensors[i == 2 ? convolved : i]]);
  SINTER_RETURN_IF_ERROR(operation.finish(describe(conv)));
  objects.push_back(std::move(shape));
  operations.push_back(objects.size());
  objects.push_back(std::move(operation));
  return {};
}

Status ConvolutionGraph::addPointwise(DnnPointwise mode, size_t x, std::optional<size_t> b,
                                      size_t y) {
  DnnObject function(dnn, DnnDescriptorType::Pointwise);
  function.setRaw(DnnAttribute::PointwiseMode, DnnValue::PointwiseMode, 1, &mode);
  function.set(DnnAttribute::PointwisePrecision, DnnType::F32);
  SINTER_RETURN_IF_ERROR(function.finish("describe an epilogue"));
  DnnObject operation(dnn, DnnDescriptorType::PointwiseOperation);
  operation.set(DnnAttribute::PointwiseDescriptor, function);
  operation.set(DnnAttribute::PointwiseX, objects[tensors[x]]);
  if (b)
    operation.set(DnnAttribute::PointwiseB, objects[tensors[*b]]);
  operation.set(DnnAttribute::PointwiseY, objects[tensors[y]]);
  SINTER_RETURN_IF_ERROR(operation.finish("describe an epilogue"));
  objects.push_back(std::move(function));
  operations.push_back(objects.size());
  objects.push_back(std::move(operation));
  return {};
}

Status ConvolutionGraph::addEpilogue(const CudaConvolution &conv) {
  size_t current = convolved, operand = 3;
  auto next = [&] { return current + 1 < tensors.size() ? current + 1 : size_t(2); };
  for (bool there : {conv.bias, conv.add})
    if (there) {
      SINTER_RETURN_IF_ERROR(addPointwise(DnnPointwise::Add, current, operand++, next()));
      current = next();
    }
  if (conv.relu)
    SINTER_RETURN_IF_ERROR(addPointwise(DnnPointwise::Relu, current, std::nullopt, next()));
  return {};
}

Status ConvolutionGraph::make(const CudaConvolution &convolution, DnnHandle handle) {
  if (!typeOf(convolution.dtype))
    return makeError(Code::Unsupported, "cuDNN cannot ", describe(convolution),
                     ": f32, f16 and bf16 are used; cast the operands");
  if (convolution.kind != CudaConvolution::Kind::Forward &&
      (convolution.bias || convolution.add || convolution.relu))
    return makeError(Code::Unsupported, "cuDNN cannot ", describe(convolution),
                     " with an epilogue: gradients have none");
  if (convolution.groups <= 0 || convolution.channels % convolution.groups != 0)
    return makeError(Code::Unsupported, "cuDNN cannot ", describe(convolution),
                     ": the groups do not divide the channels");
  objects.reserve(24); // descriptors are referred to by position, but need not move
  SINTER_RETURN_IF_ERROR(addTensors(convolution));
  SINTER_RETURN_IF_ERROR(addConvolution(convolution));
  SINTER_RETURN_IF_ERROR(addEpilogue(convolution));
  DnnObject graph(dnn, DnnDescriptorType::OperationGraph);
  std::vector<DnnDescriptor> list;
  for (size_t operation : operations)
    list.push_back(objects[operation].get());
  graph.setRaw(DnnAttribute::GraphOperations, DnnValue::Descriptor, int64_t(list.size()),
               list.data());
  if (handle)
    graph.setRaw(DnnAttribute::GraphHandle, DnnValue::Handle, 1, &handle);
  SINTER_RETURN_IF_ERROR(graph.finish(describe(convolution)));
  objects.push_back(std::move(graph));
  return {};
}

} // namespace sinter::rt::cuda
