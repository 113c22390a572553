#include "background.h"

#include "sinter/base/text.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <system_error>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace sinter::rt::data {

static constexpr int kNice = 5;

StatusOr<std::thread> startBackground(std::function<void()> body) {
  sigset_t all, old;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &old); // inherited by the new thread
  Status error;
  std::thread thread;
  try {
    thread = std::thread([body = std::move(body)] {
      // Linux counts niceness by thread; a refusal does no harm.
      auto self = static_cast<id_t>(::gettid());
      (void)::setpriority(PRIO_PROCESS, self, ::getpriority(PRIO_PROCESS, self) + kNice);
      body();
    });
  } catch (const std::system_error &e) {
    error = makeError(Code::OutOfMemory, "cannot start a thread: ", e.what(),
                      "; raise the limit (ulimit -u) or ask for fewer workers");
  }
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  if (!error.ok())
    return error;
  return thread;
}

int64_t availableMemory() {
  int64_t bytes = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  for (const char *path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    int64_t limit = 0;
    if (std::ifstream(path) >> limit && limit > 0) // "max" is no number
      bytes = std::min(bytes, limit);
  }
  return bytes;
}

} // namespace sinter::rt::data
