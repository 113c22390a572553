// A full disk for one test's thread, on any file system and without root.
#pragma once

#include <csignal>

#include <sys/resource.h>

namespace sinter::test {

/// Writing fails with EFBIG beyond `bytes`, as it does on a full disk.
class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old);
    rlimit limit{bytes, old.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &old); }

private:
  rlimit old;
};

} // namespace sinter::test
