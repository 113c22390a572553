#include "sinter/core/npy.h"

#include "sinter/base/text.h"
#include "sinter/core/file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace sinter::rt {

static constexpr std::string_view kMagic = "\x93NUMPY";
static constexpr size_t kMaxHeaderBytes = 1 << 16; // of a plain array: a few hundred
static constexpr size_t kMaxRank = 64;

/// NumPy's kind and size, in the order of DType's values; bf16 has none.
static constexpr std::array<std::string_view, kDTypeCount> kDescrs = {"f8", "f4", "f2", "",   "i8",
                                                                      "i4", "i2", "i1", "u1", "b1"};

namespace {

/// Reads the header, a Python dict of literals. The first mistake sticks.
class HeaderReader {
public:
  HeaderReader(std::string_view text, std::string_view origin, size_t offset)
      : text(text), origin(origin), offset(offset) {}

  Status read(NpyArray &array, bool &fortranOrder);

private:
  void fail(Code code, const std::string &what, size_t where) {
    if (error.ok())
      error = makeError(code, origin, ": byte ", offset + where, ": ", what);
    at = text.size();
  }
  void damaged(const std::string &what) {
    fail(Code::Corrupt, what + "; the file is damaged: save it again with numpy.save", at);
  }
  bool accept(std::string_view word) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n'))
      ++at;
    bool here = text.substr(at, word.size()) == word;
    at += here ? word.size() : 0;
    return here;
  }
  void expect(std::string_view word) {
    if (!accept(word))
      damaged("expected " + std::string(word));
  }
  std::string_view readString();
  void readDescr(DType &dtype);
  bool readBoolean();
  void readShape(std::vector<int64_t> &dims);

  std::string_view text, origin;
  size_t offset, at = 0;
  Status error;
};

} // namespace

std::string_view HeaderReader::readString() {
  std::string_view quote = accept("'") ? "'" : "\"";
  if (quote == "\"")
    expect(quote);
  size_t end = text.find(quote, at);
  if (!error.ok() || end == std::string_view::npos) {
    damaged("expected a string");
    return {};
  }
  std::string_view result = text.substr(at, end - at);
  at = end + 1;
  return result;
}

void HeaderReader::readDescr(DType &dtype) {
  size_t start = at;
  if (accept("[") || accept("("))
    return fail(Code::Unsupported, "structured arrays are not supported; save each field by itself",
                start);
  std::string_view descr = readString();
  if (!error.ok())
    return;
  auto found = std::find(kDescrs.begin(), kDescrs.end(), descr.empty() ? descr : descr.substr(1));
  char order = descr.empty() ? '\0' : descr[0];
  if (found == kDescrs.end() || descr.size() < 3 || (order != '<' && order != '|' && order != '>'))
    return fail(Code::Unsupported,
                concat("dtype '", descr,
                       "' is not supported (f8, f4, f2, i8, i4, i2, i1, u1 and b1 "
                       "are); convert with .astype before saving"),
                start);
  dtype = static_cast<DType>(found - kDescrs.begin());
  if (order == '>' && byteSize(dtype) > 1)
    return fail(
        Code::Unsupported,
        concat("the array is big-endian ('", descr, "'); save x.astype('<", *found, "') instead"),
        start);
}

bool HeaderReader::readBoolean() {
  if (accept("True"))
    return true;
  expect("False");
  return false;
}

void HeaderReader::readShape(std::vector<int64_t> &dims) {
  for (expect("("); error.ok() && !accept(")");) {
    accept(""); // skips the spaces before the number
    int64_t dim = -1;
    const char *begin = text.data() + at;
    auto [stop, code] = std::from_chars(begin, text.data() + text.size(), dim);
    if (code != std::errc() || dim < 0)
      return damaged("expected a dimension");
    at += static_cast<size_t>(stop - begin);
    accept("L"); // Python 2 wrote 3L
    dims.push_back(dim);
    if (dims.size() > kMaxRank)
      return damaged("more than 64 dimensions");
    if (!accept(",") && (dims.size() == 1 || text.substr(at, 1) != ")"))
      return damaged("expected ',' or ')'");
  }
}

Status HeaderReader::read(NpyArray &array, bool &fortranOrder) {
  unsigned seen = 0;
  for (expect("{"); error.ok() && !accept("}");) {
    std::string_view key = readString();
    unsigned field = key == "descr" ? 1 : key == "fortran_order" ? 2 : key == "shape" ? 4 : 0;
    if (field == 0 || (seen & field))
      damaged(concat("key '", key, "' is unknown or repeated"));
    seen |= field;
    expect(":");
    if (!error.ok())
      break;
    if (field == 1)
      readDescr(array.view.dtype);
    else if (field == 2)
      fortranOrder = readBoolean();
    else
      readShape(array.view.dims);
    if (!accept(",") && text.substr(at, 1) != "}")
      damaged("expected ',' or '}'");
  }
  accept("");
  if (error.ok() && (seen != 7 || at != text.size()))
    damaged("the header lacks descr, fortran_order or shape, or has more behind them");
  return error;
}

