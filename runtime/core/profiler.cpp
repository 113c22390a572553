#include "sinter/core/profiler.h"

#include "sinter/base/text.h"
#include "sinter/core/file.h"
#include "sinter/core/json.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>

namespace sinter::rt {
namespace {

int64_t nanoseconds(Profiler::Time start, Profiler::Time end) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count();
}

template <class... Values>
void appendLine(std::string &text, const char *format, const Values &...values) {
  char line[160];
  std::snprintf(line, sizeof line, format, values...);
  text += line;
}

double share(int64_t part, int64_t total) {
  return total ? 100.0 * double(part) / double(total) : 0;
}

} // namespace

size_t Profiler::attach(const Program &program, const Entry &entry) {
  auto text = [&](Index index) { return index == kNone ? std::string() : program.strings[index]; };
  size_t first = rows.size();
  for (const Command &command : entry.commands)
    rows.push_back({entry.name, text(command.name), text(command.location), text(command.module)});
  entries.push_back({entry.name, first});
  events.reserve(maxEvents);
  return first;
}

void Profiler::record(size_t command, Time start, Time end, int64_t flops, int64_t bytes) {
  Row &row = rows[command];
  int64_t elapsed = nanoseconds(start, end);
  row.calls += 1;
  row.nanoseconds += elapsed;
  row.flops += flops;
  row.bytes += bytes;
  if (events.size() < maxEvents)
    events.push_back({command, start, elapsed});
}

void Profiler::recordRun(size_t firstCommand, Time start, Time end) {
  for (EntryTotals &entry : entries)
    if (entry.firstCommand == firstCommand) {
      entry.runs += 1;
      entry.nanoseconds += nanoseconds(start, end);
      return;
    }
}

void Profiler::reset() {
  for (Row &row : rows)
    row.calls = row.nanoseconds = row.flops = row.bytes = 0;
  for (EntryTotals &entry : entries)
    entry.runs = entry.nanoseconds = 0;
  events.clear();
}

void Profiler::reportEntries(std::string &text) const {
  for (const EntryTotals &entry : entries)
    if (entry.runs) {
      text += "entry " + entry.name;
      appendLine(text, ": %lld runs, %.3f ms each\n", (long long)entry.runs,
                 double(entry.nanoseconds) / 1e6 / double(entry.runs));
    }
}

void Profiler::reportModules(std::string &text, int64_t total) const {
  std::map<std::string, int64_t> modules;
  for (const Row &row : rows)
    modules[row.module.empty() ? "(no module)" : row.module] += row.nanoseconds;
  std::vector<std::pair<std::string, int64_t>> sorted(modules.begin(), modules.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto &a, const auto &b) { return a.second > b.second; });
  text += "\n share     total ms  module\n";
  for (const auto &[module, time] : sorted)
    if (time) {
      appendLine(text, "%5.1f%% %12.3f  ", share(time, total), double(time) / 1e6);
      text += module + "\n";
    }
}

std::string Profiler::report(size_t limit) const {
  std::vector<const Row *> sorted;
  for (const Row &row : rows)
    if (row.calls)
      sorted.push_back(&row);
  if (sorted.empty())
    return "nothing was profiled yet: run a step first\n";
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Row *a, const Row *b) { return a->nanoseconds > b->nanoseconds; });
  int64_t total = 0;
  for (const Row *row : sorted)
    total += row->nanoseconds;
  std::string text;
  reportEntries(text);
  text += " share     total ms    calls      us each   GFLOP/s      GB/s  command\n";
  int64_t shown = 0;
  for (size_t i = 0; i < std::min(limit, sorted.size()); ++i) {
    const Row &row = *sorted[i];
    double time = double(std::max<int64_t>(1, row.nanoseconds));
    appendLine(text, "%5.1f%% %12.3f %8lld %12.3f %9.1f %9.1f  ", share(row.nanoseconds, total),
               time / 1e6, (long long)row.calls, time / 1e3 / double(row.calls),
               double(row.flops) / time, double(row.bytes) / time);
    text += row.name + (row.module.empty() ? "" : " in " + row.module) +
            (row.location.empty() ? "" : " at " + row.location) + "\n";
    shown += row.nanoseconds;
  }
  if (sorted.size() > limit)
    appendLine(text, "%5.1f%% %12.3f in %zu more commands\n", share(total - shown, total),
               double(total - shown) / 1e6, sorted.size() - limit);
  reportModules(text, total);
  return text;
}

Status Profiler::writeTrace(const std::string &path) const {
  StatusOr<AtomicFile> file = AtomicFile::create(path);
  if (!file.ok())
    return file.status();
  SINTER_RETURN_IF_ERROR(file->write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":["));
  for (size_t i = 0; i < events.size(); ++i) {
    const Event &event = events[i];
    const Row &row = rows[event.command];
    char times[96];
    std::snprintf(times, sizeof times, "\"ts\":%.3f,\"dur\":%.3f",
                  double(nanoseconds(events[0].start, event.start)) / 1e3,
                  double(event.nanoseconds) / 1e3);
    SINTER_RETURN_IF_ERROR(
        file->write(concat(i ? ",\n" : "\n", "{\"ph\":\"X\",\"pid\":0,\"tid\":0,", times,
                           ",\"name\":", jsonQuote(row.name), ",\"cat\":", jsonQuote(row.entry),
                           ",\"args\":{\"module\":", jsonQuote(row.module),
                           ",\"location\":", jsonQuote(row.location), "}}")));
  }
  SINTER_RETURN_IF_ERROR(file->write("\n]}\n"));
  return file->commit();
}

} // namespace sinter::rt
