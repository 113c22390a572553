// What the file and data tests share: a scratch directory and the data of others. For one test's
// thread.
#pragma once

#include "file_size_limit.h"

#include "sinter/base/status.h"
#include "sinter/core/tensor_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <unistd.h>

namespace sinter::test {

/// A fresh directory, removed with all it holds; in memory if it can be, where syncing costs
/// nothing.
class ScratchDirectory {
public:
  ScratchDirectory() {
    bool inMemory = !std::getenv("TMPDIR") && ::access("/dev/shm", W_OK) == 0;
    std::filesystem::path parent = inMemory ? "/dev/shm" : std::filesystem::temp_directory_path();
    std::string pattern = (parent / "sinter-test-XXXXXX").string();
    directory = ::mkdtemp(pattern.data());
  }
  ~ScratchDirectory() { std::filesystem::remove_all(directory); }
  std::string operator/(const std::string &name) const { return (directory / name).string(); }
  std::string path() const { return directory.string(); }
  /// Names inside, hidden ones too.
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto &entry : std::filesystem::directory_iterator(directory))
      result.push_back(entry.path().filename().string());
    std::sort(result.begin(), result.end());
    return result;
  }

private:
  std::filesystem::path directory;
};

inline std::string readAll(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void writeAll(const std::string &path, const std::string &content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// A file of the collection that others made; "" where it is not installed.
inline std::string sharedData(const std::string &name) {
  const char *directory = std::getenv("SINTER_SHARED_DATA");
  std::string path = std::string(directory ? directory : SINTER_SHARED_DATA_DIR) + "/" + name;
  return std::filesystem::exists(path) ? path : "";
}

inline bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// The message of a failed Status is one line that says where (`place`) and what (`what`).
inline void expectError(const Status &status, const std::string &place, const std::string &what) {
  ASSERT_FALSE(status.ok());
  EXPECT_PRED2(contains, status.message(), place);
  EXPECT_PRED2(contains, status.message(), what);
  EXPECT_FALSE(contains(status.message(), "\n")) << status.message();
}

template <class T>
rt::TensorView viewOf(const std::string &name, DType dtype, std::vector<int64_t> dims,
                      const std::vector<T> &values) {
  return {name, dtype, std::move(dims), reinterpret_cast<const std::byte *>(values.data()),
          values.size() * sizeof(T)};
}

} // namespace sinter::test
