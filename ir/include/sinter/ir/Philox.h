// Counter-based random numbers: the exact scheme that the interpreter, generated kernels and the
// DSL's initialisers share. No state, no dependencies; callable from any thread and at compile
// time.
//
// The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
// 1, 2, 3", SC'11). One element of a random op takes one block of four words and uses the first one
// or two:
//   key     = (low 32 bits of seed, high 32 bits of seed)
//   counter = (low 32 bits of the element's row-major index, its high 32 bits, low 32 bits of step,
//   low 32 bits of the op's id) uniform   = (word0 >> 8) * 2^-24, exact in f32, then rounded to the
//   element type bernoulli = uniform < probability, as the integer comparison (word0 >> 8) <
//   bernoulliThreshold(probability) normal    = sqrt(-2 ln(u1)) * cos(2 pi u2), u1 = ((word0 >> 8)
//   + 1) * 2^-24 in (0, 1], u2 = (word1 >> 8) * 2^-24
// so values depend neither on order nor on how the work is cut.
#pragma once

#include <array>
#include <cstdint>

namespace sinter::ir::philox {

using Block = std::array<uint32_t, 4>;
using Key = std::array<uint32_t, 2>;

inline constexpr int kRounds = 10;
inline constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
inline constexpr uint32_t kKeyStep0 = 0x9E3779B9, kKeyStep1 = 0xBB67AE85;

constexpr Block generate(Block counter, Key key) {
  for (int round = 0; round < kRounds; ++round) {
    uint64_t a = uint64_t(kMultiplier0) * counter[0], b = uint64_t(kMultiplier1) * counter[2];
    counter = {uint32_t(b >> 32) ^ counter[1] ^ key[0], uint32_t(b),
               uint32_t(a >> 32) ^ counter[3] ^ key[1], uint32_t(a)};
    key = {key[0] + kKeyStep0, key[1] + kKeyStep1};
  }
  return counter;
}

/// The words of one element of the random op `id` in step `step`.
constexpr Block elementWords(int64_t seed, int64_t step, int64_t id, int64_t element) {
  return generate(
      {uint32_t(element), uint32_t(uint64_t(element) >> 32), uint32_t(step), uint32_t(id)},
      {uint32_t(seed), uint32_t(uint64_t(seed) >> 32)});
}

/// The 24 bits of a word that are used.
constexpr uint32_t bits24(uint32_t word) { return word >> 8; }
constexpr float uniform(uint32_t word) { return float(bits24(word)) * 0x1p-24f; }

/// Smallest 24-bit number that is no longer below `probability`; 0 for NaN and what is not
/// positive.
constexpr uint32_t bernoulliThreshold(double probability) {
  if (!(probability > 0))
    return 0;
  if (probability >= 1)
    return 1u << 24;
  double scaled = probability * 0x1p24;
  uint32_t whole = uint32_t(scaled);
  return whole + (whole < scaled ? 1 : 0);
}
constexpr bool bernoulli(uint32_t word, double probability) {
  return bits24(word) < bernoulliThreshold(probability);
}

} // namespace sinter::ir::philox
