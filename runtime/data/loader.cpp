#include "sinter/data/loader.h"

#include "background.h"
#include "batch_builder.h"
#include "sinter/base/text.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace sinter::rt::data {

static constexpr int kMaxPrefetch = 1 << 16;

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Batches have tickets, counted from the last start. A thread claims the next
/// ticket, makes the batch and puts it into the ring, at ticket % prefetch; the
/// consumer takes them out in order. So neither order nor content depends on
/// who made what, or when.
class Loader::Impl {
public:
  explicit Impl(PipelineSpec spec) : spec(std::move(spec)), failure(this->spec.error) {}
  ~Impl() { stop(); }

  StatusOr<Batch> next();
  Status restore(const LoaderState &state);
  LoaderState state();
  uint64_t fingerprint();
  LoaderStats stats();
  void resetStats();
  void fetch();

  PipelineSpec spec;
  int prefetch = 4, workers = 1;
  int64_t memoryLimit = availableMemory() / 4;
  OnBadSample policy = OnBadSample::Fail;
  int64_t badLimit = 100;
  Status failure;               ///< repeated until restore
  std::optional<Batch> current; ///< of the running loop

private:
  Status start();
  void stop();
  void work();
  bool mayClaim() const;
  Slot claim();
  BuiltBatch build(const Slot &slot) const;
  BuiltBatch take();
  Status deliver(const BuiltBatch &built);
  void account(const BuiltBatch &built, Clock::time_point asked);

  // Set by start, constant while threads run.
  std::optional<Schedule> schedule;
  std::optional<BatchBuilder> builder;
  std::vector<std::thread> threads;
  std::atomic<bool> stopping{false};

  std::mutex mutex; // guards from here
  std::condition_variable room, ready;
  std::vector<std::optional<BuiltBatch>> ring;
  int64_t claimed = 0, delivered = 0;      ///< tickets
  Slot following;                          ///< of the next ticket
  int64_t queuedBytes = 0;                 ///< ready ones, and the estimate for those in the making
  int64_t largestBytes = 0, peakBytes = 0; // to here

  // The consumer's.
  bool started = false;
  std::optional<uint64_t> hashed; ///< the data set's fingerprint
  Slot position;                  ///< behind the batch handed out last
  LoaderStats statistics;
  int64_t badSamples = 0;
  double depthSum = 0;
  Clock::time_point firstDelivery;
};

Status Loader::Impl::start() {
  if (started)
    return Status();
  if (prefetch < 1 || prefetch > kMaxPrefetch || workers < 0 || memoryLimit < 1)
    return makeError(Code::InvalidArgument, "prefetch(", prefetch, "), workers(", workers,
                     "), memoryLimit(", memoryLimit, "): a loader needs 1 to ", kMaxPrefetch,
                     " batches ahead, no negative number of threads and some memory");
  schedule.emplace(spec);
  if (schedule->batches(0) == 0)
    return makeError(Code::InvalidArgument, "an epoch has no batch: ", spec.dataset->size(),
                     " samples, batches of ", spec.batchSize, " on ", spec.world,
                     " ranks; make the batches smaller or do not drop the last one");
  builder.emplace(spec, policy);
  following = schedule->valid(position);
  ring.assign(static_cast<size_t>(prefetch), std::nullopt);
  claimed = delivered = queuedBytes = 0;
  for (int i = 0; i < workers; ++i) {
    StatusOr<std::thread> thread = startBackground([this] { work(); });
    if (!thread.ok())
      return stop(), thread.status();
    threads.push_back(std::move(*thread));
  }
  started = true;
  return Status();
}

void Loader::Impl::stop() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  room.notify_all();
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
  ring.clear();
  stopping = false;
  started = false;
}

/// With the mutex held. The batch the consumer waits for is always made; those
/// behind it only as far as the number and the bytes allow.
bool Loader::Impl::mayClaim() const {
  if (claimed == delivered)
    return true;
  // Until the first batch is there, nobody knows what one takes.
  return claimed - delivered < prefetch && largestBytes > 0 &&
         queuedBytes + largestBytes <= memoryLimit;
}

/// With the mutex held.
Slot Loader::Impl::claim() {
  ++claimed;
  Slot slot = following;
  following = schedule->valid({slot.epoch, slot.base, slot.batch + 1});
  return slot;
}

BuiltBatch Loader::Impl::build(const Slot &slot) const {
  BuiltBatch built = builder->build(*schedule, slot, stopping);
  if (built.error.ok() && built.bytes > memoryLimit)
    built.error = makeError(Code::OutOfMemory, "a batch takes ", formatBytes(built.bytes),
                            ", over the loader's limit of ", formatBytes(memoryLimit),
                            "; raise memoryLimit or make the batches smaller");
  return built;
}

void Loader::Impl::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    room.wait(lock, [this] { return stopping || mayClaim(); });
    if (stopping)
      return;
    auto ticket = static_cast<size_t>(claimed);
    Slot slot = claim();
    int64_t reserved = largestBytes;
    queuedBytes += reserved;
    lock.unlock();
    BuiltBatch built = build(slot);
    lock.lock();
    queuedBytes += built.bytes - reserved;
    peakBytes = std::max(peakBytes, queuedBytes);
    if (built.bytes > largestBytes) {
      largestBytes = built.bytes;
      room.notify_all();
    }
    ring[ticket % ring.size()] = std::move(built);
    ready.notify_one();
  }
}

