// Order, determinism, resumption, faults and limits of the loader.
#include "io_support.h"

#include "sinter/base/text.h"
#include "sinter/core/hash.h"
#include "sinter/data/loader.h"
#include "sinter/data/permutation.h"

#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <thread>

using namespace sinter;
using namespace sinter::rt;
using namespace sinter::rt::data;
using namespace sinter::test;
using std::chrono::milliseconds;

/// Samples {index} of i64[], so that a batch tells which samples it holds.
static Array indices(int64_t size) {
  Array array = Array::empty(DType::I64, {size});
  for (int64_t i = 0; i < size; ++i)
    array.data<int64_t>()[i] = i;
  return array;
}

static Pipeline numbers(int64_t size) { return arrays({indices(size)}); }

static std::vector<int64_t> content(const Batch &batch) {
  auto values = batch.arrays[0].values<int64_t>();
  return {values.begin(), values.end()};
}

/// The next `count` batches, with where they stand.
static std::string trace(Loader &loader, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    StatusOr<Batch> batch = loader.next();
    if (!batch.ok())
      return text + batch.status().message();
    text += concat(batch->epoch, ".", batch->index, batch->last ? "!" : "", ":");
    for (int64_t value : content(*batch))
      text += concat(" ", value);
    text += "\n";
  }
  return text;
}

/// Draws from the sample's key and takes a while that varies, so that threads overtake each other.
static StatusOr<Sample> augment(Sample sample, const SampleInfo &info) {
  std::this_thread::sleep_for(std::chrono::microseconds(info.key % 200));
  return Sample{sample[0], Array::scalar(static_cast<int64_t>(info.key % 1000))};
}

TEST(Permutation, IsOneForEverySize) {
  for (int64_t size : {1, 2, 3, 5, 16, 17, 255, 256, 257, 1000, 4096, 60000}) {
    Permutation order(size, 42);
    std::vector<bool> seen(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i) {
      int64_t to = order(i);
      ASSERT_TRUE(to >= 0 && to < size && !seen[static_cast<size_t>(to)]);
      seen[static_cast<size_t>(to)] = true;
    }
  }
  Permutation huge(int64_t{1} << 62, 1);
  EXPECT_NE(huge(0), huge(1));
}

TEST(Permutation, LooksRandom) {
  // Each of the 120 orders of five elements turns up 200 times of 24,000: chi square with 119
  // degrees of freedom stays below 180 but for one key set in 4,000.
  std::map<std::string, int> orders;
  for (uint64_t key = 0; key < 24000; ++key) {
    Permutation order(5, mixBits(key + 1));
    std::string text;
    for (int64_t i = 0; i < 5; ++i)
      text += concat(order(i));
    ++orders[text];
  }
  EXPECT_EQ(orders.size(), 120u);
  double chi = 0;
  for (const auto &[text, count] : orders)
    chi += (count - 200.0) * (count - 200.0) / 200.0;
  EXPECT_LT(chi, 180);
  // Neighbours are sent far apart, on average a third of the size.
  Permutation order(60000, 7);
  double distance = 0;
  for (int64_t i = 0; i + 1 < 60000; ++i)
    distance += std::abs(static_cast<double>(order(i + 1) - order(i)));
  EXPECT_NEAR(distance / 59999, 20000, 300);
}

TEST(Loader, EpochsCoverAllAndDiffer) {
  Loader loader = numbers(103).shuffle(5).batch(10);
  EXPECT_EQ(loader.batchesPerEpoch(), 11);
  std::set<std::vector<int64_t>> orders;
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    std::vector<int64_t> order;
    int64_t index = 0;
    for (const Batch &batch : loader) {
      EXPECT_EQ(batch.epoch, epoch);
      EXPECT_EQ(batch.index, index++);
      EXPECT_EQ(batch.last, index == 11);
      EXPECT_EQ(batch.samples, batch.last ? 3 : 10);
      for (int64_t value : content(batch))
        order.push_back(value);
    }
    EXPECT_TRUE(loader.status().ok());
    EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 103u);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 4u);
}

TEST(Loader, WithoutShuffleKeepsTheOrder) {
  Loader loader = numbers(5).batch(2, {.dropLast = true});
  EXPECT_EQ(trace(loader, 4), "0.0: 0 1\n0.1!: 2 3\n1.0: 0 1\n1.1!: 2 3\n");
}

TEST(Loader, BitsDoNotDependOnTheThreads) {
  Pipeline pipeline = numbers(157).shuffle(9).map(augment);
  std::string expected;
  for (int workers : {0, 1, 2, 3, 8})
    for (int prefetch : {1, 3, 16}) {
      Loader loader = pipeline.batch(8).prefetch(prefetch).workers(workers);
      std::string keys;
      for (int i = 0; i < 50; ++i) {
        StatusOr<Batch> batch = loader.next();
        ASSERT_TRUE(batch.ok());
        for (const Array &array : batch->arrays)
          keys += array.str();
      }
      if (expected.empty())
        expected = keys;
      EXPECT_EQ(keys, expected) << workers << " workers, prefetch " << prefetch;
    }
}

