#include "core_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<int64_t> count{0};

int64_t sinter::rt::test::allocations() { return count; }

void *operator new(size_t size) {
  ++count;
  if (void *memory = std::malloc(size))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
