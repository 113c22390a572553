#include "sinter/base/text.h"
#include "sinter/cpu/vendor.h"

namespace sinter::rt {

Status checkVendorSupport(const LibraryCall &call, DType dtype) {
  if (dtype != DType::F32 && dtype != DType::BF16)
    return makeError(Code::Unsupported, "oneDNN contracts f32 and bf16 on the CPU, not ",
                     name(dtype), "; use a generated kernel for this op");
  bool gradient = call.op == LibraryOp::Conv2dInputGrad || call.op == LibraryOp::Conv2dWeightGrad;
  if (gradient && !call.postOps.empty())
    return makeError(Code::Unsupported,
                     "oneDNN's convolution gradients take no post-ops; run them as a kernel of "
                     "their own after the call");
  return {};
}

bool vendorSupports(const LibraryCall &call, DType dtype) {
  return checkVendorSupport(call, dtype).ok();
}

} // namespace sinter::rt