TEST(Loader, ShardsCoverExactly) {
  for (int64_t size : {1, 7, 64, 65, 103})
    for (int64_t world : {1, 2, 3, 4})
      for (bool dropLast : {false, true}) {
        std::multiset<int64_t> seen;
        int64_t perRank = size / (4 * world);
        if (dropLast && perRank == 0)
          continue;
        for (int64_t rank = 0; rank < world; ++rank) {
          if (size <= rank)
            continue;
          Loader loader =
              numbers(size).shuffle(3).shard(rank, world).batch(4, {.dropLast = dropLast});
          int64_t batches = 0;
          for (const Batch &batch : loader) {
            ++batches;
            for (int64_t value : content(batch))
              seen.insert(value);
          }
          EXPECT_EQ(batches, loader.batchesPerEpoch());
          if (dropLast) {
            EXPECT_EQ(batches, perRank);
          }
        }
        EXPECT_EQ(static_cast<int64_t>(seen.size()), dropLast ? perRank * 4 * world : size);
        EXPECT_EQ(std::set<int64_t>(seen.begin(), seen.end()).size(), seen.size()) << "none twice";
      }
}

TEST(Loader, RanksTogetherSeeTheGlobalBatch) {
  Loader whole = numbers(64).shuffle(1).batch(8);
  Loader left = numbers(64).shuffle(1).shard(0, 2).batch(4),
         right = numbers(64).shuffle(1).shard(1, 2).batch(4);
  for (int i = 0; i < 20; ++i) {
    std::vector<int64_t> all = content(*whole.next()), a = content(*left.next()),
                         b = content(*right.next());
    for (size_t j = 0; j < 4; ++j) {
      EXPECT_EQ(all[2 * j], a[j]);
      EXPECT_EQ(all[2 * j + 1], b[j]);
    }
  }
}

TEST(Loader, ResumesAnywhere) {
  Pipeline pipeline = numbers(43).shuffle(11).map(augment);
  Loader whole = pipeline.batch(5).workers(2);
  std::vector<std::string> states = {whole.state().str()}, batches;
  for (int i = 0; i < 30; ++i) {
    batches.push_back(trace(whole, 1));
    states.push_back(whole.state().str());
  }
  for (size_t cut = 0; cut < states.size(); ++cut) {
    // The seed comes with the state; the number of threads does not matter.
    Loader resumed =
        numbers(43).shuffle(0).map(augment).batch(5).workers(static_cast<int>(cut % 4));
    StatusOr<LoaderState> state = LoaderState::parse(states[cut]);
    ASSERT_TRUE(state.ok()) << state.status().message();
    ASSERT_TRUE(resumed.restore(*state).ok());
    EXPECT_EQ(resumed.state().str(), states[cut]);
    for (size_t i = cut; i < batches.size(); ++i)
      EXPECT_EQ(trace(resumed, 1), batches[i]) << "cut at " << cut;
  }
}

TEST(Loader, ResumesOnOtherRanksAndBatchSizes) {
  Loader whole = numbers(96).shuffle(2).batch(1);
  std::vector<int64_t> order;
  for (const Batch &batch : whole)
    order.push_back(content(batch)[0]);

  Loader first = numbers(96).shuffle(2).shard(0, 2).batch(6);
  (void)trace(first, 3); // 36 samples on two ranks
  LoaderState state = first.state();
  EXPECT_EQ(state.next, 36);
  std::vector<int64_t> rest(60);
  for (int64_t rank = 0; rank < 4; ++rank) {
    Loader loader = numbers(96).shuffle(2).shard(rank, 4).batch(5);
    ASSERT_TRUE(loader.restore(state).ok());
    size_t at = static_cast<size_t>(rank);
    for (const Batch &batch : loader)
      for (int64_t value : content(batch))
        rest[at] = value, at += 4;
  }
  EXPECT_EQ(rest, std::vector<int64_t>(order.begin() + 36, order.end()));
}

TEST(Loader, ResumeWhileRunningAndBehindTheLastBatch) {
  Loader loader = numbers(20).shuffle(4).batch(6, {.dropLast = true}).prefetch(8).workers(3);
  LoaderState start = loader.state();
  std::string expected = trace(loader, 7);
  ASSERT_TRUE(loader.restore(start).ok());
  EXPECT_EQ(trace(loader, 7), expected);
  // Four samples are left, fewer than a batch: the next epoch follows.
  start.next = 16;
  ASSERT_TRUE(loader.restore(start).ok());
  EXPECT_EQ(loader.next()->epoch, 1);
  start.next = 20;
  ASSERT_TRUE(loader.restore(start).ok());
  EXPECT_EQ(loader.next()->epoch, 1);
}

