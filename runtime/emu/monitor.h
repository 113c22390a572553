// Watches the accesses and meetings of threads for the modes `check` and `count`.
//
// `Monitoring` belongs to a launch and is shared by its workers; each has a `Monitor` of its own,
// which finds out what memory an access is to, refuses what is none, and passes the rest to the
// checker and the counter.
#pragma once

#include "block_accesses.h"
#include "checker.h"
#include "counter.h"
#include "launch.h"
#include "memory.h"

#include "sinter/emu/device.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sinter::rt::emu {

/// A DeviceBuffer that owns its name.
struct DescribedBuffer {
  uint64_t address = 0, bytes = 0;
  std::string name;
  bool written = true;
};

/// What a parameter points to.
struct ParamRange {
  uint64_t address = 0, bytes = 0;
  std::string name; ///< "": not a pointer
  bool written = true;
  uint32_t allocation = 0; ///< its index
};

/// What is known of a site before the launch: where its accesses are right without a closer look.
struct SiteFacts {
  uint64_t first = 0, reach = 0; ///< right from `first` to `first + reach`
  uint64_t misaligned = 0;       ///< bits that no right address has
  uint64_t base = 0;             ///< of the allocation
  uint32_t allocation = 0;
  bool known = false;  ///< false: nothing of the above is
  bool shared = false; ///< in shared memory
  /// Somebody looks at right accesses, too. Nobody looks at reads of what no thread can write.
  bool watched = true;
};

struct Monitoring {
  Monitoring(const Launch &launch, std::span<const DescribedBuffer> buffers, bool check, bool count,
             uint64_t keptBytes);

  std::vector<ParamRange> params;
  std::vector<SiteFacts> sites;
  uint32_t mostBytes = 0;                        ///< of an access
  uint32_t globalGranule = 4, sharedGranule = 4; ///< divide every access
  bool check;
  std::optional<BlockAccesses>
      blockAccesses;              ///< when checking kernels for which it means something
  std::optional<Touched> touched; ///< when counting
  std::optional<Kept> kept;       ///< likewise

private:
  void findSites(const Launch &launch);
};

class Monitor {
public:
  Monitor(Launch &launch, Monitoring &shared);

  /// Threads that do not communicate have their variables below `frame` of the worker's stack.
  void blockBegins(const void *frame);
  void blockEnds();
  void warpEnds(); ///< of threads that do not communicate
  void barrier();  ///< all threads of the block met
  void warpBarrier(uint32_t warp, uint32_t lanes);
  /// The host's address of the bytes; of some that do not matter, if the access is wrong.
  void *access(const sinter_emu_thread &thread, uint64_t address, uint32_t site);

  const Counter *counted() const { return counter ? &*counter : nullptr; }

private:
  void *accessClosely(const sinter_emu_thread &thread, uint64_t address, uint32_t site);
  void watch(const sinter_emu_thread &thread, const Place &place, uint32_t site);
  bool resolve(const sinter_emu_thread &thread, uint64_t address, uint32_t site, Place &place);
  bool resolveGlobal(const sinter_emu_thread &thread, uint64_t address, uint32_t site,
                     Place &place);
  bool isVariable(uint64_t host, uint32_t bytes) const;
  bool isLocal(const sinter_emu_thread &thread, uint64_t address) const;
  void reportOutside(const sinter_emu_thread &thread, uint64_t address, uint32_t site,
                     const ParamRange &range);
  void reportNowhere(const sinter_emu_thread &thread, uint64_t address, uint32_t site);

  Launch &launch;
  Monitoring &shared;
  const void *frame = nullptr;
  int64_t last = -1; ///< the index of the allocation of the access before
  std::optional<Checker> checker;
  std::optional<Counter> counter;
  std::vector<unsigned char> sink;
};

/// "reads 4 bytes", "writes 16 bytes", "updates 4 bytes".
std::string describeAccess(const sinter_emu_site &site);

} // namespace sinter::rt::emu
