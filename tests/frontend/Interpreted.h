// A session whose steps the reference interpreter runs, so that the DSL is tested apart from the
// compiler: what it records, and what that means.
#pragma once

#include "session/Backend.h"
#include "session/State.h"
#include "sinter/sinter.h"

namespace sinter::testing {

/// Puts the reference interpreter behind `session`. The text of the last module compiled is kept in
/// *dump.
void interpret(Session &session, std::string *dump = nullptr);

/// A quiet session with the interpreter.
struct InterpretedSession : Session {
  explicit InterpretedSession(uint64_t seed = 0) : Session(quiet(seed)) {
    interpret(*this, &graph);
  }
  static Options quiet(uint64_t seed) {
    Options options;
    options.seed = seed;
    options.verbose = false;
    return options;
  }
  std::string graph;
};

} // namespace sinter::testing
