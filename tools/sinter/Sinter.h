// The subcommands of `sinter` itself, which loads no LLVM: it would add a tenth of a second to the
// start of every run.
#pragma once

namespace sinter::tools {

int inspectMain(int argc, char **argv);
int runMain(int argc, char **argv);
int checkMain(int argc, char **argv);
int newMain(int argc, char **argv);

/// Becomes sinter-compile, which lies beside this program, with the same arguments.
int runCompiler(int argc, char **argv);

} // namespace sinter::tools
