#include "core_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<int64_t> count{0};

int64_t sinter::rt::test::allocations() { return count; }

void *operator new(size_t size, const std::nothrow_t &) noexcept {
  ++count;
  return std::malloc(size);
}
void *operator new(size_t size) {
  if (void *memory = operator new(size, std::nothrow))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete(void *memory, const std::nothrow_t &) noexcept { std::free(memory); }
