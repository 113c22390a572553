// The one stream of an emulated device: work runs in order on a thread of its own or, deferred, in
// `synchronize`. One caller at a time.
#pragma once

#include "sinter/base/status.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace sinter::rt::emu {

class Stream {
public:
  using Work = std::function<Status()>;

  Stream(bool deferred, std::chrono::microseconds delay);
  ~Stream(); ///< waits for the work at hand; the rest is dropped

  /// Fails, and takes no work, where earlier work did. That drops what was enqueued behind it.
  Status enqueue(Work work);
  /// Runs in order as well, but whatever happens.
  void enqueueAnyway(std::function<void()> work);
  /// Makes `status` what the next call returns, unless work failed before.
  void fail(Status status);
  Status synchronize();

private:
  struct Item {
    Work work;
    bool anyway = false;
  };
  void main();
  /// Runs the first item; `lock` is free meanwhile.
  void runFirst(std::unique_lock<std::mutex> &lock);
  Status takeError();

  const bool deferred;
  const std::chrono::microseconds delay;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Item> items;
  bool running = false, stopping = false;
  Status error;
  std::thread thread;
};

} // namespace sinter::rt::emu
