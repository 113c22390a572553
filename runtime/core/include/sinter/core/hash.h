// A fast 64-bit checksum for files and data sets. It finds damage, it does not
// resist an attacker. Every step is a bijection of its lane, so that one
// changed word always changes the result. The value is stored in files: the
// function must never change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sinter::rt {

/// A bijection of 64 bits in which each input bit sways every output bit.
constexpr uint64_t mixBits(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
  return x ^ (x >> 32);
}

uint64_t hashBytes(const void *data, size_t size, uint64_t seed = 0);
inline uint64_t hashText(std::string_view text, uint64_t seed = 0) {
  return hashBytes(text.data(), text.size(), seed);
}

} // namespace sinter::rt
