// A directory of checkpoints, each one file: step-<n>.safetensors.
//
// A checkpoint is committed as a whole (written beside, synced, renamed), so a
// process killed at any moment leaves the last whole one. Checksums over names,
// shapes, texts and contents stand in the file's metadata; loading checks them
// and falls back to the checkpoint before. Any safetensors reader reads the files.
//
// One thread at a time may use a CheckpointDirectory; one process at a time may
// save to a directory (a lock is held from the first save on), any number may
// load. A background save works on a copy of its own.
#pragma once

#include "sinter/core/safetensors.h"

#include <memory>

namespace sinter::rt::data {

/// What was loaded; the tensors point into the mapped file.
struct Checkpoint {
  int64_t step = 0;
  std::string path;
  Safetensors content; ///< its metadata holds checksums; the caller's texts are in `texts`
  TextMap texts;
  std::vector<std::string> damaged; ///< why newer files were passed over
};

struct CheckpointOptions {
  int keep = 3; ///< the newest so many stay, 1 at least
};

class CheckpointDirectory {
public:
  /// Creates the directory, not its parents, unless it is there.
  static StatusOr<CheckpointDirectory> open(const std::string &path,
                                            CheckpointOptions options = {});
  CheckpointDirectory(CheckpointDirectory &&) noexcept;
  CheckpointDirectory &operator=(CheckpointDirectory &&) noexcept;
  ~CheckpointDirectory(); ///< waits for a background save; call `wait` to learn how it went

  /// Saves at once; `texts` holds what is no tensor (a loader's state, a user's notes).
  /// On failure all that was there stays. Steps (0 or more) must not go back: a whole
  /// checkpoint of a later step in the directory is an error.
  Status save(int64_t step, const std::vector<TensorView> &tensors, const TextMap &texts = {});
  /// Copies the tensors, then saves in the background. One save at a time: waits
  /// for the one before, and returns its failure, if any, instead of starting another.
  Status saveAsync(int64_t step, const std::vector<TensorView> &tensors, const TextMap &texts = {});
  /// Waits for the background save and returns (once) how it went.
  Status wait();

  /// The newest whole checkpoint. NotFound if there is no file, Corrupt if all are damaged.
  StatusOr<Checkpoint> loadLatest() const;
  StatusOr<Checkpoint> load(int64_t step) const;
  /// Steps for which a file is there, oldest first.
  StatusOr<std::vector<int64_t>> steps() const;

private:
  class Impl;
  explicit CheckpointDirectory(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace sinter::rt::data
