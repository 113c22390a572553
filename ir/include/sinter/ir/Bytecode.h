// The dialect's version in .mlirbc files, so that a file outlives changes of the dialect's meaning:
// older files are upgraded when read, newer ones are refused in words.
#pragma once

#include "sinter/ir/Dialect.h"

#include "mlir/Bytecode/BytecodeImplementation.h"

namespace sinter::ir {

struct SinterVersion : mlir::DialectVersion {
  explicit SinterVersion(uint64_t number) : number(number) {}
  uint64_t number;
};

/// Called once, by the dialect. A new version's upgrade goes into upgradeFromVersion() there.
void addBytecodeVersion(SinterDialect &dialect);

} // namespace sinter::ir
