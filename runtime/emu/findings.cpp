#include "findings.h"

#include "launch.h"

#include "sinter/base/text.h"

#include <tuple>

namespace sinter::rt::emu {

static constexpr size_t kMostLines = 16;

static const char *nameOf(Fault fault) {
  switch (fault) {
  case Fault::Trap:
    return "trap";
  case Fault::DivergentBarrier:
    return "divergent barrier";
  case Fault::DivergentWarp:
    return "divergent warp";
  case Fault::OutOfBounds:
    return "out of bounds";
  case Fault::Misaligned:
    return "misaligned access";
  case Fault::Uninitialised:
    return "uninitialised read";
  case Fault::Race:
    return "race";
  case Fault::BlockRace:
    return "race between blocks";
  case Fault::ReadOnly:
    return "write to an input";
  }
  return "";
}

std::string placeOf(const sinter_emu_kernel &kernel, uint32_t site) {
  const sinter_emu_site &place = kernel.sites[site];
  return place.line ? concat(place.file, ":", place.line) : "?";
}

std::string coordinates(uint64_t index, const uint32_t (&extent)[3]) {
  return concat("(", index % extent[0], ", ", index / extent[0] % extent[1], ", ",
                index / extent[0] / extent[1], ")");
}

Findings::Findings(const sinter_emu_kernel &kernel, const LaunchShape &shape) : kernel(kernel) {
  for (int axis = 0; axis < 3; ++axis) {
    grid[axis] = shape.grid[axis];
    block[axis] = shape.block[axis];
  }
}

void Findings::add(Fault fault, const sinter_emu_thread &thread, uint32_t site,
                   FunctionRef<std::string()> text) {
  uint64_t index = blockIndex(*thread.block);
  std::lock_guard lock(mutex);
  Entry &entry = entries[{fault, site}];
  if (entry.count++ == 0 || std::tie(index, thread.index) < std::tie(entry.block, entry.thread)) {
    entry.block = index;
    entry.thread = thread.index;
    entry.text = text();
  }
}

void Findings::add(Fault fault, uint32_t site, FunctionRef<std::string()> text) {
  std::lock_guard lock(mutex);
  Entry &entry = entries[{fault, site}];
  entry.anyThread = true;
  if (entry.count++ == 0)
    entry.text = text();
}

Status Findings::status(const WorkOrigin &origin) const {
  std::lock_guard lock(mutex);
  if (entries.empty())
    return {};
  std::string lines;
  size_t written = 0;
  for (const auto &[key, entry] : entries) {
    if (written++ == kMostLines)
      break;
    lines +=
        concat("\n  ", nameOf(key.first), " at ", placeOf(kernel, key.second), ": ", entry.text);
    if (!entry.anyThread)
      lines += concat(", thread ", coordinates(entry.thread, block), " of block ",
                      coordinates(entry.block, grid));
    if (entry.count > 1)
      lines += concat(" and ", entry.count - 1, entry.count > 2 ? " others" : " other");
  }
  if (entries.size() > kMostLines)
    lines += concat("\n  and ", entries.size() - kMostLines, " more places");
  return makeError(Code::Internal, "kernel '", kernel.name, "' of '", origin.name, "' (",
                   origin.location, ") is wrong on the emulated device:", lines);
}

} // namespace sinter::rt::emu
