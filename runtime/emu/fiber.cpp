#include "fiber.h"

#include <boost/context/detail/fcontext.hpp>

#include <algorithm>
#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SINTER_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define SINTER_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SINTER_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define SINTER_TSAN 1
#endif
#ifdef SINTER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef SINTER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace sinter::rt::emu {

using namespace boost::context::detail;

static constexpr size_t kPage = 4096;
static constexpr size_t kColours = 16, kColourBytes = kPage / kColours;

/// Notes where the one that jumped goes on, for whoever switches back to it.
static void arrive(transfer_t transfer, [[maybe_unused]] void *savedFrames) {
  auto *from = static_cast<Fiber *>(transfer.data);
  from->context = transfer.fctx;
#ifdef SINTER_ASAN
  const void *stack = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(savedFrames, &stack, &bytes);
  if (!from->stack) {
    from->stack = const_cast<void *>(stack);
    from->stackBytes = bytes;
  }
#endif
}

static void enter(transfer_t transfer) {
  Fiber &self = *static_cast<Fiber *>(transfer.data)->switchedTo;
  arrive(transfer, nullptr);
  self.entry(self);
}

void startFiber(Fiber &fiber, FiberEntry entry) {
  char *top = static_cast<char *>(fiber.stack) + fiber.stackBytes;
  fiber.context = make_fcontext(top, fiber.stackBytes, enter);
  fiber.entry = entry;
}

void switchFiber(Fiber &from, Fiber &to, [[maybe_unused]] bool last) {
  from.switchedTo = &to;
  void *frames = nullptr;
#ifdef SINTER_ASAN
  __sanitizer_start_switch_fiber(last ? nullptr : &frames, to.stack, to.stackBytes);
#endif
#ifdef SINTER_TSAN
  __tsan_switch_to_fiber(to.sanitizer, 0);
#endif
  transfer_t transfer = jump_fcontext(to.context, &from);
  arrive(transfer, frames);
}

void adoptHost([[maybe_unused]] Fiber &fiber) {
#ifdef SINTER_TSAN
  fiber.sanitizer = __tsan_get_current_fiber();
#endif
}

FiberStacks::~FiberStacks() { release(); }

void FiberStacks::release() {
  if (first)
    munmap(first, count * stride());
  first = nullptr;
#ifdef SINTER_TSAN
  for (void *sanitizer : sanitizers)
    if (sanitizer)
      __tsan_destroy_fiber(sanitizer);
#endif
  sanitizers.clear();
}

size_t FiberStacks::stride() const { return stackBytes + kPage; }

bool FiberStacks::provide(size_t wanted, size_t bytes) {
  bytes = (bytes + 2 * kPage - 1) & ~(kPage - 1);
  if (wanted <= count && bytes <= stackBytes)
    return true;
  release();
  count = std::max(wanted, count);
  stackBytes = std::max(bytes, stackBytes);
  void *range = mmap(nullptr, count * stride(), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    count = stackBytes = 0;
    return false;
  }
  first = static_cast<char *>(range);
  for (size_t i = 0; i < count; ++i)
    mprotect(first + i * stride(), kPage, PROT_NONE);
  return true;
}

void FiberStacks::assign(Fiber &fiber, size_t index) {
  fiber.stack = first + index * stride() + kPage;
  // Tops at equal places of their pages would compete for the same few lines of the cache.
  fiber.stackBytes = stackBytes - index % kColours * kColourBytes;
#ifdef SINTER_ASAN
  // Frames of an abandoned block never returned.
  __asan_unpoison_memory_region(fiber.stack, fiber.stackBytes);
#endif
#ifdef SINTER_TSAN
  sanitizers.resize(count);
  if (!sanitizers[index])
    sanitizers[index] = __tsan_create_fiber(0);
  fiber.sanitizer = sanitizers[index];
#endif
}

} // namespace sinter::rt::emu
