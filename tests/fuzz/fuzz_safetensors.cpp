// Whatever the bytes: an error, or views that lie inside them.
#include "sinter/core/safetensors.h"

#include <cstdlib>

using namespace sinter;
using namespace sinter::rt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const auto *bytes = reinterpret_cast<const std::byte *>(data);
  StatusOr<Safetensors> file = parseSafetensors(bytes, size, "fuzz");
  if (!file.ok())
    return file.status().message().empty() ? std::abort(), 0 : 0;
  for (const TensorView &tensor : file->tensors)
    if (tensor.data < bytes || tensor.data + tensor.bytes > bytes + size ||
        denseBytes(tensor.dtype, tensor.dims) != tensor.bytes || file->find(tensor.name) != &tensor)
      std::abort();
  return 0;
}
