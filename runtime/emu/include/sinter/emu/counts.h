// What kernels moved and did, counted exactly, and the time a card's data sheet allows for it.
// Plain values.
#pragma once

#include "sinter/abi/emu.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sinter::rt {

/// Accesses of one direction. A request is what the lanes of a warp ask for with one instruction.
struct MemoryCounts {
  uint64_t requests = 0;
  uint64_t sectors = 0;         ///< of 32 bytes, distinct within a request, summed
  uint64_t fetchedSectors = 0;  ///< without what stays in the cache, see EmuOptions::keptBytes
  uint64_t requestedBytes = 0;  ///< what lanes asked for, summed
  uint64_t distinctBytes = 0;   ///< bytes touched, each once a launch
  uint64_t distinctSectors = 0; ///< sectors touched, each once a launch
};

struct KernelCounts {
  std::string kernel;
  uint64_t launches = 0, blocks = 0, threads = 0;
  MemoryCounts read, written; ///< of global memory; atomics are both
  uint64_t sharedRequests = 0;
  uint64_t bankConflicts = 0; ///< passes over shared memory beyond one a request and 128 bytes
  std::array<uint64_t, SINTER_EMU_CLASSES> instructions = {}; ///< by class, of threads

  uint64_t bytesMoved() const { return 32 * (read.sectors + written.sectors); }
  /// Between the card's memory and its cache.
  uint64_t bytesFetched() const { return 32 * (read.fetchedSectors + written.fetchedSectors); }
  /// Requested bytes over moved ones; 1 if none moved.
  double sectorEfficiency() const;
  /// Fetched bytes over the distinct ones; 1 if none moved.
  double bytesOverMinimum() const;
};

/// A card as its data sheet has it.
struct Card {
  std::string_view name;
  double memoryBandwidth; ///< bytes a second
  double cacheBandwidth;  ///< of the L2
  uint64_t cacheBytes;    ///< of the L2
  int multiprocessors;
  double clock; ///< Hz
  /// Lanes a multiprocessor has for a class of instructions, each one a clock.
  std::array<double, SINTER_EMU_CLASSES> lanes;
  double launchSeconds; ///< what a launch takes beside its work
};

/// Null for an unknown name.
const Card *findCard(std::string_view name);
std::span<const Card> allCards();

struct Roofline {
  double memorySeconds = 0, cacheSeconds = 0, computeSeconds = 0;
  double seconds = 0; ///< the longest of them and the launches
};
/// The least time the card can take for what was counted.
Roofline roofline(const KernelCounts &counts, const Card &card);

/// A table of the kernels with their predicted times, a line each.
std::string formatCounts(std::span<const KernelCounts> counts, const Card &card);

} // namespace sinter::rt
