#include "monitor.h"

#include "block_runner.h"

#include "sinter/base/text.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace sinter::rt::emu {

std::string describeAccess(const sinter_emu_site &site) {
  const char *verb = !(site.flags & SINTER_EMU_WRITES)  ? "reads "
                     : !(site.flags & SINTER_EMU_READS) ? "writes "
                                                        : "updates ";
  return concat(verb, site.bytes, site.bytes == 1 ? " byte" : " bytes");
}

/// The index of the last allocation that starts at or before `address`; -1: none.
static int64_t indexBefore(const Allocations &allocations, uint64_t address) {
  auto next =
      std::upper_bound(allocations.begin(), allocations.end(), address,
                       [](uint64_t at, const Allocation &entry) { return at < entry.address; });
  return next - allocations.begin() - 1;
}

/// `buffer`: what is described to be there; null: nothing.
static ParamRange rangeOf(const Allocations &allocations, uint64_t address,
                          const DescribedBuffer *buffer) {
  ParamRange range;
  int64_t index = indexBefore(allocations, address);
  if (index < 0 || address - allocations[index].address > allocations[index].bytes)
    return {address, 0, address ? "no memory of the device" : "a null pointer"};
  const Allocation &allocation = allocations[index];
  range = {allocation.address, allocation.bytes, allocation.owner, true, uint32_t(index)};
  if (buffer && buffer->address == address) {
    range.address = address;
    range.bytes =
        std::min<uint64_t>(buffer->bytes, allocation.address + allocation.bytes - address);
    range.name = buffer->name;
    range.written = buffer->written;
  }
  return range;
}

Monitoring::Monitoring(const Launch &launch, std::span<const DescribedBuffer> buffers, bool check,
                       bool count, uint64_t keptBytes)
    : check(check) {
  const sinter_emu_kernel &kernel = launch.kernel;
  for (uint32_t i = 0; i < kernel.param_count; ++i) {
    uint64_t address = 0;
    if (kernel.params[i].is_pointer)
      std::memcpy(&address, launch.params[i], sizeof(address));
    const DescribedBuffer *buffer = i < buffers.size() ? &buffers[i] : nullptr;
    params.push_back(kernel.params[i].is_pointer ? rangeOf(*launch.allocations, address, buffer)
                                                 : ParamRange());
  }
  for (uint32_t i = 0; i < kernel.site_count; ++i) {
    const sinter_emu_site &site = kernel.sites[i];
    if (site.bytes == 0)
      continue;
    mostBytes = std::max<uint32_t>(mostBytes, site.bytes);
    uint32_t common = std::gcd(uint32_t(site.bytes), uint32_t(site.align));
    if (site.space != SINTER_EMU_SPACE_SHARED)
      globalGranule = std::gcd(globalGranule, common);
    if (site.space == SINTER_EMU_SPACE_SHARED || site.space == SINTER_EMU_SPACE_GENERIC)
      sharedGranule = std::gcd(sharedGranule, common);
  }
  if (check && canRace(launch))
    blockAccesses.emplace(launch, globalGranule);
  if (count) {
    touched.emplace(*launch.allocations, globalGranule);
    kept.emplace(*launch.allocations, globalGranule, keptBytes);
    for (const ParamRange &range : params)
      kept->params.push_back(range.bytes <= keptBytes);
  }
  findSites(launch);
}

/// Whether a site can write something of `range`.
static bool mayWrite(const sinter_emu_site &site, const std::vector<ParamRange> &params,
                     const ParamRange &range) {
  if (!(site.flags & SINTER_EMU_WRITES) || site.space == SINTER_EMU_SPACE_SHARED)
    return false;
  if (site.param < 0)
    return true;
  const ParamRange &written = params[size_t(site.param)];
  return written.address < range.address + range.bytes &&
         range.address < written.address + written.bytes;
}

