#include "sinter/base/dtype.h"

#include <array>

namespace sinter {
namespace {

struct Properties {
  std::string_view name;
  size_t bytes;
  bool isFloat;
};

constexpr std::array<Properties, kDTypeCount> table = {{
    {"f64", 8, true},
    {"f32", 4, true},
    {"f16", 2, true},
    {"bf16", 2, true},
    {"i64", 8, false},
    {"i32", 4, false},
    {"i16", 2, false},
    {"i8", 1, false},
    {"u8", 1, false},
    {"bool", 1, false},
}};

} // namespace

size_t byteSize(DType type) { return table[size_t(type)].bytes; }
std::string_view name(DType type) { return table[size_t(type)].name; }
bool isFloat(DType type) { return table[size_t(type)].isFloat; }

std::optional<DType> parseDType(std::string_view name) {
  for (size_t i = 0; i < table.size(); ++i)
    if (table[i].name == name)
      return DType(i);
  return std::nullopt;
}

} // namespace sinter
