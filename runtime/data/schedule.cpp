#include "schedule.h"

#include "sinter/core/hash.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace sinter::rt::data {

Schedule::Schedule(const PipelineSpec &spec)
    : size(spec.dataset->size()), rank(spec.rank), world(spec.world), batchSize(spec.batchSize),
      shuffled(spec.shuffled), dropLast(spec.batch.dropLast), seed(spec.seed) {
  // A batch larger than any data set is the whole of it.
  if (__builtin_mul_overflow(batchSize, world, &stride))
    stride = std::numeric_limits<int64_t>::max();
}

int64_t Schedule::batches(int64_t base) const {
  int64_t left = size - base;
  if (dropLast)
    return left / stride;
  // This rank's last batch exists as soon as its first sample does.
  return left <= rank ? 0 : (left - rank - 1) / stride + 1;
}

Slot Schedule::valid(const Slot &slot) const {
  return slot.batch < batches(slot.base) ? slot : Slot{slot.epoch + 1, 0, 0};
}

std::vector<SampleInfo> Schedule::samples(const Slot &slot) const {
  uint64_t epochKey = mixBits(mixBits(seed) + static_cast<uint64_t>(slot.epoch) + 1);
  std::optional<Permutation> order;
  if (shuffled)
    order.emplace(size, epochKey);
  int64_t first = slot.base + slot.batch * stride;
  int64_t end = first + std::min(stride, size - first);
  std::vector<SampleInfo> result;
  for (int64_t position = first + rank; position < end; position += world) {
    int64_t index = order ? (*order)(position) : position;
    result.push_back(
        {index, slot.epoch, mixBits(epochKey ^ mixBits(static_cast<uint64_t>(index) + 1))});
  }
  return result;
}

Slot Schedule::behind(const Slot &slot) const {
  if (isLast(slot))
    return {slot.epoch + 1, 0, 0};
  return {slot.epoch, slot.base + (slot.batch + 1) * stride, 0};
}

} // namespace sinter::rt::data
