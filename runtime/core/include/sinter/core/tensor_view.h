// A named, typed window on bytes that somebody else owns: what the file formats
// read and write. A plain value; as thread-safe as the bytes it points at.
#pragma once

#include "sinter/base/dtype.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sinter::rt {

/// Row-major, little-endian elements. Files of others may place `data` at any
/// address: look at `aligned()` before handing it to a kernel.
struct TensorView {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
  const std::byte *data = nullptr;
  size_t bytes = 0;

  bool aligned() const { return reinterpret_cast<uintptr_t>(data) % byteSize(dtype) == 0; }
};

/// Bytes of a dense tensor; nothing if a dimension is negative or the product
/// does not fit an int64_t.
inline std::optional<size_t> denseBytes(DType dtype, const std::vector<int64_t> &dims) {
  int64_t bytes = static_cast<int64_t>(byteSize(dtype));
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0)
      return std::nullopt;
    empty |= dim == 0;
    // Zero dimensions are left out of the product, so that the others are checked all the same.
    if (dim != 0 && __builtin_mul_overflow(bytes, dim, &bytes))
      return std::nullopt;
  }
  return empty ? 0 : static_cast<size_t>(bytes);
}

} // namespace sinter::rt
