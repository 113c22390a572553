// The last works enqueued on a stream, to be named when one of them fails. Copies the names into
// strings it keeps, which costs no allocation once they are long enough. One caller at a time.
#pragma once

#include "sinter/core/device.h"

#include <array>
#include <cstddef>
#include <string>

namespace sinter::rt::cuda {

class WorkLog {
public:
  static constexpr size_t kShown = 8;

  void add(const WorkOrigin &origin) {
    Entry &entry = last[count++ % kShown];
    entry.name = origin.name;
    entry.location = origin.location;
  }
  void clear() { count = 0; }
  size_t size() const { return count; }
  /// "'gelu' at train.cc:31, 'sum' at train.cc:30", newest first.
  std::string names() const;

private:
  struct Entry {
    std::string name, location;
  };
  std::array<Entry, kShown> last;
  size_t count = 0;
};

/// "'gelu' at train.cc:31"
std::string describe(const WorkOrigin &origin);

} // namespace sinter::rt::cuda
