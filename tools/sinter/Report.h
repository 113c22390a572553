// What a compiled program holds, in words. Pure functions.
#pragma once

#include "sinter/core/program.h"

#include <string>

namespace sinter::tools {

/// "5 entries": a number and a noun, in the plural unless it is 1.
std::string counted(int64_t number, const std::string &noun);

/// Symbols with their bounds, entries with their ports and commands by kind, variables.
std::string describeProgram(const rt::Program &program);
/// Every command of every entry: what it runs, on what, and where it came from.
std::string describeCommands(const rt::Program &program);
/// "classify(image f32[n, 784]) -> probability f32[n, 10]"
std::string describeSignature(const rt::Program &program, const rt::Entry &entry);

} // namespace sinter::tools
