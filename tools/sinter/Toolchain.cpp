#include "Toolchain.h"

#include "Cli.h"
#include "sinter/base/text.h"

#include <cstdlib>
#include <unistd.h>

namespace sinter::tools {

static bool inPath(const std::string &program) {
  const char *path = std::getenv("PATH");
  std::string folders = path ? path : "";
  for (size_t begin = 0; begin <= folders.size();) {
    size_t end = std::min(folders.find(':', begin), folders.size());
    if (::access((folders.substr(begin, end - begin) + "/" + program).c_str(), X_OK) == 0)
      return true;
    begin = end + 1;
  }
  return false;
}

StatusOr<std::string> compilerDriver() {
  const char *given = std::getenv("CXX");
  if (given && *given) {
    std::string driver = given;
    if (driver.find('/') == driver.npos ? inPath(driver) : ::access(given, X_OK) == 0)
      return driver;
    return makeError(Code::NotFound, "the environment's CXX, ", driver,
                     ", is no program; unset it or name a C++ compiler");
  }
  if (*SINTER_LINK_DRIVER)
    return std::string(SINTER_LINK_DRIVER);
  for (const char *driver : {"c++", "g++", "clang++"})
    if (inPath(driver))
      return std::string(driver);
  return makeError(Code::NotFound,
                   "no C++ compiler to link with (c++, g++, clang++) is in PATH; install one "
                   "(Debian: apt-get install g++), name it in CXX, or make an archive with -o "
                   "<name>.a and link that elsewhere");
}

StatusOr<std::string> runtimeFolder() {
  std::string looked;
  for (const char *library : {SINTER_LIBDIR, "lib"}) {
    std::string folder = programFolder() + "/../" + library;
    if (::access((folder + "/libsinter_artifact.a").c_str(), R_OK) == 0)
      return folder;
    looked += (looked.empty() ? "" : " and ") + folder;
  }
  return makeError(Code::NotFound, "the runtime's library libsinter_artifact.a is not in ", looked,
                   "; install sinter whole, or build the target sinter_artifact");
}

static std::vector<const char *> librariesOf(RuntimeExtra extra) {
  std::vector<const char *> libraries = {"artifact", "core", "io", "base"};
  if (extra == RuntimeExtra::OneDnn)
    libraries.insert(libraries.end(), {"cpu_onednn", "vendor_support"});
  else
    libraries.push_back("no_vendor");
  if (extra == RuntimeExtra::Cuda)
    libraries.push_back("cuda");
  if (extra == RuntimeExtra::Emulator)
    libraries.push_back("emu");
  return libraries;
}

StatusOr<std::vector<std::string>> runtimeArguments(RuntimeExtra extra) {
  StatusOr<std::string> folder = runtimeFolder();
  if (!folder.ok())
    return folder.status();
  std::vector<std::string> arguments;
  arguments.push_back("-Wl,--start-group");
  for (const char *library : librariesOf(extra))
    arguments.push_back(concat(*folder, "/libsinter_", library, ".a"));
  arguments.push_back("-Wl,--end-group");
  if (extra == RuntimeExtra::Emulator)
    arguments.push_back(SINTER_BOOST_CONTEXT);
  if (extra == RuntimeExtra::OneDnn)
    arguments.insert(arguments.end(), {"-L" SINTER_ONEDNN_FOLDER, "-ldnnl", "-lgomp"});
  arguments.insert(arguments.end(), {"-lm", "-ldl", "-pthread"});
  if (*SINTER_LINK_FLAG) // the program that loads the artifact brings the sanitizer's runtime
    arguments.insert(arguments.end(), {SINTER_LINK_FLAG, "-Wl,-z,undefs"});
  return arguments;
}

} // namespace sinter::tools
