// IDX files, the format of MNIST and its kin: a magic number, big-endian
// dimensions and elements, plain or gzip-compressed (told by content, not by
// name). Everything is checked against the file's size before memory is taken;
// errors name the file and the byte. Thread-safe.
#pragma once

#include "sinter/core/array.h"

#include <string>
#include <string_view>

namespace sinter::rt::data {

/// Element types u8, i8, i16, i32, f32 and f64, converted to the machine's byte order.
StatusOr<Array> readIdx(const std::string &path);
/// As above, of `size` bytes in memory; `origin` names them in errors.
StatusOr<Array> parseIdx(const std::byte *data, size_t size, std::string_view origin);

} // namespace sinter::rt::data
