// The last works enqueued on a stream, to be named when one of them fails. Keeps views: a
// WorkOrigin lives until its work is done. One caller at a time.
#pragma once

#include "sinter/core/device.h"

#include <array>
#include <cstddef>
#include <string>

namespace sinter::rt::cuda {

class WorkLog {
public:
  static constexpr size_t kShown = 8;

  void add(const WorkOrigin &origin) { last[count++ % kShown] = origin; }
  void clear() { count = 0; }
  size_t size() const { return count; }
  /// "'gelu' at train.cc:31, 'sum' at train.cc:30", newest first.
  std::string names() const;

private:
  std::array<WorkOrigin, kShown> last;
  size_t count = 0;
};

/// "'gelu' at train.cc:31"
std::string describe(const WorkOrigin &origin);

} // namespace sinter::rt::cuda
