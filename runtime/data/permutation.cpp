#include "sinter/data/permutation.h"

#include "sinter/core/hash.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sinter::rt::data {

Permutation::Permutation(int64_t size, uint64_t key) : size(static_cast<uint64_t>(size)) {
  // A small network mixes badly; below 256 values walk through a larger one.
  halfBits = std::max(4, (static_cast<int>(std::bit_width(this->size - 1)) + 1) / 2);
  for (int round = 0; round < kRounds; ++round)
    keys[round] = mixBits(key + static_cast<uint64_t>(round + 1) * 0x9e3779b97f4a7c15);
}

int64_t Permutation::operator()(int64_t position) const {
  uint64_t mask = (uint64_t{1} << halfBits) - 1, value = static_cast<uint64_t>(position);
  do {
    uint64_t left = value >> halfBits, right = value & mask;
    for (uint64_t key : keys)
      left = std::exchange(right, left ^ (mixBits(right ^ key) & mask));
    value = left << halfBits | right;
  } while (value >= size);
  return static_cast<int64_t>(value);
}

} // namespace sinter::rt::data
