// What the subcommands share: commands and their flags on the command line, and how an error looks.
// Plain functions, one thread.
#pragma once

#include "sinter/base/status.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <span>
#include <string>

namespace sinter::tools {

/// Exit statuses: all is well; what was asked for failed; the command line is wrong.
inline constexpr int kSuccess = 0, kFailure = 1, kUsage = 2;

struct Command {
  const char *name, *summary;
  int (*run)(int argc, char **argv); ///< argv[0] is the subcommand's name
};

/// Finds argv[1] among `commands` and runs it; answers --help and --version.
int dispatch(int argc, char **argv, std::span<const Command> commands);

/// Parses the flags of a subcommand. An exit status if the program is done: help was printed, or
/// the command line was wrong, which has been reported with the nearest name.
std::optional<int> parse(CLI::App &app, int argc, char **argv);

/// Prints "sinter: <message>" to stderr; returns kFailure.
int fail(const std::string &message);
inline int fail(const Status &status) { return fail(status.message()); }

/// The folder this program lies in, without a slash at its end.
std::string programFolder();

} // namespace sinter::tools
