#include "sinter/core/hash.h"

#include <cstring>

namespace sinter::rt {

static constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;

// Full mixing at each word, so that two small changes do not cancel out.
static uint64_t absorb(uint64_t lane, uint64_t word) { return mixBits(lane ^ word) + kOdd; }

uint64_t hashBytes(const void *data, size_t size, uint64_t seed) {
  // Four independent lanes keep the multiplier busy.
  uint64_t lanes[4] = {seed + 1 * kOdd, seed + 2 * kOdd, seed + 3 * kOdd, seed + 4 * kOdd};
  const char *at = static_cast<const char *>(data);
  size_t left = size;
  for (; left >= 32; at += 32, left -= 32)
    for (int lane = 0; lane < 4; ++lane) {
      uint64_t word;
      std::memcpy(&word, at + 8 * lane, 8);
      lanes[lane] = absorb(lanes[lane], word);
    }
  for (int lane = 0; left > 0; ++lane) {
    uint64_t word = 0;
    size_t taken = left < 8 ? left : 8;
    std::memcpy(&word, at, taken);
    lanes[lane] = absorb(lanes[lane], word);
    at += taken, left -= taken;
  }
  uint64_t result = mixBits(size ^ seed);
  for (uint64_t lane : lanes)
    result = absorb(result, lane);
  return result;
}

} // namespace sinter::rt
