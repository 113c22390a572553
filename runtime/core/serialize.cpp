// The encoding of a Program:
//   magic "SNTRPROG", u32 version, u32 0, u64 checksum of what follows, tables.
// A table is a u32 count and its records; a record is its fields in order.
#include "sinter/base/bytes.h"
#include "sinter/base/text.h"
#include "sinter/core/hash.h"
#include "sinter/core/program.h"

namespace sinter::rt {
namespace {

constexpr std::string_view magic = "SNTRPROG";
constexpr size_t headerBytes = 24, checksumOffset = 16;

/// Visits every field of every record, so that the writer and the reader
/// cannot disagree on the order.
template <class Archive> class Codec {
public:
  explicit Codec(Archive &archive) : archive(archive) {}

  template <class P> void fields(P &program) {
    table(program.strings, 4, [&](auto &text) { archive.string(text); });
    table(program.symbols, 20, [&](auto &symbol) {
      archive.string(symbol.name);
      scalars(symbol.lower, symbol.upper);
    });
    table(program.exprs, 17, [&](auto &expr) { scalars(expr.op, expr.a, expr.b); });
    table(program.variables, 10, [&](auto &variable) {
      archive.string(variable.name);
      scalars(variable.dtype, variable.trainable);
      numbers(variable.dims);
    });
    table(program.constants, 8, [&](auto &constant) { archive.blob(constant.data); });
    table(program.kernels, 8, [&](auto &kernel) {
      archive.string(kernel.symbol);
      scalars(kernel.threads);
    });
    table(program.libraryCalls, 9, [&](auto &call) {
      scalars(call.op);
      numbers(call.ints);
      numbers(call.postOps);
    });
    table(program.entries, 20, [&](auto &entry) { this->entry(entry); });
  }

private:
  template <class E> void entry(E &entry) {
    archive.string(entry.name);
    ports(entry.inputs);
    ports(entry.outputs);
    table(entry.buffers, 30, [&](auto &buffer) {
      scalars(buffer.kind, buffer.dtype);
      numbers(buffer.dims);
      scalars(buffer.slot, buffer.offset, buffer.bytes, buffer.firstUse, buffer.lastUse,
              buffer.name);
    });
    table(entry.commands, 45, [&](auto &command) {
      scalars(command.kind, command.target);
      numbers(command.buffers);
      scalars(command.outputs, command.tasks, command.scratchBytes, command.name, command.location,
              command.module, command.flops, command.bytes);
    });
  }

  template <class Ports> void ports(Ports &ports) {
    table(ports, 9, [&](auto &port) {
      archive.string(port.name);
      scalars(port.dtype);
      numbers(port.dims);
    });
  }

  template <class... Scalars> void scalars(Scalars &...values) { (archive.scalar(values), ...); }
  template <class Numbers> void numbers(Numbers &values) {
    table(values, sizeof(values[0]), [&](auto &value) { archive.scalar(value); });
  }
  template <class Table, class Visit> void table(Table &table, size_t minimumBytes, Visit visit) {
    archive.count(table, minimumBytes);
    for (auto &record : table)
      visit(record);
  }

  Archive &archive;
};

struct Encoder {
  template <class T> void scalar(const T &value) { writer.write(value); }
  void string(const std::string &text) { writer.writeString(text); }
  void blob(const std::vector<std::byte> &data) {
    writer.write(uint64_t(data.size()));
    writer.writeBytes(data.data(), data.size());
  }
  template <class Table> void count(const Table &table, size_t) {
    writer.write(uint32_t(table.size()));
  }

  ByteWriter writer;
};

struct Decoder {
  template <class T> void scalar(T &value) { value = reader.read<T>(); }
  void scalar(bool &value) {
    uint8_t byte = reader.read<uint8_t>();
    if (byte > 1)
      reader.fail();
    value = byte == 1;
  }
  void string(std::string &text) { text = reader.readString(); }
  void blob(std::vector<std::byte> &data) {
    size_t size = reader.read<uint64_t>();
    if (const std::byte *from = reader.readBytes(size))
      data.assign(from, from + size);
  }
  template <class Table> void count(Table &table, size_t minimumBytes) {
    table.resize(reader.readCount(minimumBytes));
  }

  ByteReader reader;
};

} // namespace

std::vector<std::byte> serialize(const Program &program) {
  Encoder encoder;
  encoder.writer.writeBytes(magic.data(), magic.size());
  encoder.writer.write(kProgramVersion);
  encoder.writer.write(uint32_t(0));
  encoder.writer.write(uint64_t(0));
  Codec<Encoder>(encoder).fields(program);
  std::vector<std::byte> bytes = std::move(encoder.writer.bytes);
  uint64_t checksum = hashBytes(bytes.data() + headerBytes, bytes.size() - headerBytes);
  std::memcpy(bytes.data() + checksumOffset, &checksum, sizeof checksum);
  return bytes;
}

StatusOr<Program> deserialize(const std::byte *data, size_t size) {
  Decoder decoder{ByteReader(data, size)};
  const std::byte *found = decoder.reader.readBytes(magic.size());
  if (!found || std::memcmp(found, magic.data(), magic.size()) != 0)
    return makeError(Code::Corrupt, "not a compiled program: it does not begin with ", magic);
  uint32_t version = decoder.reader.read<uint32_t>(), reserved = decoder.reader.read<uint32_t>();
  uint64_t checksum = decoder.reader.read<uint64_t>();
  if (decoder.reader.ok() && version != kProgramVersion)
    return makeError(Code::Unsupported, "the compiled program has format version ", version,
                     ", this runtime reads version ", kProgramVersion,
                     "; compile the model again with the sinter that belongs to this runtime");
  if (!decoder.reader.ok() || reserved != 0 ||
      checksum != hashBytes(data + headerBytes, size - headerBytes))
    return makeError(Code::Corrupt, "the compiled program (", size,
                     " bytes) is truncated or damaged: its checksum does not match; compile the "
                     "model again");
  Program program;
  Codec<Decoder>(decoder).fields(program);
  if (!decoder.reader.ok() || decoder.reader.remaining() != 0)
    return makeError(Code::Corrupt, "the compiled program is malformed at byte ",
                     decoder.reader.offset(), "; compile the model again");
  SINTER_RETURN_IF_ERROR(validate(program));
  return program;
}

} // namespace sinter::rt