void Monitoring::findSites(const Launch &launch) {
  const sinter_emu_kernel &kernel = launch.kernel;
  std::span<const sinter_emu_site> all(kernel.sites, kernel.site_count);
  std::vector<bool> writable;
  for (const ParamRange &range : params)
    writable.push_back(std::any_of(all.begin(), all.end(), [&](const sinter_emu_site &site) {
      return site.bytes != 0 && mayWrite(site, params, range);
    }));
  for (const sinter_emu_site &site : all) {
    SiteFacts &facts = sites.emplace_back();
    facts.shared = site.space == SINTER_EMU_SPACE_SHARED;
    if (site.bytes == 0 || (!facts.shared && site.param < 0))
      continue;
    uint64_t bytes = launch.sharedBytes();
    if (!facts.shared) {
      const ParamRange &range = params[size_t(site.param)];
      if ((site.flags & SINTER_EMU_WRITES) && !range.written)
        continue;
      facts.first = range.address;
      bytes = range.bytes;
      facts.allocation = range.allocation;
      facts.base = bytes ? (*launch.allocations)[range.allocation].address : 0;
      facts.watched = touched || writable[size_t(site.param)];
    }
    facts.known = site.bytes <= bytes;
    facts.reach = bytes - site.bytes;
    facts.misaligned = site.align - 1u;
  }
}

Monitor::Monitor(Launch &launch, Monitoring &shared)
    : launch(launch), shared(shared), sink(shared.mostBytes) {
  if (shared.check)
    checker.emplace(launch, shared.globalGranule, shared.sharedGranule);
  if (shared.touched)
    counter.emplace(launch, *shared.touched, *shared.kept);
}

void Monitor::blockBegins(const void *workersFrame) {
  frame = workersFrame;
  if (checker)
    checker->blockBegins();
}

void Monitor::blockEnds() { warpEnds(); }

void Monitor::warpEnds() {
  if (counter)
    counter->flush();
}

void Monitor::barrier() {
  if (checker)
    checker->barrier();
  if (counter)
    counter->flush();
}

void Monitor::warpBarrier(uint32_t warp, uint32_t lanes) {
  if (checker)
    checker->warpBarrier(warp, lanes);
}

void *Monitor::access(const sinter_emu_thread &thread, uint64_t address, uint32_t site) {
  const SiteFacts &facts = shared.sites[site];
  if (!facts.known || address - facts.first > facts.reach || (address & facts.misaligned))
    return accessClosely(thread, address, site);
  auto *host = facts.shared ? thread.block->shared + address
                            : reinterpret_cast<unsigned char *>(address + launch.delta);
  if (facts.watched)
    watch(thread,
          {uint8_t(facts.shared ? SINTER_EMU_SPACE_SHARED : SINTER_EMU_SPACE_GLOBAL), host,
           address - facts.base, facts.allocation},
          site);
  return host;
}

void Monitor::watch(const sinter_emu_thread &thread, const Place &place, uint32_t site) {
  if (checker)
    checker->access(thread, place, site);
  if (shared.blockAccesses && place.space == SINTER_EMU_SPACE_GLOBAL) {
    const sinter_emu_site &kind = launch.kernel.sites[site];
    shared.blockAccesses->note(kind.flags & SINTER_EMU_WRITES, place.allocation, place.offset,
                               kind.bytes, blockIndex(*thread.block), site);
  }
  if (counter)
    counter->access(thread, place, site);
}

void *Monitor::accessClosely(const sinter_emu_thread &thread, uint64_t address, uint32_t site) {
  const sinter_emu_site &kind = launch.kernel.sites[site];
  Place place;
  bool valid = resolve(thread, address, site, place);
  if (valid && address % kind.align != 0) {
    valid = false;
    launch.findings.add(Fault::Misaligned, thread, site, [&] {
      return concat(describeAccess(kind), " at ", reinterpret_cast<void *>(address),
                    ", which is not a multiple of ", kind.align);
    });
  }
  if (!valid) {
    std::memset(sink.data(), 0xff, sink.size());
    return sink.data();
  }
  if (place.space != SINTER_EMU_SPACE_GENERIC)
    watch(thread, place, site);
  return place.host;
}

bool Monitor::resolve(const sinter_emu_thread &thread, uint64_t address, uint32_t site,
                      Place &place) {
  const sinter_emu_site &kind = launch.kernel.sites[site];
  place.host = static_cast<unsigned char *>(hostAddress(*thread.block, kind.space, address));
  bool generic = kind.space == SINTER_EMU_SPACE_GENERIC;
  if (generic && address - SINTER_EMU_SHARED < uint64_t(1) << 32)
    address -= SINTER_EMU_SHARED;
  else if (generic && isLocal(thread, address))
    return true;
  else if (kind.space != SINTER_EMU_SPACE_SHARED)
    return resolveGlobal(thread, address, site, place);
  place.space = SINTER_EMU_SPACE_SHARED;
  place.offset = address;
  uint64_t bytes = launch.sharedBytes();
  if (address <= bytes && kind.bytes <= bytes - address)
    return true;
  launch.findings.add(Fault::OutOfBounds, thread, site, [&] {
    return concat(describeAccess(kind), " at ", int64_t(address),
                  " of shared memory, of which the block has ", bytes, " bytes");
  });
  return false;
}

