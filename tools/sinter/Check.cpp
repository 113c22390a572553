// sinter check: what this machine has, line by line. The compiler's part is sinter-compile's, so
// that it can be told what is missing where that does not even start.
#include "CheckLine.h"
#include "Cli.h"
#include "Process.h"
#include "Report.h"
#include "Sinter.h"
#include "Toolchain.h"
#include "sinter/abi/artifact.h"
#include "sinter/base/text.h"
#include "sinter/core/isa.h"
#include "sinter/core/program.h"
#include "sinter/cuda/library.h"
#include "sinter/cuda/platform.h"

#include <dlfcn.h>
#include <fstream>
#include <sys/resource.h>
#include <thread>

namespace sinter::tools {
namespace {

std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name") && line.find(':') + 2 < line.size())
      return line.substr(line.find(':') + 2);
  return "unknown model";
}

void checkProcessor(Checks &checks) {
  std::string runs, lacks;
  for (std::string_view isa : rt::isaNames()) {
    std::string missing = rt::missingForIsa(isa);
    if (missing.empty())
      runs += (runs.empty() ? "" : ", ") + std::string(isa);
    else
      lacks += concat("; no ", isa, ": it lacks ", missing);
  }
  std::string text =
      concat(processorName(), ", ", counted(std::thread::hardware_concurrency(), "thread"),
             ", runs ", runs, lacks);
  if (rt::bestIsa().empty())
    checks.fail("processor", processorName() + lacks +
                                 "; sinter needs AVX2 and FMA, as x86 "
                                 "processors have since 2013");
  else
    checks.pass("processor", text);
}

void checkOneDnn(Checks &checks) {
  struct Version {
    int major, minor, patch;
    const char *hash;
  };
  void *library = ::dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return checks.fail("oneDNN",
                       concat(::dlerror(), "; install it (Debian: apt-get install libdnnl2), or "
                                           "compile with --vendor=none"));
  auto version = reinterpret_cast<const Version *(*)()>(::dlsym(library, "dnnl_version"));
  if (!version)
    return checks.fail("oneDNN", "libdnnl.so.2 has no dnnl_version; install oneDNN 2.6 or newer");
  const Version &found = *version();
  std::string text = concat(found.major, ".", found.minor, ".", found.patch);
  if (found.major * 100 + found.minor < 206)
    checks.fail("oneDNN", text + " is too old; install 2.6 or newer");
  else
    checks.pass("oneDNN", text);
}

void checkDriver(Checks &checks) {
  auto driver = compilerDriver();
  if (!driver.ok())
    return checks.fail("linker", driver.status().message());
  auto outcome = runProgram({*driver, "--version"}, /*capture=*/true);
  if (!outcome.ok() || outcome->exitCode != 0)
    return checks.fail("linker", concat(*driver, " --version fails; set CXX to a C++ compiler"));
  checks.pass("linker",
              concat(*driver, ": ", outcome->output.substr(0, outcome->output.find('\n'))));
}

void checkCompiler(Checks &checks) {
  std::string program = programFolder() + "/sinter-compile";
  auto outcome = runProgram({program, "check"}, /*capture=*/false);
  if (!outcome.ok())
    return checks.fail("compiler", outcome.status().message() +
                                       "; install sinter with its compiler to compile packages");
  if (outcome->exitCode == 127)
    return checks.fail("compiler", program + " does not start; install the library it names above "
                                             "(Debian: apt-get install libmlir-22 libllvm22)");
  if (outcome->exitCode > kFailure)
    checks.fail("compiler", concat(program, " ended with status ", outcome->exitCode,
                                   "; build it anew, and report it if that does not help"));
  else if (outcome->exitCode == kFailure)
    checks.fail("compiler", "see the lines above");
}

/// A library of NVIDIA's for the first card.
void checkLibrary(Checks &checks, const char *name, const Status &opened,
                  const std::string &version) {
  if (opened.ok())
    checks.pass(name, version);
  else if (opened.code() == Code::NotFound)
    checks.note(name, opened.message() + "; generated kernels serve");
  else
    checks.fail(name, opened.message());
}

void checkCuda(Checks &checks) {
  rt::CudaPlatform &platform = rt::CudaPlatform::global();
  auto cards = platform.cards();
  if (!cards.ok())
    return cards.status().code() == Code::NotFound ? checks.note("CUDA", cards.status().message())
                                                   : checks.fail("CUDA", cards.status().message());
  for (const rt::CudaCard &card : *cards)
    checks.pass("CUDA", concat("card ", card.ordinal, ": ", card.name, ", sm_", card.capability,
                               ", ", formatBytes(card.memoryBytes), ", driver for CUDA ",
                               rt::formatCudaVersion(card.driverVersion)));
  auto device = platform.device(0);
  if (!device.ok())
    return checks.fail("CUDA", device.status().message());
  rt::CudaLibraryOptions options{.searchPath = platform.options().libraries};
  auto products = rt::CudaMatmulLibrary::open(**device, options);
  checkLibrary(checks, "cuBLASLt", products.status(), products.ok() ? (*products)->version() : "");
  auto convolutions = rt::CudaConvolutionLibrary::open(**device, options);
  checkLibrary(checks, "cuDNN", convolutions.status(),
               convolutions.ok() ? (*convolutions)->version() : "");
}

std::string limitText(rlim_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : formatBytes(int64_t(limit));
}

void checkLimits(Checks &checks) {
  rlimit files{}, memory{}, stack{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  ::getrlimit(RLIMIT_AS, &memory);
  ::getrlimit(RLIMIT_STACK, &stack);
  std::string text = concat("files ", files.rlim_cur, ", memory ", limitText(memory.rlim_cur),
                            ", stack ", limitText(stack.rlim_cur));
  if (files.rlim_cur < 256)
    checks.fail("limits", text + "; raise the number of open files: ulimit -n 1024");
  else if (memory.rlim_cur != RLIM_INFINITY && memory.rlim_cur < (rlim_t(4) << 30))
    checks.fail("limits", text + "; the compiler maps up to 4 GiB: ulimit -v unlimited");
  else if (stack.rlim_cur != RLIM_INFINITY && stack.rlim_cur < (rlim_t(4) << 20))
    checks.fail("limits", text + "; the compiler needs 4 MiB of stack: ulimit -s 8192");
  else
    checks.pass("limits", text);
}

} // namespace

int checkMain(int argc, char **argv) {
  CLI::App app("Looks at the processor, the libraries and limits of this machine, compiles a small "
               "training step\nand compares it with the reference. Each line passes or says what "
               "to do; exit status 1 if one fails.",
               "sinter check");
  if (auto status = parse(app, argc, argv))
    return *status;
  Checks checks;
  checks.pass("version", concat(SINTER_VERSION ", artifact ABI ", SINTER_ABI_VERSION,
                                ", command lists ", rt::kProgramVersion));
  checkProcessor(checks);
  checkLimits(checks);
  auto folder = runtimeFolder();
  checks.add("runtime", folder.status(), folder.ok() ? *folder : "");
  checkDriver(checks);
  checkOneDnn(checks);
  checkCuda(checks);
  checkCompiler(checks);
  return checks.failed() ? kFailure : kSuccess;
}

} // namespace sinter::tools
