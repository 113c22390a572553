// Files the runtime writes and maps.
//
// AtomicFile: a file appears whole under its name or not at all; whatever
// fails, the one that was there stays. MappedFile: a file's bytes, read only.
// Both own their descriptor or mapping and release it when destroyed. One
// thread at a time may use an AtomicFile; a MappedFile may be read by any.
// Every error names the path, the system's reason and a remedy.
#pragma once

#include "sinter/base/status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sinter::rt {

/// "cannot <action> <path>: <reason>; <remedy>", with the code that fits `error` (an errno).
Status ioError(std::string_view action, std::string_view path, int error);

/// Written to a temporary file beside `path`; `commit` makes it durable and
/// renames it. A link is followed, the mode of a replaced file is kept. What
/// is no regular file (a pipe, a device) is written in place, since it cannot
/// be replaced.
class AtomicFile {
public:
  static StatusOr<AtomicFile> create(const std::string &path);
  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile(); ///< without a commit: removes the temporary file

  Status write(const void *data, size_t size); ///< appends
  Status write(std::string_view text) { return write(text.data(), text.size()); }
  /// Flush, fsync, rename, fsync of the directory. The last call to make.
  Status commit();

private:
  AtomicFile(std::string path, std::string target, std::string temporary, int descriptor);
  Status flush();
  Status writeThrough(const char *data, size_t size);

  std::string path;      ///< as the caller gave it, for messages
  std::string target;    ///< links resolved
  std::string temporary; ///< empty: written in place
  std::string buffer;    ///< gathers small writes
  int descriptor;
};

/// The prefix of temporary names, for those who clear away what a killed process left.
inline constexpr std::string_view kTemporaryPrefix = ".sinter-tmp-";

Status writeFile(const std::string &path, std::string_view content);

/// Of a regular file. The file must not shrink while it is mapped; replacing
/// it by rename, as AtomicFile does, leaves the mapping as it was.
class MappedFile {
public:
  static StatusOr<std::shared_ptr<const MappedFile>> open(const std::string &path);
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  const std::byte *data() const { return bytes; }
  size_t size() const { return length; }

private:
  MappedFile(const std::byte *bytes, size_t length) : bytes(bytes), length(length) {}

  const std::byte *bytes;
  size_t length;
};

} // namespace sinter::rt
