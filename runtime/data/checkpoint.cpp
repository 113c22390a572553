#include "sinter/data/checkpoint.h"

#include "background.h"
#include "sinter/base/text.h"
#include "sinter/core/file.h"
#include "sinter/core/hash.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sinter::rt::data {

namespace fs = std::filesystem;

static constexpr std::string_view kPrefix = "step-", kSuffix = ".safetensors";
static constexpr std::string_view kFormat = "sinter-checkpoint-1";
// Keys of the file's metadata.
static constexpr std::string_view kFormatKey = "format", kStepKey = "step", kSumKey = "checksum";
static constexpr std::string_view kTensorSum = "checksum.", kText = "text.";

/// Of everything that says what a tensor is, and its content.
static uint64_t checksum(const TensorView &tensor) {
  uint64_t hash = hashText(concat(tensor.name, '\0', formatType(tensor.dtype, tensor.dims)));
  return hashBytes(tensor.data, tensor.bytes, hash);
}

/// Of the metadata but for itself; it covers the tensors through their sums.
static uint64_t checksum(const TextMap &metadata) {
  uint64_t hash = 0;
  for (const auto &[key, value] : metadata)
    if (key != kSumKey)
      hash = hashText(value, hashText(key, hash));
  return hash;
}

static TextMap manifest(int64_t step, const std::vector<TensorView> &tensors,
                        const TextMap &texts) {
  TextMap result;
  result[std::string(kFormatKey)] = kFormat;
  result[std::string(kStepKey)] = std::to_string(step);
  for (const TensorView &tensor : tensors)
    result[concat(kTensorSum, tensor.name)] = std::to_string(checksum(tensor));
  for (const auto &[key, value] : texts)
    result[concat(kText, key)] = value;
  result[std::string(kSumKey)] = std::to_string(checksum(result));
  return result;
}

static StatusOr<Checkpoint> read(const std::string &path, int64_t step) {
  StatusOr<Safetensors> content = readSafetensors(path);
  if (!content.ok())
    return content.status();
  const TextMap &metadata = content->metadata;
  auto damaged = [&](const std::string &what) {
    return makeError(Code::Corrupt, path, ": ", what,
                     "; the checkpoint is damaged: delete it and resume from another");
  };
  auto text = [&](std::string_view key) {
    auto found = metadata.find(std::string(key));
    return found == metadata.end() ? std::string() : found->second;
  };
  if (text(kFormatKey) != kFormat)
    return makeError(Code::Unsupported, path,
                     ": this is no checkpoint of this version (its format is '", text(kFormatKey),
                     "', expected '", kFormat,
                     "'); load it as weights, or move it out of the directory");
  if (text(kSumKey) != std::to_string(checksum(metadata)))
    return damaged("the checksum of its metadata does not fit");
  if (text(kStepKey) != std::to_string(step))
    return damaged("it is of step " + text(kStepKey) + ", not of that in its name");
  size_t sums = 0;
  for (const auto &[key, value] : metadata)
    sums += key.starts_with(kTensorSum);
  if (sums != content->tensors.size())
    return damaged(
        concat("it has ", content->tensors.size(), " tensors, but ", sums, " checksums"));
  for (const TensorView &tensor : content->tensors)
    if (text(concat(kTensorSum, tensor.name)) != std::to_string(checksum(tensor)))
      return damaged("the checksum of tensor '" + tensor.name + "' does not fit");

  Checkpoint result;
  result.step = step;
  result.path = path;
  for (const auto &[key, value] : metadata)
    if (key.starts_with(kText))
      result.texts[key.substr(kText.size())] = value;
  result.content = std::move(*content);
  return result;
}

class CheckpointDirectory::Impl {
public:
  Impl(std::string path, CheckpointOptions options) : path(std::move(path)), options(options) {}
  ~Impl() {
    join();
    if (lockFile >= 0)
      ::close(lockFile);
  }

  std::string file(int64_t step) const { return concat(path, '/', kPrefix, step, kSuffix); }
  StatusOr<std::vector<int64_t>> steps() const;
  Status lock();
  Status removeLater(int64_t step) const;
  Status remove(int64_t step) const;
  Status save(int64_t step, const std::vector<TensorView> &tensors, const TextMap &texts) const;
  Status saveAsync(int64_t step, const std::vector<TensorView> &tensors, const TextMap &texts);
  void join() {
    if (thread.joinable())
      thread.join();
  }

  std::string path;
  CheckpointOptions options;
  int lockFile = -1;
  std::thread thread;
  Status outcome; ///< of the background save; to be read once it was joined
};

StatusOr<std::vector<int64_t>> CheckpointDirectory::Impl::steps() const {
  std::vector<int64_t> result;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix) ||
        name.size() <= kPrefix.size() + kSuffix.size())
      continue;
    int64_t step = 0;
    const char *suffix = name.data() + name.size() - kSuffix.size();
    if (std::from_chars(name.data() + kPrefix.size(), suffix, step).ptr == suffix && step >= 0)
      result.push_back(step);
  }
  if (error)
    return ioError("list the checkpoints in", path, error.value());
  std::sort(result.begin(), result.end());
  return result;
}

/// Makes this process the one that saves here, and clears away what a killed one left.
Status CheckpointDirectory::Impl::lock() {
  if (lockFile >= 0)
    return Status();
  std::string name = path + "/.lock";
  int descriptor = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return ioError("write", name, errno);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    int error = errno;
    ::close(descriptor);
    if (error == EWOULDBLOCK)
      return makeError(Code::FailedPrecondition, "another process is saving checkpoints to ", path,
                       "; end it or choose another directory");
    return ioError("lock", name, error);
  }
  lockFile = descriptor;
  std::error_code ignored;
  for (fs::directory_iterator it(path, ignored), end; !ignored && it != end; it.increment(ignored))
    if (it->path().filename().string().starts_with(kTemporaryPrefix))
      ::unlink(it->path().c_str());
  return Status();
}

