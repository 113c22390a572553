// Arrays from and to files, and random ones for a port. Plain functions, one thread.
#pragma once

#include "sinter/abi/artifact.h"
#include "sinter/base/status.h"
#include "sinter/core/array.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::tools {

struct NamedArray {
  std::string name; ///< empty: by position
  rt::Array value;
};

/// One array of an npy file, all of a safetensors file. `argument` is "<file>" or "<port>=<file>".
StatusOr<std::vector<NamedArray>> readArrays(const std::string &argument);
/// Writes to npy or safetensors by the extension of `path`; npy takes one array.
Status writeArrays(const std::string &path, const std::vector<NamedArray> &arrays);

/// "<port>" and "<file>" of "<port>=<file>"; the first is empty where there is no "=".
std::pair<std::string, std::string> splitArgument(const std::string &argument);

/// Sizes of symbolic dimensions from arguments "<symbol>=<size>" of --dim.
StatusOr<std::map<std::string, int64_t>> parseSizes(const std::vector<std::string> &arguments);

/// The type of a port as messages show it, "f32[n, 784]".
std::string portType(const sinter_port &port);
/// Floats in [0, 1), integers and bools 0 or 1, the same for the same seed.
rt::Array randomArray(DType dtype, rt::Dims dims, uint64_t seed);

} // namespace sinter::tools
