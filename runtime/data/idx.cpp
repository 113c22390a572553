#include "sinter/data/idx.h"

#include "sinter/base/text.h"
#include "sinter/core/file.h"

#include <algorithm>
#include <cstring>

#include <zlib.h>

namespace sinter::rt::data {

namespace {

/// Hands out the file's content from its start, decompressed where it is compressed.
class Source {
public:
  Source(const std::byte *data, size_t size, std::string_view origin)
      : input(data), size(size), origin(origin),
        compressed(size >= 2 && data[0] == std::byte{0x1f} && data[1] == std::byte{0x8b}) {
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<std::byte *>(data));
    if (compressed)
      initialised = ::inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK; // 16: a gzip header is wanted
  }
  Source(const Source &) = delete;
  ~Source() {
    if (initialised)
      ::inflateEnd(&stream);
  }

  Status read(void *to, size_t count);
  /// Checks that nothing is left, and gzip's own checksum.
  Status finish();
  /// More bytes than this the content cannot have.
  size_t limit() const { return compressed ? size * kMaxRatio : size; }
  Status error(const std::string &what) const {
    return makeError(Code::Corrupt, origin, ": byte ", offset,
                     compressed ? " of the unpacked data: " : ": ", what,
                     "; fetch or copy the file again");
  }

private:
  static constexpr size_t kMaxRatio = 1040; // deflate's best is 1032
  StatusOr<size_t> inflateSome(void *to, size_t count);

  const std::byte *input;
  size_t size;
  std::string_view origin;
  bool compressed, initialised = false, ended = false;
  size_t offset = 0; ///< in the content
  z_stream stream = {};
};

} // namespace

/// Unpacks up to `count` bytes; 0 at the end of the stream.
StatusOr<size_t> Source::inflateSome(void *to, size_t count) {
  size_t consumed =
      static_cast<size_t>(reinterpret_cast<const std::byte *>(stream.next_in) - input);
  stream.avail_in = static_cast<uInt>(std::min<size_t>(size - consumed, 1 << 30));
  stream.next_out = static_cast<Bytef *>(to);
  stream.avail_out = static_cast<uInt>(std::min<size_t>(count, 1 << 30));
  uInt wanted = stream.avail_out;
  int code = initialised ? ::inflate(&stream, Z_NO_FLUSH) : Z_MEM_ERROR;
  ended = code == Z_STREAM_END;
  size_t got = wanted - stream.avail_out;
  if (code == Z_MEM_ERROR)
    return makeError(Code::OutOfMemory, origin, ": no memory to unpack it; free some");
  if (code == Z_BUF_ERROR || (code == Z_OK && got == 0))
    return error("the compressed file ends too early");
  if (code != Z_OK && code != Z_STREAM_END)
    return error(concat("the compressed data is damaged near byte ", consumed, " of the file (",
                        stream.msg ? stream.msg : "no detail", ")"));
  return got;
}

Status Source::read(void *to, size_t count) {
  if (!compressed) {
    if (count > size - offset)
      return error(
          concat("the file ends after ", size, " bytes, ", count - (size - offset), " too early"));
    if (count > 0)
      std::memcpy(to, input + offset, count);
    offset += count;
    return Status();
  }
  for (char *at = static_cast<char *>(to); count > 0;) {
    if (ended)
      return error(concat("the content ends ", count, " bytes too early"));
    StatusOr<size_t> got = inflateSome(at, count);
    if (!got.ok())
      return got.status();
    at += *got, count -= *got, offset += *got;
  }
  return Status();
}

Status Source::finish() {
  char more = 0;
  if (compressed && !ended) {
    StatusOr<size_t> got = inflateSome(&more, 1);
    if (!got.ok())
      return got.status();
    if (*got > 0)
      return error("more data than the header promises");
  }
  size_t used = compressed
                    ? static_cast<size_t>(stream.next_in - reinterpret_cast<const Bytef *>(input))
                    : offset;
  if (used != size)
    return error(concat(size - used, " unexpected bytes at the end of the file"));
  return Status();
}

static std::optional<DType> elementType(unsigned char code) {
  switch (code) {
  case 0x08:
    return DType::U8;
  case 0x09:
    return DType::I8;
  case 0x0b:
    return DType::I16;
  case 0x0c:
    return DType::I32;
  case 0x0d:
    return DType::F32;
  case 0x0e:
    return DType::F64;
  default:
    return std::nullopt;
  }
}

static void reverseBytes(void *data, size_t bytes, size_t element) {
  for (auto *at = static_cast<std::byte *>(data), *end = at + bytes; element > 1 && at < end;
       at += element)
    std::reverse(at, at + element);
}

StatusOr<Array> parseIdx(const std::byte *data, size_t size, std::string_view origin) {
  Source source(data, size, origin);
  unsigned char magic[4];
  SINTER_RETURN_IF_ERROR(source.read(magic, sizeof magic));
  std::optional<DType> dtype = elementType(magic[2]);
  if (magic[0] != 0 || magic[1] != 0 || !dtype)
    return makeError(Code::InvalidArgument, origin,
                     ": byte 0: this is no idx file (it must start with 00 00 and a type code 08 "
                     "to 0e); check the name");
  std::vector<int64_t> dims;
  int64_t bytes = static_cast<int64_t>(byteSize(*dtype));
  for (int axis = 0; axis < magic[3]; ++axis) {
    uint32_t dim;
    SINTER_RETURN_IF_ERROR(source.read(&dim, sizeof dim));
    dims.push_back(__builtin_bswap32(dim));
    if (__builtin_mul_overflow(bytes, dims.back(), &bytes))
      return source.error("the dimensions " + formatShape(dims) + " are beyond any file");
  }
  if (static_cast<size_t>(bytes) > source.limit())
    return source.error(concat("the header promises ", formatType(*dtype, dims),
                               ", more than the file of ", size, " bytes can hold"));
  StatusOr<Array> array = Array::allocate(*dtype, std::move(dims));
  if (!array.ok())
    return array.status();
  SINTER_RETURN_IF_ERROR(source.read(array->data(), static_cast<size_t>(bytes)));
  SINTER_RETURN_IF_ERROR(source.finish());
  reverseBytes(array->data(), static_cast<size_t>(bytes), byteSize(*dtype));
  return array;
}

StatusOr<Array> readIdx(const std::string &path) {
  StatusOr<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file.ok())
    return file.status();
  return parseIdx((*file)->data(), (*file)->size(), path);
}

} // namespace sinter::rt::data
