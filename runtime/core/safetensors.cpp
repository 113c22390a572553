#include "sinter/core/safetensors.h"

#include "sinter/base/text.h"
#include "sinter/core/file.h"
#include "sinter/core/json.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace sinter::rt {

static constexpr size_t kLengthBytes = 8;
static constexpr size_t kMaxHeaderBytes = 100'000'000; // the format's own limit
static constexpr size_t kMaxRank = 64;
static constexpr std::string_view kMetadata = "__metadata__";

/// In the order of DType's values.
static constexpr std::array<std::string_view, kDTypeCount> kDTypeNames = {
    "F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL"};

namespace {

struct Entry {
  TensorView view;
  size_t begin = 0, end = 0; ///< in the data section
  size_t at = 0;             ///< where the header describes it, for errors
};

class Parser {
public:
  Parser(const std::byte *data, size_t size, std::string_view origin)
      : data(data), size(size), origin(origin) {}

  StatusOr<Safetensors> parse();

private:
  Status corrupt(size_t at, const std::string &what) const {
    return makeError(Code::Corrupt, origin, ": byte ", at, ": ", what,
                     "; the file is damaged or incomplete: copy or write it again");
  }
  Status readHeader(JsonReader &json);
  void readMetadata(JsonReader &json);
  Entry readEntry(JsonReader &json, std::string name, size_t at);
  Status checkNames();
  Status checkLayout();
  Status checkContent(const Entry &entry) const;

  const std::byte *data;
  size_t size;
  std::string_view origin;
  size_t dataStart = 0;
  std::vector<Entry> entries;
  Safetensors result;
};

} // namespace

void Parser::readMetadata(JsonReader &json) {
  std::string key;
  for (json.beginObject(); json.nextKey(key);) {
    size_t at = json.position();
    std::string value = json.readString();
    if (json.ok() && !result.metadata.emplace(key, std::move(value)).second)
      json.fail("metadata key '" + key + "' stands there twice", at);
  }
}

static DType readDType(JsonReader &json, const std::string &tensor) {
  size_t at = json.position();
  std::string text = json.readString();
  auto found = std::find(kDTypeNames.begin(), kDTypeNames.end(), text);
  if (found == kDTypeNames.end()) {
    json.refuse("tensor '" + tensor + "' has the dtype '" + text + "', which is not supported",
                "convert it before saving (to f64, f32, f16, bf16, i64, i32, i16, i8, u8 or bool)",
                at);
    return DType::U8;
  }
  return static_cast<DType>(found - kDTypeNames.begin());
}

static std::vector<int64_t> readNaturals(JsonReader &json, size_t limit) {
  std::vector<int64_t> values;
  for (json.beginArray(); json.nextElement();) {
    size_t at = json.position();
    values.push_back(json.readInteger());
    if (values.back() < 0)
      json.fail("a size or offset is negative", at);
    else if (values.size() > limit)
      json.fail("more than " + std::to_string(limit) + " numbers in a list", at);
  }
  return values;
}

Entry Parser::readEntry(JsonReader &json, std::string name, size_t at) {
  Entry entry;
  entry.view.name = std::move(name);
  entry.at = at;
  std::vector<int64_t> offsets;
  std::string key;
  unsigned seen = 0;
  for (json.beginObject(); json.nextKey(key);) {
    unsigned field = key == "dtype" ? 1 : key == "shape" ? 2 : key == "data_offsets" ? 4 : 0;
    if (field == 0 || (seen & field))
      json.fail("field '" + key + "' of tensor '" + entry.view.name + "' is unknown or repeated",
                json.position());
    seen |= field;
    if (field == 1)
      entry.view.dtype = readDType(json, entry.view.name);
    else if (field == 2)
      entry.view.dims = readNaturals(json, kMaxRank);
    else
      offsets = readNaturals(json, 2);
  }
  if (json.ok() && (seen != 7 || offsets.size() != 2))
    json.fail("tensor '" + entry.view.name + "' lacks one of dtype, shape and two data_offsets",
              at);
  if (!json.ok())
    return entry;
  entry.begin = static_cast<size_t>(offsets[0]);
  entry.end = static_cast<size_t>(offsets[1]);
  std::optional<size_t> bytes = denseBytes(entry.view.dtype, entry.view.dims);
  if (!bytes || entry.begin > entry.end || entry.end - entry.begin != *bytes)
    json.fail(concat("tensor '", entry.view.name, "': data_offsets ", entry.begin, " to ",
                     entry.end, " do not fit ", formatType(entry.view.dtype, entry.view.dims)),
              at);
  entry.view.bytes = bytes.value_or(0);
  return entry;
}

