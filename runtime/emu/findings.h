// What a launch did wrong, collected from all workers, and the error made of it.
//
// For each place and kind the first thread in order of blocks is kept, so that the report does not
// depend on who came first. Any thread may add.
#pragma once

#include "sinter/abi/emu.h"
#include "sinter/base/function_ref.h"
#include "sinter/base/status.h"
#include "sinter/core/device.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace sinter::rt::emu {

enum class Fault : uint8_t {
  Trap,
  DivergentBarrier,
  DivergentWarp,
  OutOfBounds,
  Misaligned,
  Uninitialised,
  Race,
  BlockRace,
  ReadOnly
};

/// "file:line" of a site, "?" if it has none.
std::string placeOf(const sinter_emu_kernel &kernel, uint32_t site);
/// "(x, y, z)" of a position counted x fastest.
std::string coordinates(uint64_t index, const uint32_t (&extent)[3]);

class Findings {
public:
  Findings(const sinter_emu_kernel &kernel, const LaunchShape &shape);

  /// `text` says what the thread did; it is asked for only if it is kept.
  void add(Fault fault, const sinter_emu_thread &thread, uint32_t site,
           FunctionRef<std::string()> text);
  /// About no thread in particular; the first of a place is kept.
  void add(Fault fault, uint32_t site, FunctionRef<std::string()> text);
  /// Ok if nothing was added. `origin` is the launch's.
  Status status(const WorkOrigin &origin) const;

private:
  struct Entry {
    uint64_t block = 0, count = 0;
    uint32_t thread = 0;
    bool anyThread = false;
    std::string text;
  };
  const sinter_emu_kernel &kernel;
  uint32_t grid[3], block[3];
  mutable std::mutex mutex;
  std::map<std::pair<Fault, uint32_t>, Entry> entries;
};

} // namespace sinter::rt::emu
