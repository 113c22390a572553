// The layout of DLPack's DLManagedTensor (https://dmlc.github.io/dlpack), under
// our own names so that it lives beside the original header. A pointer to one
// may be reinterpreted as a pointer to the other.
#pragma once

#include <cstdint>

namespace sinter::rt::dlpack {

enum DeviceType : int32_t { kCpu = 1, kCudaHost = 3 };
enum TypeCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6 };

struct Device {
  int32_t type, id;
};

struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};

struct Tensor {
  void *data;
  Device device;
  int32_t rank;
  DataType dtype;
  int64_t *shape;
  int64_t *strides; ///< in elements; null: dense, row-major
  uint64_t byteOffset;
};

struct ManagedTensor {
  Tensor tensor;
  void *context;
  void (*deleter)(ManagedTensor *self);
};

} // namespace sinter::rt::dlpack
