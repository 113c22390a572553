// The runtime's thread pool: a fork-join of one kernel launch over its tasks.
//
// The caller takes part as worker 0, so a pool of n threads starts n - 1. Which
// worker does which task is left to chance; kernels cut tasks by shape alone, so
// results never depend on it. Workers spin for some microseconds before they
// sleep, which makes back-to-back launches cheap.
//
// Any thread may call parallelFor at any time. One caller at a time has the
// workers; another one, or a body that calls parallelFor itself, runs inline.
#pragma once

#include "sinter/base/function_ref.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace sinter::rt {

class ThreadPool {
public:
  /// `worker` is below `threads()` and used by one thread at a time.
  using Body = FunctionRef<void(int64_t begin, int64_t end, int worker)>;

  static constexpr int kMostThreads = 1024;
  /// `threads` counts the caller; 0: one for each hardware thread. There are fewer where the system
  /// gives no more.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int threads() const { return int(workers.size()) + 1; }

  /// Calls `body` over disjoint ranges that cover [0, tasks); returns when all
  /// are done. The body must not throw.
  void parallelFor(int64_t tasks, Body body) {
    if (tasks <= 0)
      return;
    if (tasks == 1 || workers.empty() || busy.exchange(true, std::memory_order_acquire))
      return body(0, tasks, 0);
    fork(tasks, body);
    busy.store(false, std::memory_order_release);
  }

private:
  void fork(int64_t tasks, Body body);
  void workerMain(int worker);
  void work(int worker);

  /// `state` holds the open bit and, above it, the number of workers that
  /// entered; the job's fields change only while it is closed and empty.
  static constexpr uint32_t kOpen = 1, kEntered = 2;

  std::vector<std::thread> workers;
  std::atomic<bool> busy{false};
  const Body *body = nullptr;
  int64_t tasks = 0, chunk = 1;
  alignas(64) std::atomic<uint32_t> generation{0}; ///< one higher a job; workers wait on it
  alignas(64) std::atomic<uint32_t> state{0};
  alignas(64) std::atomic<int64_t> next{0};
  std::atomic<bool> stopping{false};
};

} // namespace sinter::rt