Status Parser::readHeader(JsonReader &json) {
  std::string name;
  bool metadataSeen = false;
  for (json.beginObject(); json.nextKey(name);) {
    size_t at = json.position();
    if (name != kMetadata) {
      entries.push_back(readEntry(json, name, at));
      continue;
    }
    if (std::exchange(metadataSeen, true))
      json.fail("__metadata__ stands there twice", at);
    readMetadata(json);
  }
  return json.finish();
}

Status Parser::checkNames() {
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.view.name < b.view.name; });
  auto twin =
      std::adjacent_find(entries.begin(), entries.end(),
                         [](const Entry &a, const Entry &b) { return a.view.name == b.view.name; });
  if (twin != entries.end())
    return corrupt(std::max(twin[0].at, twin[1].at),
                   "tensor '" + twin->view.name + "' stands there twice");
  return Status();
}

/// The data section must be filled without a gap or an overlap, to the last byte.
Status Parser::checkLayout() {
  std::vector<const Entry *> order;
  for (const Entry &entry : entries)
    order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const Entry *a, const Entry *b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  size_t next = 0;
  for (const Entry *entry : order) {
    if (entry->begin != next)
      return corrupt(entry->at, concat("tensor '", entry->view.name, "' starts at data offset ",
                                       entry->begin, " where ", next, " is expected"));
    next = entry->end;
  }
  if (next != size - dataStart)
    return corrupt(size, concat("the header describes ", next, " bytes of data, the file holds ",
                                size - dataStart));
  return Status();
}

Status Parser::checkContent(const Entry &entry) const {
  if (entry.view.dtype != DType::Bool)
    return Status();
  const std::byte *end = entry.view.data + entry.view.bytes;
  const std::byte *bad =
      std::find_if(entry.view.data, end, [](std::byte value) { return value > std::byte{1}; });
  if (bad != end)
    return corrupt(static_cast<size_t>(bad - data),
                   "tensor '" + entry.view.name +
                       "' is bool, but has a byte that is neither 0 nor 1");
  return Status();
}

StatusOr<Safetensors> Parser::parse() {
  if (size < kLengthBytes)
    return corrupt(size, "the file ends before its first 8 bytes, the header's length");
  uint64_t headerBytes;
  std::memcpy(&headerBytes, data, kLengthBytes);
  if (headerBytes > kMaxHeaderBytes)
    return corrupt(0, concat("the header would take ", headerBytes, " bytes, over the format's ",
                             kMaxHeaderBytes, "; is this a safetensors file?"));
  if (headerBytes > size - kLengthBytes)
    return corrupt(size, concat("the file ends inside its header of ", headerBytes, " bytes"));
  dataStart = kLengthBytes + headerBytes;
  JsonReader json({reinterpret_cast<const char *>(data) + kLengthBytes, headerBytes}, origin,
                  kLengthBytes);
  SINTER_RETURN_IF_ERROR(readHeader(json));
  SINTER_RETURN_IF_ERROR(checkNames());
  SINTER_RETURN_IF_ERROR(checkLayout());
  for (Entry &entry : entries) {
    entry.view.data = data + dataStart + entry.begin;
    SINTER_RETURN_IF_ERROR(checkContent(entry));
    result.tensors.push_back(std::move(entry.view));
  }
  return std::move(result);
}

const TensorView *Safetensors::find(std::string_view name) const {
  auto found = std::lower_bound(
      tensors.begin(), tensors.end(), name,
      [](const TensorView &tensor, std::string_view name) { return tensor.name < name; });
  return found != tensors.end() && found->name == name ? &*found : nullptr;
}

StatusOr<Safetensors> parseSafetensors(const std::byte *data, size_t size,
                                       std::string_view origin) {
  return Parser(data, size, origin).parse();
}

