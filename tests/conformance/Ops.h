// What the dialect's definitions say of each op, for the conformance table. Read from llvm-tblgen's
// JSON, so that an op is in the table by being defined.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sinter::conformance {

struct OpInfo {
  std::string mnemonic, family;
  std::pair<double, double> inputRange; ///< inputs are drawn from here
  std::string kinks;                    ///< near these a finite difference means nothing
  std::vector<std::string> operands;    ///< TableGen constraint of each operand: "FloatTensor"
  std::vector<std::string> attributes;  ///< names
};

/// Every op of the dialect, by mnemonic; nothing (and a message on stderr) if the file can't be
/// read.
std::optional<std::vector<OpInfo>> readOps(const std::string &path);

} // namespace sinter::conformance
