#include "sinter/ir/Bytecode.h"

using namespace mlir;

namespace sinter::ir {

namespace {

struct Versioning : BytecodeDialectInterface {
  explicit Versioning(Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  using BytecodeDialectInterface::BytecodeDialectInterface;

  void writeVersion(DialectBytecodeWriter &writer) const final {
    auto asked = writer.getDialectVersion<SinterDialect>();
    writer.writeVarInt(succeeded(asked) ? static_cast<const SinterVersion *>(*asked)->number
                                        : kDialectVersion);
  }

  std::unique_ptr<DialectVersion> readVersion(DialectBytecodeReader &reader) const final {
    uint64_t number;
    if (failed(reader.readVarInt(number)))
      return nullptr;
    if (number > kDialectVersion) {
      reader.emitError("the graph was written by a newer sinter: it has dialect version ")
          << number << ", and this sinter reads versions up to " << kDialectVersion
          << "; update sinter or package the model again";
      return nullptr;
    }
    return std::make_unique<SinterVersion>(number);
  }
};

} // namespace

void addBytecodeVersion(SinterDialect &dialect) {
  dialect.addInterface(std::make_unique<Versioning>(&dialect));
}

} // namespace sinter::ir