/// Copies column-major elements into row-major order.
static void transpose(NpyArray &array) {
  const std::vector<int64_t> &dims = array.view.dims;
  size_t element = byteSize(array.view.dtype), count = array.view.bytes / element;
  auto storage = std::make_shared<std::vector<std::byte>>(array.view.bytes);
  std::vector<int64_t> index(dims.size(), 0);
  for (size_t to = 0; to < count; ++to) {
    int64_t from = 0;
    for (size_t axis = dims.size(); axis-- > 0;)
      from = from * dims[axis] + index[axis];
    std::memcpy(storage->data() + to * element,
                array.view.data + static_cast<size_t>(from) * element, element);
    for (size_t axis = dims.size(); axis-- > 0 && ++index[axis] == dims[axis];)
      index[axis] = 0;
  }
  array.view.data = storage->data();
  array.storage = std::move(storage);
}

StatusOr<NpyArray> parseNpy(const std::byte *data, size_t size, std::string_view origin) {
  auto damaged = [&](size_t at, const std::string &what) {
    return makeError(Code::Corrupt, origin, ": byte ", at, ": ", what,
                     "; the file is damaged or incomplete: copy it or save it again");
  };
  std::string_view text(reinterpret_cast<const char *>(data), size);
  if (text.substr(0, kMagic.size()) != kMagic.substr(0, size))
    return makeError(Code::InvalidArgument, origin,
                     ": byte 0: this is no .npy file; save it with numpy.save");
  if (size < 10)
    return damaged(size, "the file ends inside its first 10 bytes");
  int version = static_cast<int>(data[6]);
  if (version < 1 || version > 3)
    return makeError(Code::Unsupported, origin, ": byte 6: .npy version ", version,
                     " is not known (1 to 3 are); save it with numpy.save");
  size_t lengthBytes = version == 1 ? 2 : 4, start = 8 + lengthBytes;
  uint32_t headerBytes = 0;
  if (size < start)
    return damaged(size, "the file ends inside its first 12 bytes");
  std::memcpy(&headerBytes, data + 8, lengthBytes);
  if (headerBytes > kMaxHeaderBytes || headerBytes > size - start)
    return damaged(8, concat("a header of ", headerBytes, " bytes does not fit the file"));

  NpyArray array;
  bool fortranOrder = false;
  HeaderReader header(text.substr(start, headerBytes), origin, start);
  SINTER_RETURN_IF_ERROR(header.read(array, fortranOrder));
  TensorView &view = array.view;
  size_t dataStart = start + headerBytes;
  std::optional<size_t> bytes = denseBytes(view.dtype, view.dims);
  if (!bytes || *bytes != size - dataStart)
    return damaged(std::min(size, dataStart + bytes.value_or(0)),
                   concat("the header says ", formatType(view.dtype, view.dims), ", the file has ",
                          size - dataStart, " bytes of data"));
  view.data = data + dataStart;
  view.bytes = *bytes;
  if (view.dtype == DType::Bool)
    for (size_t i = 0; i < view.bytes; ++i)
      if (view.data[i] > std::byte{1})
        return damaged(dataStart + i, "a bool is neither 0 nor 1");
  if (fortranOrder && view.dims.size() > 1)
    transpose(array);
  return array;
}

StatusOr<NpyArray> readNpy(const std::string &path) {
  StatusOr<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file.ok())
    return file.status();
  StatusOr<NpyArray> array = parseNpy((*file)->data(), (*file)->size(), path);
  if (array.ok() && !array->storage)
    array->storage = *file;
  return array;
}

Status writeNpy(const std::string &path, const TensorView &array) {
  std::string_view descr = kDescrs[static_cast<size_t>(array.dtype)];
  if (descr.empty())
    return makeError(Code::Unsupported, "cannot write ", path, ": NumPy has no ", name(array.dtype),
                     "; cast to f32 first, or save as safetensors");
  if (denseBytes(array.dtype, array.dims) != array.bytes || array.dims.size() > kMaxRank)
    return makeError(Code::InvalidArgument, "cannot write ", path, ": ", array.bytes,
                     " bytes do not fit the shape ", formatShape(array.dims),
                     "; reshape the array");
  std::string dims;
  for (int64_t dim : array.dims)
    dims += std::to_string(dim) + (array.dims.size() == 1 ? "," : ", ");
  if (array.dims.size() > 1)
    dims.resize(dims.size() - 2);
  std::string header = concat("{'descr': '", byteSize(array.dtype) == 1 ? '|' : '<', descr,
                              "', 'fortran_order': False, 'shape': (", dims, "), }");
  size_t start = kMagic.size() + 4;
  header.append(63 - (start + header.size()) % 64, ' ') += '\n'; // the data is aligned to 64 bytes
  uint16_t length = static_cast<uint16_t>(header.size());

  StatusOr<AtomicFile> file = AtomicFile::create(path);
  if (!file.ok())
    return file.status();
  SINTER_RETURN_IF_ERROR(file->write(kMagic));
  SINTER_RETURN_IF_ERROR(file->write(std::string_view("\1\0", 2)));
  SINTER_RETURN_IF_ERROR(file->write(&length, sizeof length));
  SINTER_RETURN_IF_ERROR(file->write(header));
  SINTER_RETURN_IF_ERROR(file->write(array.data, array.bytes));
  return file->commit();
}

} // namespace sinter::rt