TEST(Loader, ALoopLeftEarlyGoesOn) {
  Loader loader = numbers(12).batch(4);
  for (const Batch &batch : loader)
    if (batch.index == 0)
      break;
  std::vector<int64_t> seen;
  for (const Batch &batch : loader)
    seen.push_back(batch.index);
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 2}));
  for (const Batch &batch : loader)
    if (batch.last)
      break; // an epoch left at its very end is over
  EXPECT_EQ(loader.next()->epoch, 2);
}

TEST(Loader, RefusesAForeignState) {
  Loader loader = numbers(12).shuffle(1).batch(4);
  LoaderState state = loader.state();
  LoaderState other = state;
  other.fingerprint ^= 1;
  expectError(loader.restore(other), "other data", "the run was started with");
  other = state;
  other.shuffled = false;
  expectError(loader.restore(other), "plain order", "resumed");
  other = state;
  other.next = 13;
  expectError(loader.restore(other), "sample 13", "12 samples");
  Loader changed =
      arrays({Array::of<int64_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 10})}).shuffle(1).batch(4);
  expectError(changed.restore(state), "other data", "");
  for (std::string text : {"", "{}", "[1]", "{\"seed\":1}", "{\"epoch\":-1}"})
    expectError(LoaderState::parse(text).status(), "state of a data loader", "byte");
  std::string text = state.str();
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(LoaderState::parse(text.substr(0, size)).ok());
}

TEST(Loader, ErrorsReachTheConsumerInOrder) {
  for (int workers : {0, 1, 8}) {
    Loader loader =
        numbers(40)
            .map([](Sample sample) -> StatusOr<Sample> {
              if (sample[0].item<int>() == 17)
                return Status(Code::Corrupt, "digits.bin: byte 99: broken; copy it again");
              return sample;
            })
            .batch(4)
            .workers(workers);
    for (int i = 0; i < 4; ++i)
      EXPECT_TRUE(loader.next().ok());
    Status error = loader.next().status();
    expectError(error, "sample 17 of epoch 0", "digits.bin: byte 99");
    EXPECT_EQ(error.code(), Code::Corrupt);
    EXPECT_EQ(loader.next().status().message(), error.message()) << "it stays";
    EXPECT_EQ(loader.state().next, 16);
    for ([[maybe_unused]] const Batch &batch : loader)
      FAIL() << "no batch after an error";
    EXPECT_EQ(loader.status().message(), error.message());
  }
}

TEST(Loader, ExceptionsOfAMapAreErrors) {
  for (int workers : {0, 2}) {
    Loader loader = numbers(8)
                        .map([](Sample sample) -> StatusOr<Sample> {
                          if (sample[0].item<int>() == 5)
                            throw std::runtime_error("no such word");
                          return sample;
                        })
                        .batch(2)
                        .workers(workers);
    EXPECT_TRUE(loader.next().ok());
    EXPECT_TRUE(loader.next().ok());
    expectError(loader.next().status(), "sample 5 of epoch 0", "no such word");
  }
}

static Pipeline withBad(std::set<int64_t> bad) {
  return numbers(12).map([bad](Sample sample, const SampleInfo &info) -> StatusOr<Sample> {
    if (bad.count(info.index))
      return Status(Code::Corrupt, concat("no. ", info.index));
    return sample;
  });
}

TEST(Loader, BadSamplesAreSkippedOrReplacedAndCounted) {
  Loader skipping = withBad({0, 1, 6}).batch(4).onBadSample(OnBadSample::Skip).workers(3);
  EXPECT_EQ(trace(skipping, 3), "0.0: 2 3\n0.1: 4 5 7\n0.2!: 8 9 10 11\n");
  EXPECT_EQ(skipping.stats().badSamples, 3);
  EXPECT_EQ(skipping.stats().badMessages[2], "sample 6 of epoch 0: no. 6");
  Loader replacing = withBad({0, 1, 6}).batch(4).onBadSample(OnBadSample::Replace);
  EXPECT_EQ(trace(replacing, 2), "0.0: 2 2 2 3\n0.1: 4 5 5 7\n");
  Loader capped = withBad({0, 1, 6}).batch(4).onBadSample(OnBadSample::Skip, 2).workers(3);
  EXPECT_EQ(trace(capped, 1), "0.0: 2 3\n");
  expectError(capped.next().status(), "more than 2 bad samples", "sample 6 of epoch 0");
  Loader empty = withBad({4, 5, 6, 7}).batch(4).onBadSample(OnBadSample::Replace);
  EXPECT_TRUE(empty.next().ok());
  expectError(empty.next().status(), "all 4 samples", "no. 7");
}

