// A program's library calls in terms of NVIDIA's libraries, and the choice by time.
#include "sinter/base/text.h"
#include "sinter/core/array.h"
#include "sinter/cuda/library.h"

#include <algorithm>
#include <limits>

namespace sinter::rt {
namespace {

/// Which of the call's post-ops come, in an order the libraries' epilogues have: bias and added
/// tensor in any order, then ReLU.
struct Epilogue {
  bool bias = false, add = false, relu = false;
};

StatusOr<Epilogue> epilogueOf(const LibraryCall &call) {
  Epilogue result;
  for (PostOp postOp : call.postOps) {
    bool &flag = postOp == PostOp::Bias  ? result.bias
                 : postOp == PostOp::Add ? result.add
                                         : result.relu;
    if (flag || result.relu)
      return makeError(Code::Unsupported, "the library's epilogue has one bias, one added tensor "
                                          "and a ReLU after them; generate the rest");
    if (postOp == PostOp::Bias && result.add)
      return makeError(Code::Unsupported,
                       "the libraries take a bias before an added tensor, not behind it");
    flag = true;
  }
  return result;
}

constexpr WorkOrigin kTrial = {"trial of a library's candidates", ""};

/// Device memory for operands whose contents do not matter, given back at the end.
class TrialBuffers {
public:
  explicit TrialBuffers(Device &device) : device(device) {}
  ~TrialBuffers() {
    for (void *buffer : buffers)
      device.free(buffer);
  }
  Status add(int64_t bytes) {
    StatusOr<void *> memory = device.allocate(size_t(std::max<int64_t>(bytes, 1)), kTrial);
    if (memory.ok())
      buffers.push_back(*memory);
    return memory.status();
  }
  std::vector<void *> buffers;

private:
  Device &device;
};

Status checkOperandCount(std::span<const LibraryOperand> operands, const Epilogue &epilogue) {
  size_t wanted = 3 + size_t(epilogue.bias) + size_t(epilogue.add);
  if (operands.size() != wanted)
    return makeError(Code::InvalidArgument, "a library call with ", operands.size(),
                     " operands where its post-ops need ", wanted, ": compile the program again");
  return {};
}

} // namespace

bool cudaLibrariesTake(const LibraryCall &call, DType dtype) {
  bool isGradient = call.op == LibraryOp::Conv2dInputGrad || call.op == LibraryOp::Conv2dWeightGrad;
  bool isKnown = dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
  return isKnown && epilogueOf(call).ok() && (!isGradient || call.postOps.empty());
}

StatusOr<CudaMatmul> matmulOf(const LibraryCall &call, std::span<const LibraryOperand> operands) {
  if (call.op != LibraryOp::Matmul || call.ints.size() != 3)
    return makeError(Code::InvalidArgument, "no product: compile the program again");
  StatusOr<Epilogue> epilogue = epilogueOf(call);
  if (!epilogue.ok())
    return epilogue.status();
  SINTER_RETURN_IF_ERROR(checkOperandCount(operands, *epilogue));
  const LibraryOperand &a = operands[0], &b = operands[1], &c = operands[2];
  auto batchRank = size_t(call.ints[2]);
  for (const LibraryOperand *operand : {&a, &b, &c})
    if (operand->dims.size() != batchRank + 2)
      return makeError(Code::InvalidArgument, "a product of ", formatType(a.dtype, a.dims), " and ",
                       formatType(b.dtype, b.dims), " with ", batchRank,
                       " batch dimensions: compile the program again");
  if (a.dtype != b.dtype)
    return makeError(Code::Unsupported, "cuBLASLt multiplies two operands of one type, not ",
                     name(a.dtype), " by ", name(b.dtype), "; cast one");
  CudaMatmul matmul;
  matmul.input = a.dtype;
  matmul.output = c.dtype;
  matmul.transposeA = call.ints[0] != 0;
  matmul.transposeB = call.ints[1] != 0;
  for (size_t i = 0; i < batchRank; ++i)
    matmul.batch *= c.dims[i];
  matmul.rows = c.dims[batchRank];
  matmul.columns = c.dims[batchRank + 1];
  matmul.inner = a.dims[batchRank + (matmul.transposeA ? 0 : 1)];
  matmul.bias = epilogue->bias;
  matmul.add = epilogue->add;
  if (epilogue->relu)
    matmul.activation = CudaMatmul::Activation::Relu;
  for (size_t i = 3; i < operands.size(); ++i)
    if (operands[i].dtype != c.dtype)
      return makeError(Code::Unsupported, "cuBLASLt takes bias and added matrix as ", name(c.dtype),
                       " like the result, not ", name(operands[i].dtype), "; cast them");
  return matmul;
}

StatusOr<CudaConvolution> convolutionOf(const LibraryCall &call,
                                        std::span<const LibraryOperand> operands) {
  if (call.op == LibraryOp::Matmul || call.ints.size() != 10)
    return makeError(Code::InvalidArgument, "no convolution: compile the program again");
  StatusOr<Epilogue> epilogue = epilogueOf(call);
  if (!epilogue.ok())
    return epilogue.status();
  SINTER_RETURN_IF_ERROR(checkOperandCount(operands, *epilogue));
  for (const LibraryOperand &operand : operands)
    if (operand.dtype != operands[0].dtype)
      return makeError(Code::Unsupported, "cuDNN is used with operands of one type, not ",
                       name(operands[0].dtype), " and ", name(operand.dtype), "; cast one");
  for (const LibraryOperand &operand : operands.first(3))
    if (operand.dims.size() != 4)
      return makeError(Code::InvalidArgument, "a convolution of ",
                       formatType(operand.dtype, operand.dims), ": compile the program again");
  using Kind = CudaConvolution::Kind;
  CudaConvolution convolution;
  // Positions of x, w and y among the operands.
  size_t x = 0, w = 1, y = 2;
  if (call.op == LibraryOp::Conv2dInputGrad) {
    convolution.kind = Kind::InputGradient;
    x = 2, y = 0;
  } else if (call.op == LibraryOp::Conv2dWeightGrad) {
    convolution.kind = Kind::WeightGradient;
    w = 2, y = 1;
  }
  if (convolution.kind != Kind::Forward && !call.postOps.empty())
    return makeError(Code::Unsupported, "cuDNN's gradients have no epilogue; generate it");
  convolution.dtype = operands[0].dtype;
  convolution.channelsLast = call.ints[9] != 0;
  convolution.weightChannelsLast = false;
  std::span<const int64_t> xDims = operands[x].dims, wDims = operands[w].dims;
  bool last = convolution.channelsLast;
  convolution.batch = xDims[0];
  convolution.channels = xDims[last ? 3 : 1];
  convolution.height = xDims[last ? 1 : 2];
  convolution.width = xDims[last ? 2 : 3];
  convolution.outputChannels = wDims[0];
  convolution.kernelHeight = wDims[2];
  convolution.kernelWidth = wDims[3];
  int64_t *const fields[] = {
      &convolution.strideHeight,   &convolution.strideWidth,   &convolution.padTop,
      &convolution.padLeft,        &convolution.padBottom,     &convolution.padRight,
      &convolution.dilationHeight, &convolution.dilationWidth, &convolution.groups};
  for (size_t i = 0; i < std::size(fields); ++i)
    *fields[i] = call.ints[i];
  convolution.bias = epilogue->bias;
  convolution.add = epilogue->add;
  convolution.relu = epilogue->relu;
  std::span<const int64_t> yDims = operands[y].dims;
  if (yDims[last ? 1 : 2] != convolution.outputHeight() ||
      yDims[last ? 2 : 3] != convolution.outputWidth())
    return makeError(Code::InvalidArgument, "a convolution whose result would be ",
                     convolution.outputHeight(), " by ", convolution.outputWidth(), ", not ",
                     formatType(operands[y].dtype, yDims), ": compile the program again");
  return convolution;
}

int64_t CudaConvolution::outputHeight() const {
  return (height + padTop + padBottom - dilationHeight * (kernelHeight - 1) - 1) / strideHeight + 1;
}
int64_t CudaConvolution::outputWidth() const {
  return (width + padLeft + padRight - dilationWidth * (kernelWidth - 1) - 1) / strideWidth + 1;
}

StatusOr<size_t> fastestOf(CudaDevice &device,
                           std::span<const std::unique_ptr<DevicePrimitive>> candidates,
                           void *const *buffers, void *scratch, const WorkOrigin &origin) {
  constexpr int rounds = 5;
  size_t best = 0;
  double bestTime = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < candidates.size(); ++i) {
    double shortest = std::numeric_limits<double>::infinity();
    for (int round = 0; round <= rounds; ++round) { // the first one warms up
      StatusOr<std::unique_ptr<CudaEvent>> start = device.record(true);
      if (!start.ok())
        return start.status();
      SINTER_RETURN_IF_ERROR(candidates[i]->run(buffers, scratch, origin));
      StatusOr<std::unique_ptr<CudaEvent>> end = device.record(true);
      if (!end.ok())
        return end.status();
      SINTER_RETURN_IF_ERROR(device.synchronize());
      StatusOr<double> time = (*end)->millisecondsSince(**start);
      if (!time.ok())
        return time.status();
      if (round > 0)
        shortest = std::min(shortest, *time);
    }
    if (shortest < bestTime) {
      bestTime = shortest;
      best = i;
    }
  }
  return best;
}

