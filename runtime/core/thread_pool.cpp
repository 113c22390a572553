#include "sinter/core/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <system_error>

namespace sinter::rt {
namespace {

constexpr auto spinTime = std::chrono::microseconds(20);

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

/// Waits until `value` differs from `old`: spins first, then sleeps.
template <class T> T awaitChange(const std::atomic<T> &value, T old) {
  auto deadline = std::chrono::steady_clock::now() + spinTime;
  do {
    for (int i = 0; i < 16; ++i) {
      if (T now = value.load(std::memory_order_acquire); now != old)
        return now;
      pause();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

} // namespace

ThreadPool::ThreadPool(int threads) {
  if (threads <= 0)
    threads = std::max(1u, std::thread::hardware_concurrency());
  threads = std::min(threads, kMostThreads);
  workers.reserve(threads - 1);
  try {
    for (int i = 1; i < threads; ++i)
      workers.emplace_back([this, i] { workerMain(i); });
  } catch (const std::system_error &) {
    // The system gives no more of them: results do not depend on their number.
  }
}

ThreadPool::~ThreadPool() {
  stopping.store(true, std::memory_order_relaxed);
  generation.fetch_add(1, std::memory_order_release);
  generation.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::fork(int64_t count, Body job) {
  body = &job;
  tasks = count;
  // Several chunks a worker even out unequal speeds; the counter stays cold.
  chunk = std::max<int64_t>(1, count / (int64_t(threads()) * 4));
  next.store(0, std::memory_order_relaxed);
  state.fetch_or(kOpen, std::memory_order_release);
  generation.fetch_add(1, std::memory_order_release);
  generation.notify_all();
  work(0);
  // Workers that did not wake in time are not waited for: they find it closed.
  uint32_t now = state.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  while (now != 0)
    now = awaitChange(state, now);
}

void ThreadPool::work(int worker) {
  for (;;) {
    int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
    if (begin >= tasks)
      return;
    (*body)(begin, std::min(begin + chunk, tasks), worker);
  }
}

void ThreadPool::workerMain(int worker) {
  for (uint32_t seen = 0;;) {
    seen = awaitChange(generation, seen);
    if (stopping.load(std::memory_order_relaxed))
      return;
    if (state.fetch_add(kEntered, std::memory_order_acq_rel) & kOpen)
      work(worker);
    // The last one out of a closed job wakes the caller, if it sleeps.
    if (state.fetch_sub(kEntered, std::memory_order_acq_rel) == kEntered)
      state.notify_one();
  }
}

} // namespace sinter::rt