bool Monitor::resolveGlobal(const sinter_emu_thread &thread, uint64_t address, uint32_t site,
                            Place &place) {
  const sinter_emu_site &kind = launch.kernel.sites[site];
  auto inside = [&](uint64_t first, uint64_t bytes) {
    return address >= first && address - first <= bytes && kind.bytes <= bytes - (address - first);
  };
  const Allocations &allocations = *launch.allocations;
  place.space = SINTER_EMU_SPACE_GLOBAL;
  if (kind.param >= 0) {
    const ParamRange &range = shared.params[size_t(kind.param)];
    if (!inside(range.address, range.bytes)) {
      reportOutside(thread, address, site, range);
      return false;
    }
    if ((kind.flags & SINTER_EMU_WRITES) && !range.written)
      launch.findings.add(Fault::ReadOnly, thread, site, [&] {
        return concat(describeAccess(kind), " at ", address - range.address, " of '", range.name,
                      "', which it may only read");
      });
    place.allocation = range.allocation;
    place.offset = address - allocations[range.allocation].address;
    return true;
  }
  if (last >= int64_t(allocations.size()) || last < 0 ||
      !inside(allocations[last].address, allocations[last].bytes))
    last = indexBefore(allocations, address);
  if (last >= 0 && inside(allocations[last].address, allocations[last].bytes)) {
    place.allocation = uint32_t(last);
    place.offset = address - allocations[last].address;
    return true;
  }
  if (isVariable(reinterpret_cast<uint64_t>(place.host), kind.bytes)) {
    place.space = SINTER_EMU_SPACE_GENERIC;
    return true;
  }
  reportNowhere(thread, address, site);
  return false;
}

bool Monitor::isVariable(uint64_t host, uint32_t bytes) const {
  for (uint32_t i = 0; i < launch.kernel.variable_count; ++i) {
    const sinter_emu_variable &variable = launch.kernel.variables[i];
    uint64_t first = reinterpret_cast<uint64_t>(variable.data);
    if (host >= first && host - first <= variable.bytes && bytes <= variable.bytes - (host - first))
      return true;
  }
  return false;
}

/// Whether a thread's own variables can be there: its stack.
bool Monitor::isLocal(const sinter_emu_thread &thread, uint64_t address) const {
  if (launch.kernel.communicates) {
    const Fiber &fiber = static_cast<const Thread &>(thread);
    return address - reinterpret_cast<uint64_t>(fiber.stack) < fiber.stackBytes;
  }
  uint64_t here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  return address > here && address < reinterpret_cast<uint64_t>(frame);
}

void Monitor::reportOutside(const sinter_emu_thread &thread, uint64_t address, uint32_t site,
                            const ParamRange &range) {
  const sinter_emu_site &kind = launch.kernel.sites[site];
  launch.findings.add(Fault::OutOfBounds, thread, site, [&] {
    std::string where =
        concat(describeAccess(kind), " at ", reinterpret_cast<void *>(address), ", ");
    if (address < range.address)
      return concat(where, range.address - address, " bytes before '", range.name, "' (",
                    range.bytes, " bytes)");
    if (address - range.address < range.bytes)
      return concat(where, "across the end of '", range.name, "' (", range.bytes, " bytes)");
    return concat(where, address - range.address - range.bytes, " bytes past the end of '",
                  range.name, "' (", range.bytes, " bytes)");
  });
}

void Monitor::reportNowhere(const sinter_emu_thread &thread, uint64_t address, uint32_t site) {
  const Allocations &allocations = *launch.allocations;
  const sinter_emu_site &kind = launch.kernel.sites[site];
  if (!isDeviceAddress(reinterpret_cast<void *>(address))) {
    launch.findings.add(Fault::OutOfBounds, thread, site, [&] {
      return concat(describeAccess(kind), " at ", reinterpret_cast<void *>(address),
                    ", which is no address of the device: one of the host's?");
    });
    return;
  }
  int64_t index = indexBefore(allocations, address);
  if (index < 0) {
    reportOutside(thread, address, site, {0, 0, "device memory"});
    return;
  }
  const Allocation &nearest = allocations[index];
  reportOutside(thread, address, site, {nearest.address, nearest.bytes, nearest.owner});
}

} // namespace sinter::rt::emu
