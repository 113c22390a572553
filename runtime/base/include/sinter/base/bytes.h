// Little-endian reading and writing with bounds checks, for every file and image
// format of the runtime. A reader that ran past its end stays failed and returns
// zeros, so a parser may read a whole record and check `ok()` once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sinter {

static_assert(std::endian::native == std::endian::little, "the formats are read in place");

class ByteWriter {
public:
  template <class T> void write(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    writeBytes(&value, sizeof(T));
  }
  void writeBytes(const void *data, size_t size) {
    const auto *first = static_cast<const std::byte *>(data);
    bytes.insert(bytes.end(), first, first + size);
  }
  /// Length as u32, then the characters.
  void writeString(std::string_view text) {
    write(uint32_t(text.size()));
    writeBytes(text.data(), text.size());
  }

  std::vector<std::byte> bytes;
};

class ByteReader {
public:
  ByteReader(const void *data, size_t size)
      : first(static_cast<const std::byte *>(data)), size(size) {}

  template <class T> T read() {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    T value{};
    if (const std::byte *from = readBytes(sizeof(T)))
      std::memcpy(&value, from, sizeof(T));
    return value;
  }
  /// The next `count` bytes in place; null (and failed) if fewer are left.
  const std::byte *readBytes(size_t count) {
    if (failed || count > size - position) {
      failed = true;
      return nullptr;
    }
    const std::byte *from = first + position;
    position += count;
    return from;
  }
  std::string readString() {
    uint32_t length = read<uint32_t>();
    const std::byte *from = readBytes(length);
    return from ? std::string(reinterpret_cast<const char *>(from), length) : std::string();
  }
  /// A count of records that take at least `minimumBytes` each, so that a
  /// corrupt count can't ask for more memory than the input has bytes.
  uint32_t readCount(size_t minimumBytes) {
    uint32_t count = read<uint32_t>();
    if (count > remaining() / (minimumBytes ? minimumBytes : 1))
      failed = true;
    return failed ? 0 : count;
  }

  bool ok() const { return !failed; }
  void fail() { failed = true; }
  size_t offset() const { return position; }
  size_t remaining() const { return size - position; }

private:
  const std::byte *first;
  size_t size, position = 0;
  bool failed = false;
};

} // namespace sinter
