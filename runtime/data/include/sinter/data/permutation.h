// A keyed permutation of [0, size) that is computed, not stored.
//
// A balanced Feistel network permutes the next power of four above `size`; a
// value that falls outside is sent through again until it falls inside
// (cycle walking, four turns at most on average). A plain value; thread-safe.
// (M. Luby and C. Rackoff 1988; J. Black and P. Rogaway 2002.)
#pragma once

#include <cstdint>

namespace sinter::rt::data {

class Permutation {
public:
  /// `size` > 0. Equal arguments give equal permutations, on every machine and for ever.
  Permutation(int64_t size, uint64_t key);
  /// Where `position` of [0, size) is sent.
  int64_t operator()(int64_t position) const;

private:
  static constexpr int kRounds = 6;

  uint64_t size;
  int halfBits;
  uint64_t keys[kRounds];
};

} // namespace sinter::rt::data
