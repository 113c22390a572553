// Shared libraries opened at run time, and where CUDA's may lie. A library stays loaded until the
// process ends; the handle is a plain value. Any thread.
#pragma once

#include "sinter/base/status.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::rt::cuda {

class SharedLibrary {
public:
  /// The first of `candidates` that loads. NotFound names `what` and each place that was tried.
  static StatusOr<SharedLibrary> open(std::string_view what,
                                      std::span<const std::string> candidates);

  /// Null if there is none.
  void *symbol(const char *name) const;
  const std::string &path() const { return file; }

private:
  SharedLibrary(void *handle, std::string file) : handle(handle), file(std::move(file)) {}

  void *handle;
  std::string file;
};

/// Where a library of the CUDA toolkit may lie, in the order to try, for each of `names` (newest
/// first, "libcublasLt.so.13"): the colon-separated folders of `searchPath` (libraries directly in
/// them, in their lib or lib64, or in a Python wheel's nvidia/*/lib beneath), the loader's own
/// path, the toolkit at $CUDA_HOME, $CUDA_PATH and /usr/local/cuda, and the wheels of $VIRTUAL_ENV.
/// Of the files, only those that exist are listed.
std::vector<std::string> libraryCandidates(std::span<const std::string> names,
                                           std::string_view searchPath);

} // namespace sinter::rt::cuda
