// Tries mutants: which are noticed by a check, by results, and which change nothing.
#pragma once

#include "Replay.h"
#include "Tally.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::mutation {

/// Launches the unmutated kernel, keeps what it writes as expected; "" or what a check found.
std::string runUnmutated(Subject &subject);

/// The verdict on one mutant; crashes and hangs with it.
Verdict tryMutant(const Subject &subject, const Mutant &mutant);

/// Copies and waits of a step as mutants, in order.
struct Command {
  Kind kind;
  int64_t number; ///< over copies and waits
  std::string what;
};
std::vector<Command> commandsOf(const RecordedStep &step);
Verdict tryWithout(const RecordedStep &step, int64_t number);

/// To and from a child.
std::string encode(const Verdict &verdict);
Verdict decode(const std::string &text);

} // namespace sinter::mutation
