// Words for error messages and reports.
#pragma once

#include "sinter/base/dtype.h"
#include "sinter/base/status.h"

#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// The parts one after the other, each as `<<` writes it.
template <class... Parts> std::string concat(const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return std::move(stream).str();
}

/// A Status whose message is the parts one after the other.
template <class... Parts> Status makeError(Code code, const Parts &...parts) {
  return Status(code, concat(parts...));
}

std::string formatShape(std::span<const int64_t> dims);             ///< "[2, 3]"
std::string formatType(DType dtype, std::span<const int64_t> dims); ///< "f32[2, 3]"
std::string formatBytes(int64_t bytes);                             ///< "512 B", "1.5 MiB"

/// The candidate with the smallest edit distance, "" if none comes near. For "did you mean".
std::string_view nearestName(std::string_view name, std::span<const std::string> candidates);

} // namespace sinter
