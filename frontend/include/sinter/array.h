// Files of Arrays, and the exception a model's mistakes throw. Array itself (owning or borrowing,
// DLPack, printing) is sinter/core/array.h's.
#pragma once

#include "sinter/base/error.h"
#include "sinter/types.h"

#include <iosfwd>
#include <map>
#include <string>

namespace sinter {

/// Errors name the file and what is wrong in it.
Array load_npy(const std::string &path);
void save_npy(const std::string &path, const Array &array);
std::map<std::string, Array> load_safetensors(const std::string &path);
void save_safetensors(const std::string &path, const std::map<std::string, Array> &arrays);

namespace rt {
std::ostream &operator<<(std::ostream &stream, const Array &array); ///< as NumPy prints
} // namespace rt

} // namespace sinter
