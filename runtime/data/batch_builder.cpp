#include "batch_builder.h"

#include "sinter/base/text.h"

#include <chrono>
#include <exception>

namespace sinter::rt::data {

namespace {

/// Adds the time since it was made or last asked to a stage.
class StageClock {
public:
  void addTo(double &seconds) {
    auto now = std::chrono::steady_clock::now();
    seconds += std::chrono::duration<double>(now - since).count();
    since = now;
  }

private:
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
};

/// What a user's function gives. An exception is its error: it must not end a worker.
template <class Function>
auto guarded(const std::string &stage, const Function &function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::exception &exception) {
    return makeError(Code::InvalidArgument, stage, ": ", exception.what());
  }
}

} // namespace

std::vector<std::string> BatchBuilder::stages() const {
  std::vector<std::string> names = {"read"};
  for (const PipelineSpec::Map &map : spec.maps)
    names.push_back(map.name);
  names.push_back("batch");
  return names;
}

StatusOr<Sample> BatchBuilder::make(const SampleInfo &info, std::vector<double> &seconds) const {
  StageClock clock;
  StatusOr<Sample> sample = guarded("read", [&] { return spec.dataset->at(info.index); });
  clock.addTo(seconds[0]);
  for (size_t i = 0; sample.ok() && i < spec.maps.size(); ++i) {
    const PipelineSpec::Map &map = spec.maps[i];
    sample = guarded(map.name, [&] { return map.function(std::move(*sample), info); });
    clock.addTo(seconds[i + 1]);
  }
  if (!sample.ok())
    return makeError(sample.status().code(), "sample ", info.index, " of epoch ", info.epoch, ": ",
                     sample.status().message());
  return sample;
}

/// Gathers the good samples; what becomes of the bad ones is the policy's.
Status BatchBuilder::collect(const std::vector<SampleInfo> &infos, const std::atomic<bool> &stop,
                             std::vector<Sample> &samples, BuiltBatch &built) const {
  size_t missing = 0; // bad ones before the first good one
  for (const SampleInfo &info : infos) {
    if (stop.load(std::memory_order_relaxed))
      return Status(Code::FailedPrecondition, "the loader was stopped");
    StatusOr<Sample> sample = make(info, built.seconds);
    if (sample.ok()) {
      samples.push_back(std::move(*sample));
      for (; missing > 0; --missing)
        samples.push_back(samples.back());
      continue;
    }
    if (policy == OnBadSample::Fail)
      return sample.status();
    built.bad.push_back(sample.status().message());
    if (policy == OnBadSample::Replace && samples.empty())
      ++missing;
    else if (policy == OnBadSample::Replace)
      samples.push_back(samples.back());
  }
  if (samples.empty())
    return makeError(Code::Corrupt, "all ", infos.size(),
                     " samples of a batch are bad, the last one: ", built.bad.back());
  return Status();
}

BuiltBatch BatchBuilder::build(const Schedule &schedule, const Slot &slot,
                               const std::atomic<bool> &stop) const {
  BuiltBatch built;
  built.slot = slot;
  built.seconds.resize(spec.maps.size() + 2);
  std::vector<SampleInfo> infos = schedule.samples(slot);
  std::vector<Sample> samples;
  samples.reserve(infos.size());
  built.error = collect(infos, stop, samples, built);
  if (!built.error.ok())
    return built;
  built.batch = {{},
                 slot.epoch,
                 schedule.index(slot),
                 static_cast<int64_t>(samples.size()),
                 schedule.isLast(slot)};
  StageClock clock;
  StatusOr<std::vector<Array>> arrays =
      guarded("batch", [&] { return spec.batch.collate(std::move(samples)); });
  clock.addTo(built.seconds.back());
  if (!arrays.ok()) {
    built.error = makeError(arrays.status().code(), "batch ", built.batch.index, " of epoch ",
                            slot.epoch, ": ", arrays.status().message());
    return built;
  }
  built.batch.arrays = std::move(*arrays);
  for (const Array &array : built.batch.arrays)
    built.bytes += array.bytes();
  return built;
}

StatusOr<std::vector<Array>> stack(std::vector<Sample> samples) {
  const Sample &first = samples.front();
  std::vector<Array> result;
  for (size_t field = 0; field < first.size(); ++field) {
    Dims dims = first[field].dims();
    dims.insert(dims.begin(), static_cast<int64_t>(samples.size()));
    StatusOr<Array> batch = Array::allocate(first[field].dtype(), std::move(dims));
    if (!batch.ok())
      return batch.status();
    auto *to = static_cast<std::byte *>(batch->data());
    for (const Sample &sample : samples) {
      if (sample.size() != first.size() || sample[field].dtype() != first[field].dtype() ||
          sample[field].dims() != first[field].dims())
        return makeError(Code::InvalidArgument, "its samples differ in field ", field, ": ",
                         first[field].type(), " and ",
                         field < sample.size() ? sample[field].type() : "none",
                         "; bring them to one shape in a map, or give batch() a collate function");
      size_t bytes = static_cast<size_t>(sample[field].bytes());
      if (bytes > 0)
        std::memcpy(to, sample[field].data(), bytes);
      to += bytes;
    }
    result.push_back(std::move(*batch));
  }
  return result;
}

} // namespace sinter::rt::data