CudaLibraries::~CudaLibraries() = default;

Status CudaLibraries::openProducts() {
  if (products)
    return {};
  auto opened = CudaMatmulLibrary::open(device, options);
  if (opened.ok())
    products = *std::move(opened);
  return opened.status();
}

Status CudaLibraries::openConvolutions() {
  if (convolutions)
    return {};
  auto opened = CudaConvolutionLibrary::open(device, options);
  if (opened.ok())
    convolutions = *std::move(opened);
  return opened.status();
}

StatusOr<std::vector<std::unique_ptr<DevicePrimitive>>>
CudaLibraries::candidates(const LibraryCall &call, std::span<const LibraryOperand> operands) {
  int most = options.exhaustive ? 8 : 1;
  if (call.op == LibraryOp::Matmul) {
    SINTER_RETURN_IF_ERROR(openProducts());
    StatusOr<CudaMatmul> matmul = matmulOf(call, operands);
    return matmul.ok() ? products->candidates(*matmul, most) : matmul.status();
  }
  SINTER_RETURN_IF_ERROR(openConvolutions());
  StatusOr<CudaConvolution> convolution = convolutionOf(call, operands);
  return convolution.ok() ? convolutions->candidates(*convolution, most) : convolution.status();
}

StatusOr<size_t>
CudaLibraries::fastest(std::span<const std::unique_ptr<DevicePrimitive>> candidates,
                       std::span<const LibraryOperand> operands) {
  TrialBuffers trial(device);
  for (const LibraryOperand &operand : operands)
    SINTER_RETURN_IF_ERROR(
        trial.add(elementCount(operand.dims) * int64_t(byteSize(operand.dtype))));
  int64_t scratch = 0;
  for (const auto &candidate : candidates)
    scratch = std::max(scratch, candidate->scratchBytes());
  SINTER_RETURN_IF_ERROR(trial.add(scratch));
  return fastestOf(device, candidates, trial.buffers.data(), trial.buffers.back(), kTrial);
}

StatusOr<std::unique_ptr<DevicePrimitive>>
CudaLibraries::prepare(const LibraryCall &call, std::span<const LibraryOperand> operands) {
  auto found = candidates(call, operands);
  if (!found.ok())
    return found.status();
  if (found->empty())
    return makeError(Code::Unsupported, "NVIDIA's libraries have no kernel for this call; generate "
                                        "one with --vendor=none");
  size_t choice = 0;
  if (found->size() > 1) {
    StatusOr<size_t> best = fastest(*found, operands);
    if (!best.ok())
      return best.status();
    choice = *best;
  }
  return std::move((*found)[choice]);
}

} // namespace sinter::rt
