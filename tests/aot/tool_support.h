// Running the tools as a user does. One thread.
#pragma once

#include "Process.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace sinter::aot {

namespace fs = std::filesystem;
using tools::Outcome;

inline Outcome run(const std::vector<std::string> &arguments) {
  auto outcome = tools::runProgram(arguments, /*capture=*/true);
  EXPECT_TRUE(outcome.ok()) << outcome.status().message();
  return outcome.ok() ? *outcome : Outcome{-1, ""};
}

inline Outcome runSinter(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), SINTER_TOOL);
  return run(arguments);
}

inline void expectOutput(const Outcome &outcome, std::initializer_list<const char *> words) {
  for (const char *word : words)
    EXPECT_NE(outcome.output.find(word), std::string::npos)
        << "no '" << word << "' in: " << outcome.output;
}

/// The command failed with one line that has these words.
inline void expectRefused(const Outcome &outcome, int exitCode,
                          std::initializer_list<const char *> words) {
  EXPECT_EQ(outcome.exitCode, exitCode) << outcome.output;
  EXPECT_EQ(outcome.output.rfind("sinter: ", 0), 0u) << outcome.output;
  size_t lines = size_t(std::count(outcome.output.begin(), outcome.output.end(), '\n'));
  EXPECT_EQ(lines, exitCode == 2 ? 2u : 1u) << outcome.output;
  expectOutput(outcome, words);
}

inline std::string readText(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// An empty folder for one test, removed with it.
class Folder {
public:
  Folder() {
    std::string pattern = (fs::path(::testing::TempDir()) / "aot-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string &name) const { return (path / name).string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const fs::directory_entry &entry : fs::directory_iterator(path))
      found.push_back(entry.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }
  fs::path path;
};

} // namespace sinter::aot