TEST(Loader, WrongArgumentsAreToldAtTheFirstBatch) {
  auto expectRefused = [](Loader loader, const std::string &place, const std::string &what) {
    expectError(loader.next().status(), place, what);
    EXPECT_FALSE(loader.status().ok());
    (void)loader.batchesPerEpoch();
  };
  expectRefused(arrays({}).batch(1), "data set", "at least one array");
  expectRefused(arrays(indices(3), indices(4)).batch(1), "i64[3] and i64[4]", "first dimension");
  expectRefused(arrays({Array::scalar(1.0f)}).batch(1), "f32[]", "first dimension");
  expectRefused(from(nullptr).batch(1), "null", "open it");
  expectRefused(numbers(0).batch(1), "empty", "path");
  expectRefused(numbers(3).batch(0), "batch(0)", "at least one");
  expectRefused(numbers(3).shard(2, 2).batch(1), "shard(rank = 2, world = 2)",
                "less than the world");
  expectRefused(numbers(3).batch(4, {.dropLast = true}), "3 samples, batches of 4", "smaller");
  expectRefused(numbers(3).batch(1).workers(-1), "workers(-1)", "negative");
  expectRefused(numbers(3).batch(1).prefetch(0), "prefetch(0)", "ahead");
  expectRefused(numbers(64).batch(64).memoryLimit(100), "a batch takes 512 B", "memoryLimit");
  EXPECT_TRUE(numbers(3).batch(INT64_MAX).next().ok());
}

TEST(Loader, SamplesMustAgree) {
  Loader loader = numbers(4)
                      .map([](Sample sample) -> Sample {
                        int64_t size = sample[0].item<int64_t>() == 2 ? 5 : 3;
                        return {Array::zeros(DType::F32, {size})};
                      })
                      .batch(4);
  expectError(loader.next().status(), "batch 0 of epoch 0", "f32[3] and f32[5]");
  Loader ragged = numbers(4).batch(
      4, {.collate = [](std::vector<Sample> samples) -> StatusOr<std::vector<Array>> {
        return std::vector<Array>{Array::scalar(static_cast<int64_t>(samples.size()))};
      }});
  EXPECT_EQ(ragged.next()->arrays[0].item<int>(), 4);
}

TEST(Loader, TheNextEpochIsReadyWhenItStarts) {
  std::atomic<int> made{0};
  Loader loader = numbers(4)
                      .map([&](Sample sample) {
                        ++made;
                        return sample;
                      })
                      .batch(2)
                      .prefetch(3);
  for ([[maybe_unused]] const Batch &batch : loader) {
  }
  for (int i = 0; i < 2000 && made < 10; ++i)
    std::this_thread::sleep_for(milliseconds(1));
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(made, 10) << "two batches of this epoch, three of the next, and no more";
}

TEST(Loader, TheQueueStaysWithinItsBytes) {
  Loader loader =
      numbers(4000).batch(100).prefetch(16).workers(4).memoryLimit(3000); // 800 bytes a batch
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(loader.next().ok());
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_LE(loader.stats().peakBytes, 3000);
  EXPECT_GE(loader.stats().peakBytes, 1600);
}

TEST(Loader, TellsWhoWaits) {
  auto slow = [](Sample sample) {
    std::this_thread::sleep_for(milliseconds(2));
    return sample;
  };
  Loader bound = numbers(100).map(slow, "decode").batch(4);
  ASSERT_FALSE(trace(bound, 12).empty());
  LoaderStats stats = bound.stats();
  EXPECT_EQ(stats.batches, 12);
  EXPECT_EQ(stats.samples, 48);
  EXPECT_EQ(stats.bytes, 48 * 8);
  EXPECT_GT(stats.waitShare(), 0.2);
  EXPECT_PRED2(contains, stats.verdict(), "input-bound, 'decode' takes longest");
  ASSERT_EQ(stats.stages.size(), 3u);
  EXPECT_GE(stats.stages[1].seconds, 48 * 0.002);

  Loader fine = numbers(100).batch(4);
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(fine.next().ok());
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_LT(fine.stats().waitShare(), 0.2);
  EXPECT_GT(fine.stats().meanQueue, 1);
  fine.resetStats();
  EXPECT_EQ(fine.stats().batches, 0);
}

TEST(Loader, EndsInTheMiddleOfABatch) {
  auto start = std::chrono::steady_clock::now();
  {
    Loader loader = numbers(10000)
                        .map([](Sample sample, const SampleInfo &info) {
                          // All batches but the first take ten seconds.
                          std::this_thread::sleep_for(milliseconds(info.index < 1000 ? 0 : 10));
                          return sample;
                        })
                        .batch(1000)
                        .workers(3);
    ASSERT_TRUE(loader.next().ok());
    Loader moved = std::move(loader);
    ASSERT_TRUE(moved.restore(moved.state()).ok());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}
