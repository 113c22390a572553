#include "Pack.h"

#include "sinter/base/text.h"
#include "sinter/core/file.h"
#include "sinter/core/hash.h"

#include <cstring>
#include <limits>

namespace sinter::gpucheck {

namespace {

constexpr char kMagic[8] = {'s', 'i', 'n', 't', 'e', 'r', 'g', 'c'};

struct Header {
  char magic[8];
  uint32_t version, reserved;
  uint64_t size, hash; ///< of what follows
};
static_assert(sizeof(Header) == 32);

class Writer {
public:
  template <class T> void number(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    raw(&value, sizeof value);
  }
  void bytes(const void *data, size_t size) {
    number(uint64_t(size));
    raw(data, size);
  }
  void text(std::string_view value) { bytes(value.data(), value.size()); }
  void array(const rt::Array &value) {
    number(uint8_t(bool(value)));
    if (!value)
      return;
    number(value.dtype());
    number(uint32_t(value.rank()));
    for (int64_t dim : value.dims())
      number(dim);
    raw(value.data(), size_t(value.bytes()));
  }
  template <class T, class Write> void each(const std::vector<T> &values, Write write) {
    number(uint32_t(values.size()));
    for (const T &value : values)
      write(value);
  }
  const std::string &data() const { return content; }

private:
  void raw(const void *data, size_t size) {
    if (size)
      content.append(static_cast<const char *>(data), size);
  }
  std::string content;
};

/// The first mistake sticks: everything read from then on is empty.
class Reader {
public:
  Reader(const std::byte *data, size_t size) : at(data), left(size) {}

  template <class T> T number() {
    T value{};
    raw(&value, sizeof value);
    return value;
  }
  std::string text() {
    std::string value(length(), '\0');
    raw(value.data(), value.size());
    return value;
  }
  std::vector<std::byte> bytes() {
    std::vector<std::byte> value(length());
    raw(value.data(), value.size());
    return value;
  }
  /// An enumerator up to `last`.
  template <class T> T choice(T last) {
    auto value = number<std::underlying_type_t<T>>();
    if (value > std::underlying_type_t<T>(last))
      good = false;
    return good ? T(value) : T{};
  }
  rt::Array array() {
    if (!number<uint8_t>())
      return {};
    DType dtype = choice(DType::Bool);
    rt::Dims dims(std::min<uint64_t>(number<uint32_t>(), left / sizeof(int64_t)));
    for (int64_t &dim : dims)
      dim = number<int64_t>();
    int64_t elements = rt::elementCount(dims);
    if (elements < 0 || uint64_t(elements) > left / byteSize(dtype))
      good = false;
    if (!good)
      return {};
    StatusOr<rt::Array> value = rt::Array::allocate(dtype, dims);
    if (!value.ok())
      return good = false, rt::Array();
    raw(value->data(), size_t(value->bytes()));
    return *value;
  }
  template <class T, class Read> std::vector<T> each(Read read) {
    std::vector<T> values;
    for (uint32_t count = number<uint32_t>(); good && values.size() < count;)
      values.push_back(read());
    return values;
  }
  bool finished() const { return good && !left; }

private:
  void raw(void *to, size_t size) {
    if (size > left)
      good = false;
    if (!good || !size)
      return;
    std::memcpy(to, at, size);
    at += size;
    left -= size;
  }
  size_t length() {
    uint64_t value = number<uint64_t>();
    if (value > left)
      good = false;
    return good ? value : 0;
  }

  const std::byte *at;
  size_t left;
  bool good = true;
};

void write(Writer &to, const Expected &expected) {
  to.number(expected.of);
  to.number(expected.position);
  to.text(expected.name);
  to.array(expected.value);
  to.number(expected.bound.relative);
  to.number(expected.bound.floor);
  to.number(expected.bound.absolute);
  to.array(expected.bound.scale);
}

void write(Writer &to, const Case &c) {
  to.text(c.name);
  to.text(c.entry);
  to.each(c.variables, [&](const NamedArray &variable) {
    to.text(variable.name);
    to.array(variable.value);
  });
  to.each(c.steps, [&](const Step &step) {
    to.each(step.inputs, [&](const rt::Array &input) { to.array(input); });
    to.each(step.expected, [&](const Expected &expected) { write(to, expected); });
  });
}

Expected readExpected(Reader &from) {
  Expected expected;
  expected.of = from.choice(Expected::Of::Variable);
  expected.position = from.number<uint32_t>();
  expected.name = from.text();
  expected.value = from.array();
  expected.bound.relative = from.number<double>();
  expected.bound.floor = from.number<double>();
  expected.bound.absolute = from.number<double>();
  expected.bound.scale = from.array();
  return expected;
}

Step readStep(Reader &from) {
  Step step;
  step.inputs = from.each<rt::Array>([&] { return from.array(); });
  step.expected = from.each<Expected>([&] { return readExpected(from); });
  return step;
}

Case readCase(Reader &from) {
  Case c;
  c.name = from.text();
  c.entry = from.text();
  c.variables = from.each<NamedArray>([&] {
    std::string name = from.text();
    return NamedArray{std::move(name), from.array()};
  });
  c.steps = from.each<Step>([&] { return readStep(from); });
  return c;
}

DeviceCode readCode(Reader &from) {
  DeviceCode code;
  code.form = from.choice(DeviceCode::Form::Cubin);
  code.architecture = from.text();
  code.toolkit = from.number<int32_t>();
  code.bytes = from.text();
  return code;
}

} // namespace

Status writePack(const std::string &path, const Pack &pack) {
  Writer body;
  body.text(pack.name);
  body.bytes(pack.program.data(), pack.program.size());
  body.each(pack.code, [&](const DeviceCode &code) {
    body.number(code.form);
    body.text(code.architecture);
    body.number(code.toolkit);
    body.text(code.bytes);
  });
  body.each(pack.cases, [&](const Case &c) { write(body, c); });
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kPackVersion;
  header.size = body.data().size();
  header.hash = rt::hashText(body.data());
  auto file = rt::AtomicFile::create(path);
  if (!file.ok())
    return file.status();
  SINTER_RETURN_IF_ERROR(file->write(&header, sizeof header));
  SINTER_RETURN_IF_ERROR(file->write(body.data()));
  return file->commit();
}

StatusOr<Pack> readPack(const std::string &path) {
  auto file = rt::MappedFile::open(path);
  if (!file.ok())
    return file.status();
  const std::byte *data = (*file)->data();
  size_t size = (*file)->size();
  Header header{};
  if (size >= sizeof header)
    std::memcpy(&header, data, sizeof header);
  auto corrupt = [&](const char *what) {
    return makeError(Code::Corrupt, path, what, "; unpack the bundle again");
  };
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0)
    return corrupt(" is no pack of gpu-check");
  if (header.version != kPackVersion)
    return makeError(Code::Unsupported, path, " has version ", header.version,
                     " of the format, this program reads ", kPackVersion,
                     "; take both from one bundle");
  data += sizeof header;
  size -= sizeof header;
  if (header.size != size || header.hash != rt::hashBytes(data, size))
    return corrupt(" is damaged: its size or checksum is wrong");
  Reader body(data, size);
  Pack pack;
  pack.name = body.text();
  pack.program = body.bytes();
  pack.code = body.each<DeviceCode>([&] { return readCode(body); });
  pack.cases = body.each<Case>([&] { return readCase(body); });
  if (!body.finished())
    return corrupt(" is damaged: its lengths do not add up");
  return pack;
}

} // namespace sinter::gpucheck
