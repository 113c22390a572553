#include "stream.h"

#include <algorithm>
#include <utility>

namespace sinter::rt::emu {

Stream::Stream(bool deferred, std::chrono::microseconds delay) : deferred(deferred), delay(delay) {
  if (!deferred)
    thread = std::thread([this] { main(); });
}

Stream::~Stream() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
    items.clear();
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

Status Stream::takeError() { return std::exchange(error, Status()); }

Status Stream::enqueue(Work work) {
  {
    std::lock_guard lock(mutex);
    if (!error.ok())
      return takeError();
    items.push_back({std::move(work)});
  }
  changed.notify_all();
  return {};
}

void Stream::enqueueAnyway(std::function<void()> work) {
  {
    std::lock_guard lock(mutex);
    items.push_back({[work = std::move(work)] {
                       work();
                       return Status();
                     },
                     true});
  }
  changed.notify_all();
}

void Stream::fail(Status status) {
  std::lock_guard lock(mutex);
  if (error.ok())
    error = std::move(status);
}

void Stream::runFirst(std::unique_lock<std::mutex> &lock) {
  Item item = std::move(items.front());
  items.pop_front();
  running = true;
  lock.unlock();
  if (delay.count() > 0)
    std::this_thread::sleep_for(delay);
  Status status = item.work();
  lock.lock();
  running = false;
  if (!status.ok() && error.ok()) {
    error = std::move(status);
    std::erase_if(items, [](const Item &later) { return !later.anyway; });
  }
}

void Stream::main() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return stopping || !items.empty(); });
    if (stopping)
      return;
    runFirst(lock);
    if (items.empty())
      changed.notify_all();
  }
}

Status Stream::synchronize() {
  std::unique_lock lock(mutex);
  if (deferred)
    while (!items.empty())
      runFirst(lock);
  else
    changed.wait(lock, [&] { return items.empty() && !running; });
  return takeError();
}

} // namespace sinter::rt::emu