StatusOr<Safetensors> readSafetensors(const std::string &path) {
  StatusOr<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file.ok())
    return file.status();
  StatusOr<Safetensors> result = parseSafetensors((*file)->data(), (*file)->size(), path);
  if (result.ok())
    result->storage = *file;
  return result;
}

/// Names and sizes are the caller's: wrong ones are refused before anything is written.
static Status checkToWrite(const std::string &path, const std::vector<TensorView> &sorted) {
  for (const TensorView &tensor : sorted) {
    std::string_view problem;
    if (tensor.name == kMetadata)
      problem = "is a name the format keeps for itself";
    else if (validUtf8(tensor.name) != tensor.name.size())
      problem = "is not UTF-8";
    else if (tensor.dims.size() > kMaxRank)
      problem = "has more than 64 dimensions";
    else if (denseBytes(tensor.dtype, tensor.dims) != tensor.bytes)
      problem = "has a shape that does not fit its number of bytes";
    if (!problem.empty())
      return makeError(Code::InvalidArgument, "cannot write ", path, ": tensor '", tensor.name,
                       "' ", problem, "; rename or reshape it");
  }
  return Status();
}

static std::string describe(const std::vector<TensorView> &tensors, const TextMap &metadata) {
  std::string header = "{";
  auto member = [&](std::string_view name) -> std::string & {
    if (header.back() != '{')
      header += ',';
    return header += jsonQuote(name), header += ':';
  };
  if (!metadata.empty()) {
    member(kMetadata) += '{';
    for (const auto &[key, value] : metadata)
      member(key) += jsonQuote(value);
    header += '}';
  }
  size_t offset = 0;
  for (const TensorView &tensor : tensors) {
    std::string dims;
    for (int64_t dim : tensor.dims)
      dims += (dims.empty() ? "" : ",") + std::to_string(dim);
    member(tensor.name) +=
        concat("{\"dtype\":\"", kDTypeNames[static_cast<size_t>(tensor.dtype)], "\",\"shape\":[",
               dims, "],\"data_offsets\":[", offset, ",", offset + tensor.bytes, "]}");
    offset += tensor.bytes;
  }
  header += '}';
  while ((kLengthBytes + header.size()) % 64 != 0) // so that the data is aligned
    header += ' ';
  return header;
}

Status writeSafetensors(const std::string &path, std::vector<TensorView> tensors,
                        const TextMap &metadata) {
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorView &a, const TensorView &b) { return a.name < b.name; });
  SINTER_RETURN_IF_ERROR(checkToWrite(path, tensors));
  for (size_t i = 1; i < tensors.size(); ++i)
    if (tensors[i - 1].name == tensors[i].name)
      return makeError(Code::InvalidArgument, "cannot write ", path, ": two tensors are named '",
                       tensors[i].name, "'; rename one");
  for (const auto &[key, value] : metadata)
    if (validUtf8(key) != key.size() || validUtf8(value) != value.size())
      return makeError(Code::InvalidArgument, "cannot write ", path, ": metadata '", key,
                       "' is not UTF-8; encode it, e.g. as hexadecimal digits");
  std::sort(tensors.begin(), tensors.end(), [](const TensorView &a, const TensorView &b) {
    size_t left = byteSize(a.dtype), right = byteSize(b.dtype);
    return left != right ? left > right : a.name < b.name;
  });
  std::string header = describe(tensors, metadata);
  if (header.size() > kMaxHeaderBytes)
    return makeError(Code::InvalidArgument, "cannot write ", path, ": names and metadata take ",
                     formatBytes(static_cast<int64_t>(header.size())),
                     ", over the format's 100 MB; store large metadata as a u8 tensor");

  StatusOr<AtomicFile> file = AtomicFile::create(path);
  if (!file.ok())
    return file.status();
  uint64_t headerBytes = header.size();
  SINTER_RETURN_IF_ERROR(file->write(&headerBytes, sizeof headerBytes));
  SINTER_RETURN_IF_ERROR(file->write(header));
  for (const TensorView &tensor : tensors)
    SINTER_RETURN_IF_ERROR(file->write(tensor.data, tensor.bytes));
  return file->commit();
}

} // namespace sinter::rt
