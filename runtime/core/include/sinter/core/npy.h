// NumPy's .npy files. Reading maps the file and checks every field; the view
// lives as long as `storage`. Writing is atomic. Any thread may read a result.
#pragma once

#include "sinter/base/status.h"
#include "sinter/core/tensor_view.h"

#include <memory>
#include <string>
#include <string_view>

namespace sinter::rt {

struct NpyArray {
  TensorView view;                     ///< row-major; the name is empty
  std::shared_ptr<const void> storage; ///< null when the bytes are the caller's
};

/// Reads versions 1 to 3. A Fortran-ordered array is put into row-major order;
/// big-endian, structured and object arrays are refused with the way to convert them.
StatusOr<NpyArray> readNpy(const std::string &path);
/// Reads `size` bytes the caller keeps alive; `origin` names them in errors.
StatusOr<NpyArray> parseNpy(const std::byte *data, size_t size, std::string_view origin);

/// Writes what numpy.load reads; bf16, which NumPy has not, is refused.
Status writeNpy(const std::string &path, const TensorView &array);

} // namespace sinter::rt
