#include "sinter/core/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace sinter::rt {
namespace {

TEST(ThreadPool, EveryTaskRunsOnceForAnyNumberOfThreadsAndTasks) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    ASSERT_EQ(pool.threads(), threads);
    for (int64_t tasks : {0, 1, 2, 3, 7, 64, 1000}) {
      std::vector<int> done(tasks, 0);
      pool.parallelFor(tasks, [&](int64_t begin, int64_t end, int worker) {
        ASSERT_TRUE(0 <= worker && worker < threads);
        for (int64_t i = begin; i < end; ++i)
          ++done[i];
      });
      EXPECT_EQ(std::count(done.begin(), done.end(), 1), tasks);
    }
  }
}

TEST(ThreadPool, ManyJobsBackToBackSeeEachOthersWrites) {
  ThreadPool pool(3);
  std::vector<int64_t> values(97, 0);
  constexpr int rounds = 5000;
  for (int round = 0; round < rounds; ++round)
    pool.parallelFor(int64_t(values.size()), [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i)
        values[i] += values[i] + 1 > 1 ? 1 : i + 1 - values[i];
    });
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], int64_t(i) + rounds);
}

TEST(ThreadPool, SleepingWorkersWakeUp) {
  ThreadPool pool(4);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> sum{0};
    pool.parallelFor(16, [&](int64_t begin, int64_t end, int) { sum += int(end - begin); });
    ASSERT_EQ(sum.load(), 16);
  }
}

TEST(ThreadPool, AWorkerIndexIsNeverUsedTwiceAtOnce) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> inside(4);
  for (int round = 0; round < 500; ++round)
    pool.parallelFor(64, [&](int64_t, int64_t, int worker) {
      ASSERT_EQ(inside[worker].fetch_add(1), 0);
      inside[worker].fetch_sub(1);
    });
}

TEST(ThreadPool, ConcurrentCallersEachGetTheirOwnWorkDone) {
  ThreadPool pool(2);
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        std::vector<int64_t> mine(32);
        pool.parallelFor(32, [&](int64_t begin, int64_t end, int) {
          for (int64_t i = begin; i < end; ++i)
            mine[i] = i;
        });
        total += std::accumulate(mine.begin(), mine.end(), int64_t(0));
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(total.load(), 4 * 500 * (31 * 32 / 2));
}

TEST(ThreadPool, ANestedCallRunsInline) {
  ThreadPool pool(2);
  std::atomic<int64_t> total{0};
  pool.parallelFor(8, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i)
      pool.parallelFor(10, [&](int64_t first, int64_t last, int worker) {
        EXPECT_EQ(worker, 0);
        total += last - first;
      });
  });
  EXPECT_EQ(total.load(), 80);
}

TEST(ThreadPool, ComesAndGoesWithoutWork) {
  for (int round = 0; round < 50; ++round)
    ThreadPool pool(3);
}

} // namespace
} // namespace sinter::rt
