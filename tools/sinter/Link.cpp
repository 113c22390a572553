#include "Link.h"

#include "Process.h"
#include "Toolchain.h"
#include "sinter/base/text.h"
#include "sinter/core/file.h"

#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

namespace sinter::tools {
namespace {

/// A folder for the linker's input and output, removed with all it holds.
class WorkFolder {
public:
  static StatusOr<WorkFolder> create() {
    std::error_code error;
    std::string path = (fs::temp_directory_path(error) / "sinter-XXXXXX").string();
    if (error || !::mkdtemp(path.data()))
      return rt::ioError("make a folder for the linker,", path, error ? error.value() : errno);
    return WorkFolder(std::move(path));
  }
  WorkFolder(WorkFolder &&other) noexcept : path(std::exchange(other.path, "")) {}
  ~WorkFolder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
  std::string file(const std::string &name) const { return path + "/" + name; }

private:
  explicit WorkFolder(std::string path) : path(std::move(path)) {}
  std::string path;
};

StatusOr<std::string> readWhole(const std::string &path) {
  auto file = rt::MappedFile::open(path);
  if (!file.ok())
    return file.status();
  return std::string(reinterpret_cast<const char *>((*file)->data()), (*file)->size());
}

/// Written without the ceremony of an AtomicFile: nobody else sees the work folder.
Status writePlain(const std::string &path, llvm::ArrayRef<char> bytes) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), std::streamsize(bytes.size()));
  file.close();
  return file ? Status() : rt::ioError("write", path, errno ? errno : EIO);
}

std::string objectName(const std::string &name, size_t i) { return concat(name, "-", i, ".o"); }

StatusOr<std::string> archive(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects,
                              const std::string &name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < objects.size(); ++i)
    names.push_back(objectName(name, i));
  std::vector<llvm::NewArchiveMember> members;
  for (size_t i = 0; i < objects.size(); ++i)
    members.emplace_back(
        llvm::MemoryBufferRef(llvm::StringRef(objects[i].data(), objects[i].size()), names[i]));
  auto buffer = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NormalSymtab,
                                           llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                           /*Thin=*/false);
  if (!buffer)
    return Status(Code::Internal, "no archive: " + llvm::toString(buffer.takeError()));
  return (*buffer)->getBuffer().str();
}

/// Only the artifact's own function is visible, so that two artifacts with different runtimes
/// inside live in one process.
StatusOr<std::vector<std::string>> sharedArguments(const WorkFolder &work,
                                                   const LinkOptions &options) {
  std::string script = work.file("exports");
  std::string text = concat("{ global: ", options.name, "_api; local: *; };\n");
  SINTER_RETURN_IF_ERROR(writePlain(script, llvm::ArrayRef(text.data(), text.size())));
  auto arguments = runtimeArguments(options.extra);
  if (arguments.ok())
    arguments->insert(arguments->begin(),
                      {"-shared", "-s", "-Wl,--gc-sections", "-Wl,--exclude-libs,ALL",
                       "-Wl,--as-needed", "-Wl,-z,defs", "-Wl,-soname," + options.soname,
                       "-Wl,--version-script=" + script});
  return arguments;
}

/// One line where the disk is to blame, else all that the driver said.
Status linkerError(const std::string &driver, const Outcome &outcome, const std::string &output) {
  for (int error : {ENOSPC, EFBIG, EDQUOT})
    if (outcome.output.find(std::strerror(error)) != std::string::npos)
      return rt::ioError("write", output, error);
  return makeError(Code::FailedPrecondition, driver, " could not link (exit status ",
                   outcome.exitCode, "):\n", outcome.output);
}

} // namespace

StatusOr<OutputKind> outputKind(const std::string &path) {
  std::string extension = fs::path(path).extension().string();
  if (extension == ".so")
    return OutputKind::Shared;
  if (extension == ".o")
    return OutputKind::Object;
  if (extension == ".a")
    return OutputKind::Archive;
  return makeError(Code::InvalidArgument, "cannot tell what to make of -o ", path,
                   "; end it with .so (shared object), .o (object file) or .a (archive)");
}

StatusOr<std::string> link(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects,
                           const LinkOptions &options) {
  if (options.kind == OutputKind::Archive)
    return archive(objects, options.name);
  auto driver = compilerDriver();
  if (!driver.ok())
    return driver.status();
  auto work = WorkFolder::create();
  if (!work.ok())
    return work.status();
  std::string output = work->file(options.name);
  std::vector<std::string> command = {*driver, "-o", output};
  for (size_t i = 0; i < objects.size(); ++i) {
    command.push_back(work->file(objectName(options.name, i)));
    SINTER_RETURN_IF_ERROR(writePlain(command.back(), objects[i]));
  }
  if (options.kind == OutputKind::Object) {
    command.insert(command.end(), {"-r", "-nostdlib"});
  } else {
    auto arguments = sharedArguments(*work, options);
    if (!arguments.ok())
      return arguments.status();
    command.insert(command.end(), arguments->begin(), arguments->end());
  }
  auto outcome = runProgram(command, /*capture=*/true);
  if (!outcome.ok())
    return outcome.status();
  if (outcome->exitCode != 0)
    return linkerError(*driver, *outcome, output);
  return readWhole(output);
}

} // namespace sinter::tools
