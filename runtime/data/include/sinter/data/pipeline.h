// What a loader is to do, as a value: source, order, share of this rank,
// transforms, batches.
//
//   Loader loader = arrays({images, labels}).shuffle(7).shard(rank, world)
//                       .map(augment).batch(64, {.dropLast = true}).prefetch(4).workers(2);
//
// Every step returns a new Pipeline; nothing runs before the loader is asked
// for a batch. A wrong argument is kept and reported there. Copies are cheap
// and share the data set. One thread at a time; transforms are called by all
// of the loader's threads at once.
#pragma once

#include "sinter/data/dataset.h"

#include <functional>
#include <type_traits>

namespace sinter::rt::data {

class Loader;

/// Which sample a transform is working on. `key` is the same for the same seed,
/// epoch and index: random augmentation drawn from it repeats exactly.
struct SampleInfo {
  int64_t index = 0, epoch = 0;
  uint64_t key = 0;
};

using MapFunction = std::function<StatusOr<Sample>(Sample, const SampleInfo &)>;
/// Makes the arrays of a batch from its samples.
using CollateFunction = std::function<StatusOr<std::vector<Array>>(std::vector<Sample>)>;

/// Stacks each field along a new first dimension; all samples must agree in shapes.
StatusOr<std::vector<Array>> stack(std::vector<Sample> samples);

struct BatchOptions {
  bool dropLast = false; ///< leave out the samples of an epoch that fill no batch
  CollateFunction collate = stack;
};

/// What a Pipeline holds; filled by it, read by the Loader.
struct PipelineSpec {
  struct Map {
    std::string name;
    MapFunction function;
  };

  Status error; ///< the first wrong argument
  std::shared_ptr<const Dataset> dataset;
  bool shuffled = false;
  uint64_t seed = 0;
  int64_t rank = 0, world = 1;
  std::vector<Map> maps;
  int64_t batchSize = 1;
  BatchOptions batch;
};

class Pipeline {
public:
  explicit Pipeline(std::shared_ptr<const Dataset> dataset);
  explicit Pipeline(Status error) { spec.error = std::move(error); }

  /// A new order each epoch, from `seed` and the epoch's number (see Permutation).
  Pipeline shuffle(uint64_t seed) const;
  /// Every `world`-th sample of the common order, from the `rank`-th on: together
  /// the ranks see each sample once. With dropLast all have equally many batches;
  /// else the last batches may differ in size, and a rank without a sample for
  /// the last one has one batch less.
  Pipeline shard(int64_t rank, int64_t world) const;
  /// `function` is called as function(Sample) or function(Sample, const SampleInfo &)
  /// and returns a Sample or a StatusOr<Sample>. It must depend on nothing but its
  /// arguments and may run on several threads at once. `name` is for the reports.
  template <class Function> Pipeline map(Function function, std::string name = "map") const {
    if constexpr (std::is_invocable_v<Function &, Sample, const SampleInfo &>)
      return addMap({std::move(name), std::move(function)});
    else
      return addMap({std::move(name),
                     [function = std::move(function)](Sample sample, const SampleInfo &) mutable {
                       return StatusOr<Sample>(function(std::move(sample)));
                     }});
  }
  Loader batch(int64_t size, BatchOptions options = {}) const;

private:
  Pipeline addMap(PipelineSpec::Map map) const;
  Pipeline refuse(std::string what) const;

  PipelineSpec spec;
};

Pipeline from(std::shared_ptr<const Dataset> dataset);
/// Samples are the rows of arrays that share their first dimension.
Pipeline arrays(std::vector<Array> fields);
inline Pipeline arrays(Array images, Array labels) {
  return arrays(std::vector<Array>{std::move(images), std::move(labels)});
}

} // namespace sinter::rt::data
