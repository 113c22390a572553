// How the executor reaches a vendor library: oneDNN on the CPU, NVIDIA's on a card.
//
// A provider is stateless and shared by all executables; a primitive belongs to
// one executable, is made for fixed operand shapes and used by one caller at a
// time. On the CPU exactly one definition of `vendorLibrary` is linked: runtime/cpu's, or
// the target sinter_no_vendor, which has none.
#pragma once

#include "sinter/base/status.h"
#include "sinter/core/device.h"
#include "sinter/core/program.h"
#include "sinter/core/thread_pool.h"

#include <memory>
#include <span>

namespace sinter::rt {

/// One operand of a library call, dense and row-major.
struct LibraryOperand {
  DType dtype = DType::F32;
  std::span<const int64_t> dims;
  /// The operand's bytes if they never change (a constant of the program), so
  /// that they may be packed when the primitive is made; else null.
  const void *constant = nullptr;
};

/// A call made ready for fixed operand types, wherever it runs.
class PreparedCall {
public:
  virtual ~PreparedCall() = default;
  /// Bytes of scratch that `run` needs, for all workers together.
  virtual int64_t scratchBytes() const = 0;
};

class LibraryPrimitive : public PreparedCall {
public:
  /// `buffers`: one pointer an operand in the call's order. `scratch` is 64-byte
  /// aligned. Allocates nothing; same bits for any number of threads.
  virtual Status run(void *const *buffers, void *scratch, ThreadPool &pool) = 0;
};

class LibraryProvider {
public:
  virtual ~LibraryProvider() = default;
  /// Makes a primitive for `call` on operands of these types; they are read
  /// during the call only. Unsupported combinations are an error that names them.
  virtual StatusOr<std::unique_ptr<LibraryPrimitive>>
  prepare(const LibraryCall &call, std::span<const LibraryOperand> operands) const = 0;
};

class DevicePrimitive : public PreparedCall {
public:
  /// Enqueues the call. `buffers`: device pointers, one an operand in the call's order; `scratch`
  /// is 256-byte aligned device memory.
  virtual Status run(void *const *buffers, void *scratch, const WorkOrigin &origin) = 0;
};

/// A device's vendor libraries; one caller at a time, like the device.
class DeviceLibrary {
public:
  virtual ~DeviceLibrary() = default;
  /// As LibraryProvider::prepare; operands are never constant.
  virtual StatusOr<std::unique_ptr<DevicePrimitive>>
  prepare(const LibraryCall &call, std::span<const LibraryOperand> operands) = 0;
};

/// The vendor library linked into this image, null if there is none.
const LibraryProvider *vendorLibrary();

} // namespace sinter::rt
