// A ring of pinned host memory through which pageable memory is copied, so that copies run beside
// the caller without one wait a copy: the driver copies pageable memory synchronously, and reads it
// later than a caller expects if it does not.
//
// An upload is copied into the ring at once; a download is copied out of it when its work is done:
// at `finish` after a wait, or when the ring needs the room. One caller at a time.
#pragma once

#include "driver.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace sinter::rt::cuda {

class StagingRing {
public:
  StagingRing(const Driver &driver, CuStream stream, int64_t bytes);
  ~StagingRing();
  StagingRing(const StagingRing &) = delete;

  /// Most bytes of one `acquire`; larger copies go in pieces.
  size_t pieceBytes() const { return capacity / 4; }
  /// Room of `bytes`, waiting for the oldest pieces if there is none. The memory is pinned at the
  /// first call.
  CuResult acquire(size_t bytes, std::byte *&room);
  /// The copy of the piece just acquired is enqueued. `download`: where its bytes go then, or null.
  CuResult commit(void *download);
  /// All enqueued work is done: delivers the downloads.
  void finish();
  /// What has been read goes nowhere; the room stays taken until the work is done.
  void forgetDownloads();
  /// The work failed: forgets all of it.
  void discard();

private:
  struct Piece {
    uint64_t begin, end; ///< positions that only grow; modulo the capacity they are offsets
    std::byte *room;
    size_t bytes;
    void *download;
    CuEvent event;
  };
  CuResult retireOldest();
  void deliver(const Piece &piece);

  const Driver &driver;
  CuStream stream;
  size_t capacity;
  std::byte *memory = nullptr;
  uint64_t head = 0; ///< where the next piece begins
  std::deque<Piece> pieces;
  std::vector<CuEvent> spareEvents;
};

} // namespace sinter::rt::cuda
