#include "sinter/core/file.h"

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sinter::rt {

static constexpr size_t kBufferBytes = 256 << 10;

static std::string_view remedy(std::string_view action, int error) {
  switch (error) {
  case ENOSPC:
  case EDQUOT:
    return "free some space there or choose another directory";
  case EFBIG:
    return "raise the limit on file sizes (ulimit -f) or choose another file system";
  case EACCES:
  case EPERM:
    return "choose a place you have the permission for, or change the file's mode";
  case EROFS:
    return "choose a directory on a file system that is not mounted read-only";
  case ENOENT:
    return action == "read" ? "check the spelling"
                            : "check the spelling; directories are not created for you";
  case ENOTDIR:
    return "a part of the path is a file, not a directory";
  case EISDIR:
    return "give the name of a file, not of a directory";
  case ENAMETOOLONG:
    return "choose a shorter name";
  case ELOOP:
    return "its symbolic links form a loop";
  case EMFILE:
  case ENFILE:
    return "raise the limit on open files (ulimit -n)";
  case ENOMEM:
    return "free some memory or raise the limit (ulimit -v)";
  case EIO:
    return "the device failed; look into the system's log";
  default:
    return "check the path and its file system";
  }
}

Status ioError(std::string_view action, std::string_view path, int error) {
  std::string text = "cannot ";
  text.append(action).append(" ").append(path).append(": ");
  text.append(std::generic_category().message(error)).append("; ").append(remedy(action, error));
  return Status(error == ENOENT ? Code::NotFound : Code::Io, std::move(text));
}

static std::string directoryOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// `path` with its links resolved, so that a rename replaces the file and not the link to it.
static std::string resolved(const std::string &path) {
  char *real = ::realpath(path.c_str(), nullptr);
  std::string result = real ? real : path;
  std::free(real);
  return result;
}

/// A name no other process has: process numbers repeat between containers.
static std::string temporaryIn(const std::string &directory) {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number)
    number = static_cast<uint64_t>(::getpid());
  return directory + "/" + std::string(kTemporaryPrefix) + std::to_string(number);
}

StatusOr<AtomicFile> AtomicFile::create(const std::string &path) {
  struct stat old;
  bool exists = ::stat(path.c_str(), &old) == 0;
  if (!exists && errno != ENOENT)
    return ioError("write", path, errno);
  if (exists && S_ISDIR(old.st_mode))
    return ioError("write", path, EISDIR);
  if (exists && !S_ISREG(old.st_mode)) {
    int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
      return ioError("write", path, errno);
    return AtomicFile(path, path, "", descriptor);
  }
  // A rename would get round the protection of the file itself.
  if (exists && ::access(path.c_str(), W_OK) != 0)
    return ioError("write", path, errno);

  std::string target = exists ? resolved(path) : path;
  std::string temporary = temporaryIn(directoryOf(target));
  int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return ioError("write", path, errno);
  AtomicFile file(path, std::move(target), std::move(temporary), descriptor);
  if (exists && ::fchmod(descriptor, old.st_mode & 07777) != 0)
    return ioError("set the mode of", path, errno);
  return file;
}

AtomicFile::AtomicFile(std::string path, std::string target, std::string temporary, int descriptor)
    : path(std::move(path)), target(std::move(target)), temporary(std::move(temporary)),
      descriptor(descriptor) {}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : path(std::move(other.path)), target(std::move(other.target)),
      temporary(std::exchange(other.temporary, "")), buffer(std::move(other.buffer)),
      descriptor(std::exchange(other.descriptor, -1)) {}

AtomicFile::~AtomicFile() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

Status AtomicFile::write(const void *data, size_t size) {
  if (buffer.size() + size > kBufferBytes)
    SINTER_RETURN_IF_ERROR(flush());
  if (size > kBufferBytes)
    return writeThrough(static_cast<const char *>(data), size);
  buffer.append(static_cast<const char *>(data), size);
  return Status();
}

Status AtomicFile::flush() {
  Status status = writeThrough(buffer.data(), buffer.size());
  buffer.clear();
  return status;
}

Status AtomicFile::writeThrough(const char *data, size_t size) {
  while (size > 0) {
    ssize_t written = ::write(descriptor, data, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return ioError("write", path, written < 0 ? errno : EIO);
    data += written, size -= static_cast<size_t>(written);
  }
  return Status();
}

/// Makes a rename in `directory` durable. Some file systems cannot sync a directory: no error.
static Status syncDirectory(const std::string &directory, const std::string &path) {
  int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return errno == EACCES ? Status() : ioError("sync the directory of", path, errno);
  int error = ::fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
  ::close(descriptor);
  return error ? ioError("sync the directory of", path, error) : Status();
}

Status AtomicFile::commit() {
  SINTER_RETURN_IF_ERROR(flush());
  // A pipe or a device may have nothing to sync: EINVAL.
  if (::fsync(descriptor) != 0 && !(temporary.empty() && errno == EINVAL))
    return ioError("write", path, errno);
  if (::close(std::exchange(descriptor, -1)) != 0)
    return ioError("write", path, errno);
  if (temporary.empty())
    return Status();
  if (::rename(temporary.c_str(), target.c_str()) != 0)
    return ioError("write", path, errno);
  temporary.clear();
  return syncDirectory(directoryOf(target), path);
}

Status writeFile(const std::string &path, std::string_view content) {
  StatusOr<AtomicFile> file = AtomicFile::create(path);
  if (!file.ok())
    return file.status();
  SINTER_RETURN_IF_ERROR(file->write(content));
  return file->commit();
}

StatusOr<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string &path) {
  // Not to hang on a pipe nobody writes to.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return ioError("read", path, errno);
  struct stat info;
  int error = ::fstat(descriptor, &info) == 0 ? 0 : errno;
  void *bytes = nullptr;
  if (!error && S_ISDIR(info.st_mode))
    error = EISDIR;
  bool regular = !error && S_ISREG(info.st_mode);
  if (regular && info.st_size > 0) {
    bytes =
        ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (bytes == MAP_FAILED)
      error = errno;
  }
  ::close(descriptor);
  if (error)
    return ioError("read", path, error);
  if (!regular)
    return Status(Code::InvalidArgument,
                  "cannot map " + path + ": it is a pipe or a device; copy it to a file first");
  return std::shared_ptr<const MappedFile>(
      new MappedFile(static_cast<const std::byte *>(bytes), static_cast<size_t>(info.st_size)));
}

MappedFile::~MappedFile() {
  if (length > 0)
    ::munmap(const_cast<std::byte *>(bytes), length);
}

} // namespace sinter::rt
