// Iterates over a Pipeline's batches, made ahead of time by background threads.
//
//   for (const Batch &batch : loader) // one epoch
//     step(batch.arrays[0], batch.arrays[1]);
//   if (!loader.status().ok()) ...
//
// * Order and bits of the batches do not depend on the number of threads.
// * The stream goes on across epochs: while one ends, the first batches of the
//   next are made. A loop left early is continued by the next loop.
// * `state` says where the consumer is; `restore`, also with another number of
//   ranks or threads or another batch size, goes on with exactly the next sample.
// * Memory: at most `prefetch` batches and `memoryLimit` bytes wait in the queue.
//
// One consumer thread at a time. The loader owns its threads and ends them when
// it is destroyed. Threads start at the first batch, take no signals and run at
// a lower priority, so that they do not hold up the computation they feed.
#pragma once

#include "sinter/data/pipeline.h"

#include <iterator>
#include <memory>

namespace sinter::rt::data {

struct Batch {
  std::vector<Array> arrays; ///< one a field; the first dimension is the batch
  int64_t epoch = 0;
  int64_t index = 0;   ///< of the batch in its epoch
  int64_t samples = 0; ///< in this batch
  bool last = false;   ///< of its epoch
};

/// Where a stream is: everything needed to go on exactly there.
struct LoaderState {
  bool shuffled = false;
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t next = 0; ///< position in the epoch's order, over all ranks
  uint64_t fingerprint = 0;

  std::string str() const; ///< one line of JSON
  static StatusOr<LoaderState> parse(std::string_view text);
};

/// What to do with a sample that cannot be read, mapped or put into its batch.
enum class OnBadSample {
  Fail,    ///< stop with its error
  Skip,    ///< the batch is smaller by one
  Replace, ///< by the nearest good sample of its batch
};

struct LoaderStats {
  struct Stage {
    std::string name;
    double seconds = 0; ///< summed over the threads
  };

  int64_t batches = 0, samples = 0, bytes = 0;
  double startSeconds = 0; ///< until the first batch was there; not in what follows
  double waitSeconds = 0;  ///< the consumer waited for data
  double totalSeconds = 0; ///< from the first batch handed out to the last
  double meanQueue = 0;    ///< batches ready when the consumer came
  int64_t peakBytes = 0;   ///< most bytes waiting in the queue
  std::vector<Stage> stages;
  int64_t badSamples = 0;
  std::vector<std::string> badMessages; ///< of the first few

  double waitShare() const { return totalSeconds > 0 ? waitSeconds / totalSeconds : 0; }
  /// "data wait 31 % of the time: input-bound, 'decode' takes longest; …".
  std::string verdict() const;
};

class Loader {
public:
  /// From Pipeline::batch.
  explicit Loader(PipelineSpec spec);
  Loader(Loader &&) noexcept;
  Loader &operator=(Loader &&) noexcept;
  ~Loader();

  // Settings, to be chained behind Pipeline::batch, before the first batch.
  Loader prefetch(int batches = 4) &&;  ///< batches made ahead, 1 at least
  Loader workers(int threads = 1) &&;   ///< 0: batches are made in `next`
  Loader memoryLimit(int64_t bytes) &&; ///< default: a quarter of the memory there is
  /// More than `limit` bad samples are an error whatever the policy.
  Loader onBadSample(OnBadSample policy, int64_t limit = 100) &&;

  /// The next batch of the endless stream of epochs; an error is repeated until `restore`.
  StatusOr<Batch> next();
  /// Why the last loop ended early.
  const Status &status() const;

  /// Batches of a whole epoch for this rank.
  int64_t batchesPerEpoch() const;
  /// Behind the batch handed out last.
  LoaderState state() const;
  /// Continues at `state`, taking over its seed. An error, and nothing changes, if
  /// it is of other data or of another order.
  Status restore(const LoaderState &state);

  LoaderStats stats() const;
  void resetStats();

  class Iterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = const Batch *;
    using reference = const Batch &;

    const Batch &operator*() const { return *loader->current(); }
    const Batch *operator->() const { return loader->current(); }
    Iterator &operator++() {
      loader->advance();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return loader->current() == nullptr; }

  private:
    friend class Loader;
    explicit Iterator(Loader *loader) : loader(loader) {}
    Loader *loader;
  };
  /// Fetches the first batch of the epoch, or the next one of an epoch left early.
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

private:
  friend class Iterator;
  class Impl;
  const Batch *current() const; ///< null: the epoch is over, or an error
  void advance();

  std::unique_ptr<Impl> impl;
};

} // namespace sinter::rt::data