/// A later step is the leftover of a run that was set back. A damaged one was
/// passed over on loading and goes; a whole one is somebody's: not ours to remove,
/// nor to be taken for the newest of this run.
Status CheckpointDirectory::Impl::removeLater(int64_t step) const {
  StatusOr<std::vector<int64_t>> all = steps();
  if (!all.ok())
    return all.status();
  for (auto later = std::upper_bound(all->begin(), all->end(), step); later != all->end();
       ++later) {
    if (read(file(*later), *later).ok())
      return makeError(
          Code::FailedPrecondition, "cannot save step ", step, ": ", file(*later),
          " is of a later step, of another run; move it away or choose another directory");
    SINTER_RETURN_IF_ERROR(remove(*later));
  }
  return Status();
}

Status CheckpointDirectory::Impl::remove(int64_t step) const {
  if (::unlink(file(step).c_str()) != 0 && errno != ENOENT)
    return ioError("remove the old checkpoint", file(step), errno);
  return Status();
}

Status CheckpointDirectory::Impl::save(int64_t step, const std::vector<TensorView> &tensors,
                                       const TextMap &texts) const {
  if (step < 0)
    return makeError(Code::InvalidArgument, "cannot save a checkpoint of step ", step,
                     "; count steps from 0");
  SINTER_RETURN_IF_ERROR(removeLater(step));
  SINTER_RETURN_IF_ERROR(writeSafetensors(file(step), tensors, manifest(step, tensors, texts)));
  StatusOr<std::vector<int64_t>> all = steps();
  if (!all.ok())
    return all.status();
  for (size_t i = 0; i + static_cast<size_t>(options.keep) < all->size(); ++i)
    SINTER_RETURN_IF_ERROR(remove((*all)[i]));
  return Status();
}

Status CheckpointDirectory::Impl::saveAsync(int64_t step, const std::vector<TensorView> &tensors,
                                            const TextMap &texts) {
  size_t total = 0;
  for (const TensorView &tensor : tensors)
    total += tensor.bytes;
  std::shared_ptr<std::byte[]> copy(new (std::nothrow) std::byte[total]);
  if (!copy)
    return makeError(Code::OutOfMemory, "no memory for the copy of ",
                     formatBytes(static_cast<int64_t>(total)),
                     " that a background save works on; use save instead");
  std::vector<TensorView> views = tensors;
  size_t offset = 0;
  for (TensorView &view : views) {
    if (view.bytes > 0)
      std::memcpy(copy.get() + offset, view.data, view.bytes);
    view.data = copy.get() + offset;
    offset += view.bytes;
  }
  StatusOr<std::thread> started = startBackground(
      [this, copy, step, views = std::move(views), texts] { outcome = save(step, views, texts); });
  if (!started.ok())
    return started.status();
  thread = std::move(*started);
  return Status();
}

CheckpointDirectory::CheckpointDirectory(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
CheckpointDirectory::CheckpointDirectory(CheckpointDirectory &&) noexcept = default;
CheckpointDirectory &CheckpointDirectory::operator=(CheckpointDirectory &&) noexcept = default;
CheckpointDirectory::~CheckpointDirectory() = default;

StatusOr<CheckpointDirectory> CheckpointDirectory::open(const std::string &path,
                                                        CheckpointOptions options) {
  if (options.keep < 1)
    return makeError(Code::InvalidArgument, "checkpoints in ", path, ": keep = ", options.keep,
                     ", but at least one must stay");
  struct stat info;
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST)
    return ioError("create the directory", path, errno);
  if (::stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return ioError("use as a directory", path, ENOTDIR);
  return CheckpointDirectory(std::make_unique<Impl>(path, options));
}

Status CheckpointDirectory::wait() {
  impl->join();
  return std::exchange(impl->outcome, Status());
}

Status CheckpointDirectory::save(int64_t step, const std::vector<TensorView> &tensors,
                                 const TextMap &texts) {
  SINTER_RETURN_IF_ERROR(wait());
  SINTER_RETURN_IF_ERROR(impl->lock());
  return impl->save(step, tensors, texts);
}

Status CheckpointDirectory::saveAsync(int64_t step, const std::vector<TensorView> &tensors,
                                      const TextMap &texts) {
  SINTER_RETURN_IF_ERROR(wait());
  SINTER_RETURN_IF_ERROR(impl->lock());
  return impl->saveAsync(step, tensors, texts);
}

StatusOr<std::vector<int64_t>> CheckpointDirectory::steps() const { return impl->steps(); }

StatusOr<Checkpoint> CheckpointDirectory::load(int64_t step) const {
  return read(impl->file(step), step);
}

StatusOr<Checkpoint> CheckpointDirectory::loadLatest() const {
  StatusOr<std::vector<int64_t>> all = steps();
  if (!all.ok())
    return all.status();
  if (all->empty())
    return makeError(Code::NotFound, "no checkpoint in ", impl->path,
                     "; start afresh or check the path");
  std::vector<std::string> damaged;
  for (; !all->empty(); all->pop_back()) {
    StatusOr<Checkpoint> checkpoint = load(all->back());
    if (checkpoint.ok()) {
      checkpoint->damaged = std::move(damaged);
      return checkpoint;
    }
    damaged.push_back(checkpoint.status().message());
  }
  return makeError(Code::Corrupt, "none of the ", damaged.size(), " checkpoints in ", impl->path,
                   " can be loaded; the newest: ", damaged.front());
}

} // namespace sinter::rt::data
