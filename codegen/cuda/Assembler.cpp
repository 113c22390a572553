#include "Assembler.h"

#include "sinter/cuda/image.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

namespace sinter::codegen::cuda {

std::string findPtxas(llvm::StringRef given) {
  if (const char *chosen = std::getenv("SINTER_PTXAS"); given.empty() && chosen)
    given = chosen;
  if (!given.empty()) // "none" is no program either
    return llvm::sys::fs::can_execute(given) ? given.str() : "";
  llvm::SmallVector<std::string> folders;
  if (const char *home = std::getenv("CUDA_HOME"); home && *home)
    folders.push_back(std::string(home) + "/bin");
  llvm::SmallVector<llvm::StringRef> path;
  if (const char *value = std::getenv("PATH"))
    llvm::StringRef(value).split(path, ':', -1, /*KeepEmpty=*/false);
  llvm::append_range(folders, path);
  folders.push_back("/usr/local/cuda/bin");
  for (const std::string &folder : folders)
    if (llvm::sys::fs::can_execute(folder + "/ptxas"))
      return folder + "/ptxas";
  return "";
}

/// A file that goes away with its owner.
struct TemporaryFile {
  explicit TemporaryFile(llvm::StringRef suffix)
      : error(llvm::sys::fs::createTemporaryFile("sinter", suffix, path)), remover(path) {}
  llvm::SmallString<128> path;
  std::error_code error;
  llvm::FileRemover remover;
};

static std::string contents(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// What the program said, on either stream.
static llvm::Expected<std::string> run(llvm::StringRef program,
                                       llvm::ArrayRef<llvm::StringRef> arguments) {
  TemporaryFile log("txt");
  if (log.error)
    return llvm::createStringError(log.error, "no temporary file for ptxas");
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), log.path.str(),
                                                log.path.str()};
  std::string message;
  int status =
      llvm::sys::ExecuteAndWait(program, arguments, std::nullopt, redirects, 0, 0, &message);
  std::string output = contents(log.path);
  if (status != 0)
    return llvm::createStringError(std::errc::invalid_argument, "%s failed (status %d): %s%s",
                                   program.str().c_str(), status, message.c_str(), output.c_str());
  return output;
}

int parseToolkit(llvm::StringRef output) {
  llvm::StringRef rest = output.split("release ").second;
  unsigned major = 0, minor = 0;
  if (rest.consumeInteger(10, major) || !rest.consume_front(".") || rest.consumeInteger(10, minor))
    return 0;
  return int(major * 1000 + minor * 10);
}

llvm::Expected<Assembly> assemble(llvm::StringRef ptxas, llvm::StringRef ptx,
                                  llvm::StringRef architecture) {
  TemporaryFile source("ptx"), object("cubin");
  for (TemporaryFile *file : {&source, &object})
    if (file->error)
      return llvm::createStringError(file->error, "no temporary file for ptxas");
  {
    std::error_code error;
    llvm::raw_fd_ostream stream(source.path, error);
    if (!error)
      stream << ptx;
    stream.close();
    if (stream.has_error() || error) {
      stream.clear_error();
      return llvm::createStringError(error, "cannot write " + source.path);
    }
  }
  std::string target = ("-arch=" + architecture).str();
  llvm::StringRef arguments[] = {ptxas, target, "--verbose", "-o", object.path, source.path};
  llvm::Expected<std::string> output = run(ptxas, arguments);
  if (!output)
    return output.takeError();
  llvm::StringRef ask[] = {ptxas, "--version"};
  llvm::Expected<std::string> version = run(ptxas, ask);
  if (!version)
    return version.takeError();
  return Assembly{contents(object.path), parseToolkit(*version), parseUsage(*output)};
}

/// The number in front of `unit`, 0 where there is none.
static int64_t numberBefore(llvm::StringRef line, llvm::StringRef unit) {
  size_t at = line.find(unit);
  if (at == llvm::StringRef::npos)
    return 0;
  llvm::StringRef digits = line.take_front(at).rtrim();
  digits = digits.substr(digits.find_last_not_of("0123456789") + 1);
  int64_t number = 0;
  return digits.getAsInteger(10, number) ? 0 : number;
}

std::vector<CudaKernelUsage> parseUsage(llvm::StringRef output) {
  std::vector<CudaKernelUsage> kernels;
  llvm::SmallVector<llvm::StringRef> lines;
  output.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    if (size_t at = line.find("Compiling entry function '"); at != llvm::StringRef::npos) {
      llvm::StringRef name = line.substr(at).split('\'').second.split('\'').first;
      kernels.push_back({name.str()});
    }
    if (kernels.empty())
      continue;
    CudaKernelUsage &kernel = kernels.back();
    if (line.contains("bytes stack frame")) {
      kernel.stackBytes = numberBefore(line, "bytes stack frame");
      kernel.spillStores = numberBefore(line, "bytes spill stores");
      kernel.spillLoads = numberBefore(line, "bytes spill loads");
    }
    if (line.contains("Used ")) {
      kernel.registers = numberBefore(line, "registers");
      kernel.sharedBytes = numberBefore(line, "bytes smem");
    }
  }
  return kernels;
}

} // namespace sinter::codegen::cuda

std::string sinter::codegen::describeToolkit() {
  std::string path = cuda::findPtxas();
  if (path.empty())
    return "";
  llvm::StringRef ask[] = {path, "--version"};
  llvm::Expected<std::string> output = cuda::run(path, ask);
  int version = output ? cuda::parseToolkit(*output) : 0;
  if (!output)
    llvm::consumeError(output.takeError()); // then its version is not known
  return "CUDA " + (version ? rt::formatCudaVersion(version) : "of unknown version") + ", " + path;
}
