#include "sinter/core/dlpack.h"

#include "sinter/base/text.h"
#include "sinter/core/array.h"

namespace sinter::rt {
namespace {

dlpack::DataType typeOf(DType dtype) {
  uint8_t bits = uint8_t(byteSize(dtype) * 8);
  switch (dtype) {
  case DType::F64:
  case DType::F32:
  case DType::F16:
    return {dlpack::kFloat, bits, 1};
  case DType::BF16:
    return {dlpack::kBfloat, bits, 1};
  case DType::U8:
    return {dlpack::kUInt, bits, 1};
  case DType::Bool:
    return {dlpack::kBool, bits, 1};
  default:
    return {dlpack::kInt, bits, 1};
  }
}

/// What an exported tensor points to; freed by its deleter.
struct Exported {
  dlpack::ManagedTensor managed;
  Array array;
  Dims shape;
};

bool isDense(const dlpack::Tensor &tensor) {
  if (!tensor.strides)
    return true;
  int64_t expected = 1;
  for (int32_t i = tensor.rank; i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected)
      return false;
    expected *= tensor.shape[i];
  }
  return true;
}

/// Copies the sub-tensor from `axis` on; returns the end of what it wrote.
std::byte *gather(const dlpack::Tensor &tensor, size_t size, int32_t axis, const std::byte *from,
                  std::byte *to) {
  if (axis == tensor.rank) {
    std::memcpy(to, from, size);
    return to + size;
  }
  for (int64_t i = 0; i < tensor.shape[axis]; ++i)
    to = gather(tensor, size, axis + 1, from + i * tensor.strides[axis] * int64_t(size), to);
  return to;
}

} // namespace

dlpack::ManagedTensor *toDlpack(const Array &array) {
  auto *exported = new Exported{{}, array, array.dims()};
  dlpack::Tensor &tensor = exported->managed.tensor;
  tensor.data = array.data();
  tensor.device = {dlpack::kCpu, 0};
  tensor.rank = int32_t(exported->shape.size());
  tensor.dtype = typeOf(array.dtype());
  tensor.shape = exported->shape.data();
  exported->managed.context = exported;
  exported->managed.deleter = [](dlpack::ManagedTensor *self) {
    delete static_cast<Exported *>(self->context);
  };
  return &exported->managed;
}

StatusOr<Array> fromDlpack(dlpack::ManagedTensor *managed) {
  const dlpack::Tensor &tensor = managed->tensor;
  if (tensor.device.type != dlpack::kCpu && tensor.device.type != dlpack::kCudaHost)
    return makeError(Code::Unsupported, "DLPack tensor lives on device type ", tensor.device.type,
                     "; copy it to host memory first");
  std::optional<DType> dtype;
  for (int i = 0; i < kDTypeCount; ++i)
    if (dlpack::DataType candidate = typeOf(DType(i));
        candidate.code == tensor.dtype.code && candidate.bits == tensor.dtype.bits)
      dtype = DType(i);
  if (!dtype || tensor.dtype.lanes != 1)
    return makeError(Code::Unsupported, "DLPack type (code ", int(tensor.dtype.code), ", ",
                     int(tensor.dtype.bits), " bits, ", tensor.dtype.lanes,
                     " lanes) has no counterpart; cast the tensor before export");
  Dims dims(tensor.shape, tensor.shape + tensor.rank);
  auto release = [managed] {
    if (managed->deleter)
      managed->deleter(managed);
  };
  auto *first = static_cast<std::byte *>(tensor.data) + tensor.byteOffset;
  if (elementCount(dims) == 0 || isDense(tensor))
    return Array::borrow(first, *dtype, std::move(dims), release);
  StatusOr<Array> copy = Array::allocate(*dtype, std::move(dims));
  if (copy.ok()) {
    gather(tensor, byteSize(*dtype), 0, first, static_cast<std::byte *>(copy->data()));
    release();
  }
  return copy;
}

} // namespace sinter::rt