BuiltBatch Loader::Impl::take() {
  if (threads.empty()) { // nobody to share with
    ++delivered;
    return build(claim());
  }
  std::unique_lock lock(mutex);
  depthSum += static_cast<double>(
      std::count_if(ring.begin(), ring.end(), [](const auto &slot) { return slot.has_value(); }));
  std::optional<BuiltBatch> &slot = ring[static_cast<size_t>(delivered) % ring.size()];
  ready.wait(lock, [&] { return slot.has_value(); });
  BuiltBatch built = std::move(*slot);
  slot.reset();
  ++delivered;
  queuedBytes -= built.bytes;
  lock.unlock();
  room.notify_all();
  return built;
}

void Loader::Impl::account(const BuiltBatch &built, Clock::time_point asked) {
  double waited = secondsSince(asked);
  if (statistics.batches == 0) {
    statistics.startSeconds = waited;
    firstDelivery = Clock::now();
  } else {
    statistics.waitSeconds += waited;
    statistics.totalSeconds = secondsSince(firstDelivery);
  }
  ++statistics.batches;
  statistics.samples += built.batch.samples;
  statistics.bytes += built.bytes;
  std::vector<std::string> names = builder->stages();
  statistics.stages.resize(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    statistics.stages[i].name = names[i];
    statistics.stages[i].seconds += built.seconds[i];
  }
}

/// Counts bad samples in the consumer's order, so that the same batch fails each time.
Status Loader::Impl::deliver(const BuiltBatch &built) {
  static constexpr size_t kMessages = 16;
  SINTER_RETURN_IF_ERROR(built.error);
  for (const std::string &message : built.bad) {
    ++statistics.badSamples;
    if (statistics.badMessages.size() < kMessages)
      statistics.badMessages.push_back(message);
    if (++badSamples > badLimit)
      return makeError(Code::Corrupt, "more than ", badLimit,
                       " bad samples, the last one: ", message,
                       "; mend the data or raise the limit of onBadSample");
  }
  return Status();
}

StatusOr<Batch> Loader::Impl::next() {
  if (failure.ok())
    failure = start();
  if (!failure.ok())
    return failure;
  Clock::time_point asked = Clock::now();
  BuiltBatch built = take();
  failure = deliver(built);
  if (!failure.ok()) {
    stop();
    return failure;
  }
  account(built, asked);
  position = schedule->behind(built.slot);
  return std::move(built.batch);
}

void Loader::Impl::fetch() {
  current.reset(); // gives its memory back before more is taken
  if (StatusOr<Batch> batch = next(); batch.ok())
    current = std::move(*batch);
}

uint64_t Loader::Impl::fingerprint() {
  if (!hashed)
    hashed = spec.dataset ? spec.dataset->fingerprint() : 0;
  return *hashed;
}

LoaderState Loader::Impl::state() {
  return {spec.shuffled, spec.seed, position.epoch, position.base, fingerprint()};
}

Status Loader::Impl::restore(const LoaderState &state) {
  SINTER_RETURN_IF_ERROR(spec.error);
  if (state.fingerprint != fingerprint())
    return makeError(Code::FailedPrecondition,
                     "the loader's state is of other data than it reads now "
                     "(fingerprints ",
                     state.fingerprint, " and ", fingerprint(),
                     "); give it the data set the run was started with");
  if (state.shuffled != spec.shuffled)
    return makeError(Code::FailedPrecondition, "the loader's state is of a ",
                     state.shuffled ? "shuffled order, this one is not"
                                    : "plain order, this one is shuffled",
                     "; build it as in the run to be resumed");
  if (state.epoch < 0 || state.next < 0 || state.next > spec.dataset->size())
    return makeError(Code::InvalidArgument, "the loader's state has sample ", state.next,
                     " of epoch ", state.epoch, ", the data set has ", spec.dataset->size(),
                     " samples");
  stop();
  failure = Status();
  current.reset();
  spec.seed = state.seed;
  position = {state.epoch, state.next, 0};
  return Status();
}

LoaderStats Loader::Impl::stats() {
  LoaderStats result = statistics;
  if (result.batches > 0)
    result.meanQueue = depthSum / static_cast<double>(result.batches);
  std::lock_guard lock(mutex);
  result.peakBytes = peakBytes;
  return result;
}

void Loader::Impl::resetStats() {
  statistics = {};
  depthSum = 0;
  std::lock_guard lock(mutex);
  peakBytes = queuedBytes;
}

Loader::Loader(PipelineSpec spec) : impl(std::make_unique<Impl>(std::move(spec))) {}
Loader::Loader(Loader &&) noexcept = default;
Loader &Loader::operator=(Loader &&) noexcept = default;
Loader::~Loader() = default;

Loader Loader::prefetch(int batches) && {
  impl->prefetch = batches;
  return std::move(*this);
}

Loader Loader::workers(int threads) && {
  impl->workers = threads;
  return std::move(*this);
}

Loader Loader::memoryLimit(int64_t bytes) && {
  impl->memoryLimit = bytes;
  return std::move(*this);
}

Loader Loader::onBadSample(OnBadSample policy, int64_t limit) && {
  impl->policy = policy;
  impl->badLimit = limit;
  return std::move(*this);
}

StatusOr<Batch> Loader::next() { return impl->next(); }
const Status &Loader::status() const { return impl->failure; }
LoaderState Loader::state() const { return impl->state(); }
Status Loader::restore(const LoaderState &state) { return impl->restore(state); }
LoaderStats Loader::stats() const { return impl->stats(); }
void Loader::resetStats() { impl->resetStats(); }
const Batch *Loader::current() const { return impl->current ? &*impl->current : nullptr; }

int64_t Loader::batchesPerEpoch() const {
  return impl->spec.error.ok() ? Schedule(impl->spec).batches(0) : 0;
}

Loader::Iterator Loader::begin() {
  impl->fetch();
  return Iterator(this);
}

void Loader::advance() {
  if (impl->current->last)
    impl->current.reset();
  else
    impl->fetch();
}

} // namespace sinter::rt::data
