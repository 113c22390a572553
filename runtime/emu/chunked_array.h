// A large array of zeros whose parts come into being when they are first touched. Any thread may
// touch; Cell is made of atomics and starts as zeros.
#pragma once

#include <atomic>
#include <cstdint>

namespace sinter::rt::emu {

template <class Cell> class ChunkedArray {
public:
  ChunkedArray() = default;
  ChunkedArray(const ChunkedArray &) = delete;
  ChunkedArray &operator=(const ChunkedArray &) = delete;
  ~ChunkedArray() {
    std::atomic<Cell *> *table = chunks.load();
    for (uint64_t i = 0; table && i < chunkCount; ++i)
      delete[] table[i].load();
    delete[] table;
  }

  /// Before anything is touched.
  void setSize(uint64_t cells) { chunkCount = (cells + kChunk - 1) / kChunk; }

  Cell &operator[](uint64_t index) {
    std::atomic<Cell *> *table = chunks.load(std::memory_order_acquire);
    if (!table)
      table = publish(chunks, chunkCount);
    Cell *cells = table[index / kChunk].load(std::memory_order_acquire);
    if (!cells)
      cells = publish(table[index / kChunk], kChunk);
    return cells[index % kChunk];
  }

  /// The cells of chunks that were touched, in order.
  template <class Visit> void forEach(Visit &&visit) const {
    std::atomic<Cell *> *table = chunks.load(std::memory_order_acquire);
    for (uint64_t chunk = 0; table && chunk < chunkCount; ++chunk)
      if (Cell *cells = table[chunk].load(std::memory_order_acquire))
        for (uint64_t i = 0; i < kChunk; ++i)
          visit(chunk * kChunk + i, cells[i]);
  }

private:
  static constexpr uint64_t kChunk = 4096;

  /// Of two threads that make one at once, one's goes.
  template <class T> static T *publish(std::atomic<T *> &place, uint64_t count) {
    T *fresh = new T[count]();
    T *current = nullptr;
    if (place.compare_exchange_strong(current, fresh, std::memory_order_acq_rel))
      return fresh;
    delete[] fresh;
    return current;
  }

  std::atomic<std::atomic<Cell *> *> chunks{nullptr};
  uint64_t chunkCount = 0;
};

} // namespace sinter::rt::emu
