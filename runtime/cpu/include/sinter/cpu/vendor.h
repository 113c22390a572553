// What the CPU's vendor library (oneDNN) takes on, and what it made of a call.
//
// The questions need no oneDNN: a compiler asks them without linking it
// (target sinter_vendor_support). All functions are pure; any thread may call.
#pragma once

#include "sinter/core/library.h"

#include <string>

namespace sinter::rt {

/// Ok if the library runs `call` on operands of `dtype`, else Unsupported with
/// the reason, so that a generated kernel does the work. f32 and bf16 only; a
/// processor without bf16 arithmetic computes in f32 and rounds the result.
/// Post-ops belong to Matmul and Conv2d; gradients take none.
Status checkVendorSupport(const LibraryCall &call, DType dtype);
/// The same without the reason.
bool vendorSupports(const LibraryCall &call, DType dtype);

/// What `vendorLibrary()` of target sinter_cpu_onednn prepares.
class VendorPrimitive : public LibraryPrimitive {
public:
  /// The library's own names of the distinct implementations chosen for the
  /// call, comma-separated, e.g. "jit:avx2"; "" if there is nothing to compute.
  virtual std::string implementationName() const = 0;
  /// Tasks of the widest phase: how many threads can work at once.
  virtual int64_t parallelism() const = 0;
};

} // namespace sinter::rt
