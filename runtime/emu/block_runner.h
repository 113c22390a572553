// Runs the threads of one block after the other on one worker.
//
// Threads of kernels that do not communicate are a loop. Others are fibers: one runs until it has
// to wait at a barrier or for its warp, then the next that is ready does. The order is fixed, so
// equal launches behave equally.
#pragma once

#include "fiber.h"
#include "launch.h"

#include "sinter/abi/emu.h"

#include <array>
#include <memory>
#include <vector>

namespace sinter::rt::emu {

class BlockRunner;
class Monitor;

/// What the lanes of a warp meet for.
enum class WarpOp : uint8_t { Barrier, Shuffle, Ballot, Reduce, Match };

struct Operands {
  WarpOp op = WarpOp::Barrier;
  uint32_t mode = 0; ///< of a shuffle, the operation of a reduction
  uint32_t mask = 0;
  uint64_t value = 0;
  uint32_t lane = 0, clamp = 0; ///< a shuffle's
};

struct Thread : sinter_emu_thread, Fiber {
  Thread *next = nullptr; ///< in the list it is in
  enum class State : uint8_t { Ready, AtBarrier, InWarp, Done } state = State::Ready;
  uint32_t site = 0; ///< where it waits
  Operands operands;
  uint64_t result = 0; ///< of what it waited for
};

struct Block : sinter_emu_block {
  BlockRunner *runner;
};

class BlockRunner {
public:
  BlockRunner() = default;
  BlockRunner(const BlockRunner &) = delete;
  BlockRunner &operator=(const BlockRunner &) = delete;

  /// Makes ready for blocks of `launch`; false if memory for their stacks is missing. `monitor`,
  /// if any, is this worker's.
  bool begin(Launch &launch, Monitor *monitor);
  /// Runs the block of this index, x fastest.
  void run(uint64_t index);

  /// How often each basic block ran since `begin`; of instrumented kernels.
  const std::vector<uint64_t> &blockCounts() const { return counts; }

  // -- What services of threads do ---------------------------------------------------------------
  uint32_t barrier(Thread &self, uint32_t id, uint32_t threads, bool value, bool wait,
                   uint32_t site);
  uint64_t meet(Thread &self, const Operands &operands, uint32_t site);
  void trap(const sinter_emu_thread &self, const char *reason, uint32_t site);
  void *access(const sinter_emu_thread &self, uint64_t address, uint32_t site);

private:
  struct List {
    Thread *first = nullptr, *last = nullptr;
    void append(Thread &thread);
    Thread *takeFirst();
    void prepend(List list);
  };
  struct Barrier {
    uint32_t arrived = 0, expected = 0, votes = 0, site = 0;
    List waiting;
  };
  /// Lanes of one warp that are on their way to the same operation.
  struct Meeting {
    uint32_t mask, arrived;
    WarpOp op;
    uint32_t mode, site;
  };
  struct Warp {
    uint32_t live = 0; ///< lanes
    std::vector<Meeting> meetings;
  };

  void runLoop();
  void runFibers();
  static void fiberMain(Fiber &self);
  void finish(Thread &self);
  void suspend(Thread &self, bool last = false);
  void releaseBarrier(Barrier &barrier);
  void complete(uint32_t warp, Meeting meeting, Thread *self);
  uint64_t shuffled(const Thread &self, uint32_t warp, uint32_t arrived);
  void reportStuck();
  std::string whereIs(const Thread &thread) const;

  Launch *launch = nullptr;
  Monitor *monitor = nullptr;
  Block block{};
  std::vector<unsigned char> sharedStorage;
  std::vector<uint64_t> counts;
  FiberStacks stacks;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::array<Barrier, 16> barriers;
  Fiber host; ///< the worker itself
  List ready;
  uint32_t alive = 0, waitingAtBarriers = 0;
};

} // namespace sinter::rt::emu
