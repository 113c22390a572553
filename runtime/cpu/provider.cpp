// The provider: checks a call, stages bf16 where the processor lacks it, and
// turns oneDNN's exceptions into Status.
#include "builders.h"
#include "library_task.h"
#include "plain_tasks.h"
#include "single_threaded.h"
#include "sinter/base/text.h"

#include <new>

namespace sinter::rt {
namespace onednn {
namespace {

std::string_view opName(LibraryOp op) {
  switch (op) {
  case LibraryOp::Matmul:
    return "matmul";
  case LibraryOp::Conv2d:
    return "conv2d";
  case LibraryOp::Conv2dInputGrad:
    return "conv2d_input_grad";
  case LibraryOp::Conv2dWeightGrad:
    return "conv2d_weight_grad";
  }
  return "unknown library op";
}

/// "matmul(f32[64, 784], f32[256, 784], f32[64, 256])"
std::string describe(const LibraryCall &call, std::span<const LibraryOperand> operands) {
  std::string text(opName(call.op));
  char separator = '(';
  for (const LibraryOperand &operand : operands) {
    text += separator + (separator == ',' ? std::string(" ") : std::string()) +
            formatType(operand.dtype, operand.dims);
    separator = ',';
  }
  return text + ")";
}

Status checkOperands(const LibraryCall &call, std::span<const LibraryOperand> operands) {
  size_t wanted = 3;
  for (PostOp postOp : call.postOps)
    wanted += postOp != PostOp::Relu;
  if (operands.size() != wanted)
    return makeError(Code::InvalidArgument, "takes ", wanted, " operands, got ", operands.size());
  for (const LibraryOperand &operand : operands)
    SINTER_RETURN_IF_ERROR(checkVendorSupport(call, operand.dtype));
  bool gradient = call.op == LibraryOp::Conv2dInputGrad || call.op == LibraryOp::Conv2dWeightGrad;
  if (operands[0].dtype != operands[1].dtype)
    return makeError(Code::Unsupported, "oneDNN multiplies two operands of one type, not ",
                     name(operands[0].dtype), " by ", name(operands[1].dtype), "; cast one");
  if (!gradient && operands[0].dtype == DType::F32 && operands[2].dtype == DType::BF16)
    return makeError(Code::Unsupported, "oneDNN has no bf16 result of f32 operands; cast after");
  const LibraryOperand &result = operands[2];
  size_t next = 3, rank = result.dims.size();
  bool channelsLast = call.op == LibraryOp::Matmul || (call.ints.size() == 10 && call.ints[9]);
  for (PostOp postOp : call.postOps) {
    if (postOp == PostOp::Relu)
      continue;
    const LibraryOperand &operand = operands[next++];
    bool fits = postOp == PostOp::Add
                    ? std::ranges::equal(operand.dims, result.dims)
                    : operand.dims.size() == 1 && rank >= 2 &&
                          operand.dims[0] == result.dims[channelsLast ? rank - 1 : 1];
    if (!fits)
      return makeError(Code::InvalidArgument, postOp == PostOp::Add ? "Add" : "Bias", " operand ",
                       formatType(operand.dtype, operand.dims), " does not fit the result");
  }
  return {};
}

/// Turns bf16 operands into f32 ones in scratch (constants: packed now).
class Staging {
public:
  Staging(std::vector<Operand> &operands, TaskList &list) : operands(operands), list(list) {}

  Status load() {
    Phase phase;
    for (size_t i = 0; i < operands.size(); ++i) {
      Operand &operand = operands[i];
      if (operand.dtype != DType::BF16)
        continue;
      int64_t elements = operand.elements(), bytes = elements * int64_t(sizeof(float));
      Place from = operand.place;
      operand.dtype = DType::F32;
      if (operand.constant && elements > 0) {
        StatusOr<Place> place = list.allocatePacked(bytes);
        if (!place.ok())
          return place.status();
        operand.place = *place;
        SINTER_RETURN_IF_ERROR(
            list.runNow(convertPhase(from, DType::BF16, operand.place, elements)));
        continue;
      }
      operand.place = list.allocateScratch(bytes);
      if (i == resultIndex)
        resultStaged = true;
      else
        std::ranges::move(convertPhase(from, DType::BF16, operand.place, elements),
                          std::back_inserter(phase));
    }
    list.addPhase(std::move(phase));
    return {};
  }

  void store() {
    const Operand &result = operands[resultIndex];
    if (resultStaged)
      list.addPhase(convertPhase(result.place, DType::F32, {Place::Area::Operand, resultIndex, 0},
                                 result.elements()));
  }

private:
  static constexpr int32_t resultIndex = 2;
  std::vector<Operand> &operands;
  TaskList &list;
  bool resultStaged = false;
};

Status build(const LibraryCall &call, std::vector<Operand> &operands, TaskList &list) {
  Staging staging(operands, list);
  if (!hasNativeBFloat16())
    SINTER_RETURN_IF_ERROR(staging.load());
  SINTER_RETURN_IF_ERROR(call.op == LibraryOp::Matmul ? buildMatmul(call, operands, list)
                                                      : buildConvolution(call, operands, list));
  staging.store();
  return {};
}

Code codeOf(const dnnl::error &error) {
  switch (error.status) {
  case dnnl_out_of_memory:
    return Code::OutOfMemory;
  case dnnl_unimplemented:
    return Code::Unsupported;
  default:
    return Code::Internal;
  }
}

class Provider final : public LibraryProvider {
public:
  StatusOr<std::unique_ptr<LibraryPrimitive>>
  prepare(const LibraryCall &call, std::span<const LibraryOperand> given) const override {
    std::string description = describe(call, given);
    auto refuse = [&](Code code, std::string_view reason) {
      return makeError(code, description, ": ", reason);
    };
    if (Status status = checkOperands(call, given); !status.ok())
      return refuse(status.code(), status.message());
    std::vector<Operand> operands;
    std::vector<void *> constants;
    for (const LibraryOperand &operand : given) {
      Place place{Place::Area::Operand, int32_t(operands.size()), 0};
      operands.push_back({operand.dtype,
                          {operand.dims.begin(), operand.dims.end()},
                          place,
                          operand.constant != nullptr});
      constants.push_back(const_cast<void *>(operand.constant)); // never written
    }
    auto list = std::make_unique<TaskList>(description, std::move(constants));
    SingleThreaded guard; // oneDNN plans for the threads it finds now
    try {
      if (Status status = build(call, operands, *list); !status.ok())
        return refuse(status.code(), status.message());
    } catch (const dnnl::error &error) {
      return refuse(codeOf(error), concat("oneDNN says: ", error.message));
    } catch (const std::bad_alloc &) {
      return refuse(Code::OutOfMemory, "no memory to make the primitive");
    }
    list->forgetConstants();
    return std::unique_ptr<LibraryPrimitive>(std::move(list));
  }
};

} // namespace
} // namespace onednn

const LibraryProvider *vendorLibrary() {
  static const onednn::Provider provider;
  return &provider;
}

} // namespace sinter::rt
