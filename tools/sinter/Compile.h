// The subcommands of sinter-compile, which `sinter` runs for whatever needs the compiler.
#pragma once

namespace sinter::tools {

int compileMain(int argc, char **argv);
int inspectPackageMain(int argc, char **argv);
/// Says which compiler there is and trains a step with compiled code and with the reference.
int checkCompilerMain(int argc, char **argv);

} // namespace sinter::tools
