// The flags of `sinter inspect`, whichever program answers it.
#pragma once

#include "Cli.h"

namespace sinter::tools {

struct InspectFlags {
  std::string path;
  bool commands = false;
};

inline std::optional<int> parseInspect(InspectFlags &flags, int argc, char **argv) {
  CLI::App app("Shows what a package or an artifact holds: entries with the types they take and "
               "give, variables,\nand of an artifact also instruction sets, kernels, library calls "
               "and memory.",
               "sinter inspect");
  app.add_option("file", flags.path, "A package (.mlirbc, .mlir) or an artifact (.so)")
      ->required()
      ->type_name("<file>");
  app.add_flag("--commands", flags.commands,
               "List every command with its operands and source line; a package is compiled first");
  return parse(app, argc, argv);
}

} // namespace sinter::tools
