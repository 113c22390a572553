#include "staging.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace sinter::rt::cuda {

namespace {
constexpr size_t alignment = 256;
}

StagingRing::StagingRing(const Driver &driver, CuStream stream, int64_t bytes)
    : driver(driver), stream(stream),
      capacity(std::max<size_t>(size_t(bytes) / (4 * alignment), 1) * 4 * alignment) {}

StagingRing::~StagingRing() {
  discard();
  for (CuEvent event : spareEvents)
    driver.cuEventDestroy(event);
  if (memory)
    driver.cuMemFreeHost(memory);
}

CuResult StagingRing::acquire(size_t bytes, std::byte *&room) {
  assert(bytes > 0 && bytes <= pieceBytes());
  if (!memory) {
    void *pinned = nullptr;
    CuResult result = driver.cuMemHostAlloc(&pinned, capacity, kMemHostAllocPortable);
    if (result != CuResult::Success)
      return result;
    memory = static_cast<std::byte *>(pinned);
  }
  size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  size_t offset = head % capacity;
  size_t skipped = offset + rounded > capacity ? capacity - offset : 0; // a piece does not wrap
  uint64_t end = head + skipped + rounded;
  while (!pieces.empty() && end - pieces.front().begin > capacity)
    if (CuResult result = retireOldest(); result != CuResult::Success)
      return result;
  CuEvent event = nullptr;
  if (!spareEvents.empty()) {
    event = spareEvents.back();
    spareEvents.pop_back();
  } else if (CuResult result = driver.cuEventCreate(&event, kEventDisableTiming);
             result != CuResult::Success) {
    return result;
  }
  room = memory + (head + skipped) % capacity;
  pieces.push_back({head, end, room, bytes, nullptr, event});
  head = end;
  return CuResult::Success;
}

CuResult StagingRing::commit(void *download) {
  pieces.back().download = download;
  return driver.cuEventRecord(pieces.back().event, stream);
}

CuResult StagingRing::retireOldest() {
  CuResult result = driver.cuEventSynchronize(pieces.front().event);
  if (result == CuResult::Success) {
    deliver(pieces.front());
    pieces.pop_front();
  }
  return result;
}

void StagingRing::deliver(const Piece &piece) {
  if (piece.download)
    std::memcpy(piece.download, piece.room, piece.bytes);
  spareEvents.push_back(piece.event);
}

void StagingRing::finish() {
  for (const Piece &piece : pieces)
    deliver(piece);
  pieces.clear();
}

void StagingRing::forgetDownloads() {
  for (Piece &piece : pieces)
    piece.download = nullptr;
}

void StagingRing::discard() {
  forgetDownloads();
  finish();
}

} // namespace sinter::rt::cuda
