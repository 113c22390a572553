// Element types, shared by the compiler, the runtime and the C ABI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sinter {

/// Values are part of the artifact format and the C ABI: append only.
enum class DType : uint8_t { F64, F32, F16, BF16, I64, I32, I16, I8, U8, Bool };
inline constexpr int kDTypeCount = 10;

/// Bytes an element takes in memory (Bool: one byte, 0 or 1).
size_t byteSize(DType type);
/// "f32", "bf16", "i64", "u8", "bool" …
std::string_view name(DType type);
std::optional<DType> parseDType(std::string_view name);
bool isFloat(DType type);

} // namespace sinter
