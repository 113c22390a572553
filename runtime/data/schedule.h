// Which samples stand in which batch: pure arithmetic, shared by all threads of a loader.
#pragma once

#include "sinter/data/permutation.h"
#include "sinter/data/pipeline.h"

namespace sinter::rt::data {

/// The place of a batch: the `batch`-th of those that start at `base` in the order of `epoch`.
struct Slot {
  int64_t epoch = 0;
  int64_t base = 0; ///< over all ranks; above 0 in an epoch that was resumed
  int64_t batch = 0;
};

class Schedule {
public:
  explicit Schedule(const PipelineSpec &spec);

  /// Batches of this rank in an epoch from `base` on.
  int64_t batches(int64_t base) const;
  bool isLast(const Slot &slot) const { return slot.batch + 1 == batches(slot.base); }
  /// `slot`, or the first one of the next epoch if its epoch has no such batch.
  Slot valid(const Slot &slot) const;
  /// The samples of a batch, in order.
  std::vector<SampleInfo> samples(const Slot &slot) const;
  /// Number of the batch in its epoch.
  int64_t index(const Slot &slot) const { return slot.base / stride + slot.batch; }
  /// Where the stream goes on behind `slot`, over all ranks.
  Slot behind(const Slot &slot) const;

private:
  int64_t size, rank, world, batchSize;
  int64_t stride; ///< samples of one batch of all ranks
  bool shuffled, dropLast;
  uint64_t seed;
};

} // namespace sinter::rt::data
