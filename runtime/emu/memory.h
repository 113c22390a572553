// The memory of an emulated device: a reserved range of the host's address space, known to the
// outside by addresses that no host mapping can have.
//
// Each allocation has pages of its own and a page that faults behind it. The host's thread calls
// everything; the device's thread `release` and `snapshot`. Guarded by a mutex.
#pragma once

#include "sinter/abi/emu.h"
#include "sinter/base/status.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sinter::rt::emu {

struct Allocation {
  uint64_t address = 0, bytes = 0;
  std::string owner;
  bool retired = false; ///< freed, but work that came before is not done
};

/// In order of addresses.
using Allocations = std::vector<Allocation>;

class DeviceMemory {
public:
  /// `limit` is on the bytes that allocations have together.
  static StatusOr<std::unique_ptr<DeviceMemory>> reserve(int64_t limit);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;

  StatusOr<uint64_t> allocate(uint64_t bytes, std::string owner);
  /// From now on nobody may hand the allocation in; false if there is none at `address`.
  bool retire(uint64_t address);
  void release(uint64_t address);
  bool hasRetired() const;

  /// An error unless the bytes lie in one live allocation. `what` is what the caller calls them.
  Status check(uint64_t address, uint64_t bytes, const std::string &what) const;

  std::shared_ptr<const Allocations> snapshot();
  std::byte *host(uint64_t address) const { return first + (address - SINTER_EMU_GLOBAL); }
  /// What to add to a device address to get the host's.
  uint64_t delta() const { return reinterpret_cast<uint64_t>(first) - SINTER_EMU_GLOBAL; }
  int64_t bytesInUse() const;

private:
  DeviceMemory(std::byte *first, uint64_t size, uint64_t limit);
  Status exhausted(uint64_t bytes, const std::string &owner, const char *reason) const;
  const Allocation *containing(uint64_t address) const;

  std::byte *const first;
  const uint64_t size, limit;
  mutable std::mutex mutex;
  std::map<uint64_t, Allocation> live; ///< by address
  std::map<uint64_t, uint64_t> holes;  ///< offset to size, of pages
  uint64_t used = 0;
  std::shared_ptr<const Allocations> latest; ///< null: out of date
};

/// Whether `pointer` is a device address (of any device).
bool isDeviceAddress(const void *pointer);

} // namespace sinter::rt::emu
