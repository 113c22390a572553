// Whatever the bytes: an error, or an array of exactly as many bytes as its shape says.
#include "sinter/core/npy.h"

#include <cstdlib>

using namespace sinter;
using namespace sinter::rt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  StatusOr<NpyArray> array = parseNpy(reinterpret_cast<const std::byte *>(data), size, "fuzz");
  if (!array.ok())
    return array.status().message().empty() ? std::abort(), 0 : 0;
  if (denseBytes(array->view.dtype, array->view.dims) != array->view.bytes)
    std::abort();
  std::vector<std::byte> all(array->view.data, array->view.data + array->view.bytes); // readable
  return 0;
}
