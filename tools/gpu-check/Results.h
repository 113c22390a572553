// The results file: one JSON object a line, written as soon as it is known, so that a crash loses
// nothing. gpu_check.py reads it. One thread.
#pragma once

#include "sinter/base/status.h"

#include <cstdio>
#include <string>
#include <string_view>

namespace sinter::gpucheck {

/// One line: {"kind": …, …}.
class Record {
public:
  explicit Record(std::string_view kind) { add("kind", kind); }
  Record &add(std::string_view key, std::string_view text);
  Record &add(std::string_view key, const char *text) { return add(key, std::string_view(text)); }
  Record &add(std::string_view key, double number); ///< null if it is not finite
  Record &add(std::string_view key, int64_t number);
  std::string text() const { return "{" + fields + "}\n"; }

private:
  void key(std::string_view name);
  std::string fields;
};

class Results {
public:
  Results() = default;
  Results(const Results &) = delete;
  ~Results();
  /// Appends to `path`; without a call, records go nowhere.
  Status open(const std::string &path);
  Status write(const Record &record);

private:
  std::string path;
  FILE *file = nullptr;
};

} // namespace sinter::gpucheck
