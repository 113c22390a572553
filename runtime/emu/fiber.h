// Stacks for the threads of a block, and switching between them. Used by one host thread at a time;
// sanitizers are told of every switch.
#pragma once

#include <cstddef>
#include <vector>

namespace sinter::rt::emu {

struct Fiber;
using FiberEntry = void (*)(Fiber &self);

/// Something to go on with: a thread of a block on a stack of its own, or the caller of them all
/// on the host's.
struct Fiber {
  void *context = nullptr; ///< where it goes on; valid while it does not run
  void *stack = nullptr;   ///< its lowest address; null: not known yet
  size_t stackBytes = 0;
  FiberEntry entry = nullptr;
  Fiber *switchedTo = nullptr; ///< whom it switched to last
  void *sanitizer = nullptr;   ///< ThreadSanitizer's idea of it
};

/// Makes `fiber`, which has a stack, call `entry` when it is switched to. `entry` never returns.
void startFiber(Fiber &fiber, FiberEntry entry);
/// Returns when somebody switches back to `from`; never, if `last`.
void switchFiber(Fiber &from, Fiber &to, bool last = false);
/// Names the running host thread's own stack.
void adoptHost(Fiber &fiber);

class FiberStacks {
public:
  FiberStacks() = default;
  ~FiberStacks();
  FiberStacks(const FiberStacks &) = delete;
  FiberStacks &operator=(const FiberStacks &) = delete;

  /// Makes room for `count` stacks of at least `bytes` each, which fault behind their ends. False
  /// if the system has no more memory. Fibers on older stacks are lost.
  bool provide(size_t count, size_t bytes);
  /// Gives `fiber` the stack of this number, as good as new.
  void assign(Fiber &fiber, size_t index);

private:
  void release();
  size_t stride() const;

  char *first = nullptr;
  size_t count = 0, stackBytes = 0;
  std::vector<void *> sanitizers; ///< ThreadSanitizer's, one a stack
};

} // namespace sinter::rt::emu
