#include "Tally.h"

#include "sinter/base/error.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/GlobPattern.h"

#include <cstdio>
#include <fstream>

namespace sinter::mutation {

std::vector<KnownSurvivor> readSurvivors(const std::string &file) {
  std::ifstream stream(file);
  if (!stream)
    throw Error("cannot read '" + file +
                "', the table of known survivors; give its path with "
                "--survivors=");
  std::vector<KnownSurvivor> rows;
  for (std::string text; std::getline(stream, text);) {
    llvm::StringRef line = llvm::StringRef(text).trim();
    if (!line.starts_with("| `"))
      continue;
    llvm::SmallVector<llvm::StringRef> cells;
    line.split(cells, '|');
    if (cells.size() != 6)
      throw Error("'" + file + "': a row has four cells: " + text);
    auto plain = [&](int i) { return cells[i].trim().trim('`').str(); };
    rows.push_back({plain(1), plain(2), plain(3), plain(4)});
  }
  return rows;
}

const char *nameOf(Fate fate) {
  static const char *const names[] = {"check", "result", "hang", "crash", "equivalent", "survived"};
  return names[int(fate)];
}

static bool matches(const std::string &pattern, const std::string &text) {
  auto glob = llvm::GlobPattern::create(pattern);
  if (!glob)
    throw Error("pattern '" + pattern +
                "' of the known survivors: " + llvm::toString(glob.takeError()));
  return glob->match(text);
}

void Tally::add(const std::string &kernel, const Mutant &mutant, const Verdict &verdict) {
  ++kinds[mutant.kind].fates[int(verdict.fate)];
  if (verdict.fate == Fate::Equivalent)
    ++proofs[verdict.text];
  if (verdict.fate == Fate::Check)
    ++findings[llvm::StringRef(verdict.text).split(" at ").first.str()];
  if (verdict.fate == Fate::Survived)
    survivors.push_back({kernel, mutant, verdict.text});
}

Tally::Counts Tally::sum() const {
  Counts all;
  for (const auto &[kind, counts] : kinds)
    for (int i = 0; i < 6; ++i)
      all.fates[i] += counts.fates[i];
  return all;
}

static size_t changing(const size_t (&fates)[6]) {
  size_t total = 0;
  for (int i = 0; i < 6; ++i)
    total += i == int(Fate::Equivalent) ? 0 : fates[i];
  return total;
}

static double shareOf(const size_t (&fates)[6]) {
  size_t all = changing(fates);
  return all == 0 ? 100 : 100.0 * double(all - fates[int(Fate::Survived)]) / double(all);
}

double Tally::share() const { return shareOf(sum().fates); }

static void printRow(const char *name, const size_t (&fates)[6]) {
  size_t total = changing(fates) + fates[int(Fate::Equivalent)];
  std::printf("%-8s %7zu %10zu %8zu %9zu %5zu %6zu %9zu  %6.2f %%\n", name, total,
              fates[int(Fate::Equivalent)], fates[int(Fate::Check)], fates[int(Fate::Result)],
              fates[int(Fate::Hang)], fates[int(Fate::Crash)], fates[int(Fate::Survived)],
              shareOf(fates));
}

void Tally::print(std::vector<KnownSurvivor> &known) {
  unknown = 0;
  for (const Survivor &survivor : survivors) {
    const Mutant &mutant = survivor.mutant;
    std::string reason;
    for (KnownSurvivor &row : known)
      if (reason.empty() && matches(row.kernel, survivor.kernel) &&
          matches(row.kind, nameOf(mutant.kind)) && matches(row.code, mutant.code)) {
        row.met = true;
        reason = row.reason;
      }
    unknown += reason.empty();
    std::printf("survived: %s %s: %s: `%s` %s%s%s\n", survivor.kernel.c_str(), mutant.place.c_str(),
                nameOf(mutant.kind), mutant.code.c_str(), mutant.what.c_str(),
                reason.empty() ? "; no known reason" : ": ", reason.c_str());
  }
  std::printf("\nkind     mutants equivalent by check by result hangs crash survivors   share\n");
  for (const auto &[kind, counts] : kinds)
    printRow(nameOf(kind), counts.fates);
  Counts all = sum();
  printRow("all", all.fates);
  for (const auto &[proof, count] : proofs)
    std::printf("equivalent: %zu: %s\n", count, proof.c_str());
  for (const auto &[finding, count] : findings)
    std::printf("by check: %zu: %s\n", count, finding.c_str());
  std::printf("mutation caught %.2f %% of %zu mutants that change anything\n", shareOf(all.fates),
              changing(all.fates));
}

} // namespace sinter::mutation
