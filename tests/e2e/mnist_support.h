// What mnist_train writes and says, for tests that run it. One thread.
#pragma once

#include "tool_support.h"

#include <cstdlib>
#include <cstring>
#include <sstream>

namespace sinter::e2e {

using aot::Folder;
using aot::Outcome;
using aot::readText;

/// The bits of the losses that --losses wrote, a line each.
inline std::vector<uint32_t> readLosses(const std::string &path) {
  std::vector<uint32_t> bits;
  std::istringstream lines(readText(path));
  for (std::string line; std::getline(lines, line);) {
    char *end = nullptr;
    float loss = std::strtof(line.c_str(), &end);
    EXPECT_TRUE(end != line.c_str() && *end == 0) << path << ": '" << line << "'";
    bits.push_back(0);
    std::memcpy(&bits.back(), &loss, sizeof loss);
  }
  return bits;
}

inline Outcome train(std::vector<std::string> flags) {
  flags.insert(flags.begin(), MNIST_TRAIN);
  return aot::run(flags);
}

} // namespace sinter::e2e
