// Whatever the bytes, plain or compressed: an error or an array, and no more
// memory than the input can account for.
#include "sinter/data/idx.h"

#include <cstdlib>

using namespace sinter;
using namespace sinter::rt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  StatusOr<Array> array = data::parseIdx(reinterpret_cast<const std::byte *>(data), size, "fuzz");
  if (array.ok() ? array->bytes() > int64_t(size) * 1040 : array.status().message().empty())
    std::abort();
  return 0;
}
