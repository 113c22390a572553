// sinter-compile: the half of `sinter` that loads LLVM.
#include "Cli.h"
#include "Compile.h"

using namespace sinter::tools;

int main(int argc, char **argv) {
  static constexpr Command commands[] = {
      {"compile", "compile a package to an artifact", compileMain},
      {"inspect", "show what a package holds", inspectPackageMain},
      {"check", "try the compiler", checkCompilerMain},
  };
  return dispatch(argc, argv, commands);
}
