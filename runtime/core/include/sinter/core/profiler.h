// Where the time of a program's steps goes: per command totals and a bounded
// trace of single executions.
//
// Executables that were given a profiler record into it; those that were not pay
// nothing. It keeps its own copies of all names, so it may outlive them. One
// thread at a time: executables that run concurrently need a profiler each.
#pragma once

#include "sinter/base/status.h"
#include "sinter/core/program.h"

#include <chrono>
#include <string>
#include <vector>

namespace sinter::rt {

class Profiler {
public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  /// Beyond `maxEvents` executions the totals go on and the trace stops.
  explicit Profiler(size_t maxEvents = size_t(1) << 18) : maxEvents(maxEvents) {}

  /// Registers an entry's commands; returns the number of the first, those of
  /// the others follow.
  size_t attach(const Program &program, const Entry &entry);
  /// One execution of a command. Allocates nothing within the first `maxEvents`
  /// once `attach` has run.
  void record(size_t command, Time start, Time end, int64_t flops, int64_t bytes);
  /// One execution of a whole entry, whose first command is `firstCommand`.
  void recordRun(size_t firstCommand, Time start, Time end);
  void reset(); ///< forgets the times, keeps the commands

  /// A table by command, the slowest first (at most `rows`), then by module.
  std::string report(size_t rows = 40) const;
  /// Chrome's trace format, for chrome://tracing and Perfetto.
  Status writeTrace(const std::string &path) const;

private:
  struct Row {
    std::string entry, name, location, module;
    int64_t calls = 0, nanoseconds = 0, flops = 0, bytes = 0;
  };
  struct Event {
    size_t command;
    Time start;
    int64_t nanoseconds;
  };
  struct EntryTotals {
    std::string name;
    size_t firstCommand = 0;
    int64_t runs = 0, nanoseconds = 0;
  };

  void reportEntries(std::string &text) const;
  void reportModules(std::string &text, int64_t total) const;

  size_t maxEvents;
  std::vector<Row> rows;
  std::vector<Event> events;
  std::vector<EntryTotals> entries;
};

} // namespace sinter::rt
