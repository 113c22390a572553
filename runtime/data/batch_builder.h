// Makes one batch: reads its samples, maps them, collates. Used by all threads
// of a loader at once; changes nothing but its result.
#pragma once

#include "schedule.h"
#include "sinter/data/loader.h"

#include <atomic>

namespace sinter::rt::data {

struct BuiltBatch {
  Status error; ///< the batch is void
  Batch batch;
  Slot slot;
  int64_t bytes = 0;
  std::vector<std::string> bad; ///< one message a sample that was skipped or replaced
  std::vector<double> seconds;  ///< one a stage
};

class BatchBuilder {
public:
  BatchBuilder(const PipelineSpec &spec, OnBadSample policy) : spec(spec), policy(policy) {}

  /// Returns early, with an error nobody shall see, when `stop` becomes true.
  BuiltBatch build(const Schedule &schedule, const Slot &slot, const std::atomic<bool> &stop) const;
  /// "read", the maps' names, "batch".
  std::vector<std::string> stages() const;

private:
  StatusOr<Sample> make(const SampleInfo &info, std::vector<double> &seconds) const;
  Status collect(const std::vector<SampleInfo> &infos, const std::atomic<bool> &stop,
                 std::vector<Sample> &samples, BuiltBatch &built) const;

  const PipelineSpec &spec;
  OnBadSample policy;
};

} // namespace sinter::rt::data
