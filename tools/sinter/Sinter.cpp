#include "Sinter.h"

#include "Cli.h"
#include "sinter/base/text.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace sinter::tools {

int runCompiler(int argc, char **argv) {
  std::string program = programFolder() + "/sinter-compile";
  std::vector<char *> arguments = {program.data()};
  arguments.insert(arguments.end(), argv, argv + argc);
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  return fail(concat("cannot run ", program, ": ", std::strerror(errno),
                     "; it comes with an installation that has the compiler, and lies beside "
                     "sinter"));
}

} // namespace sinter::tools

using namespace sinter::tools;

int main(int argc, char **argv) {
  static constexpr Command commands[] = {
      {"compile", "make an artifact of a package: a shared object with a C header", runCompiler},
      {"run", "run an entry of an artifact on npy or safetensors files, and time it", runMain},
      {"inspect", "show what a package or an artifact holds", inspectMain},
      {"new", "write a starter project", newMain},
      {"check", "see whether this machine has all that sinter needs, and try it", checkMain},
  };
  return dispatch(argc, argv, commands);
}
