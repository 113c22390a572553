#include "work_log.h"

#include "sinter/base/text.h"

#include <algorithm>

namespace sinter::rt::cuda {

std::string WorkLog::names() const {
  std::string text;
  for (size_t i = 0; i < std::min(count, kShown); ++i) {
    const Entry &entry = last[(count - 1 - i) % kShown];
    text += (i ? ", " : "") + describe({entry.name, entry.location});
  }
  return text;
}

std::string describe(const WorkOrigin &origin) {
  if (origin.location.empty())
    return concat("'", origin.name, "'");
  return concat("'", origin.name, "' at ", origin.location);
}

} // namespace sinter::rt::cuda
