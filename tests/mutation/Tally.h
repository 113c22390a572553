// What became of the mutants: figures by kind, survivors, and the reasons that are known for some.
#pragma once

#include "Mutants.h"

#include <map>
#include <string>
#include <vector>

namespace sinter::mutation {

enum class Fate { Check, Result, Hang, Crash, Equivalent, Survived };
const char *nameOf(Fate fate);

struct Verdict {
  Fate fate;
  std::string text; ///< the finding, the difference, the proof
};

/// A row of the table of survivors that are known: patterns with `*` and why.
struct KnownSurvivor {
  std::string kernel, kind, code, reason;
  bool met = false;
};
/// Rows of a Markdown table `| kernel | kind | code | why |`. Throws sinter::Error.
std::vector<KnownSurvivor> readSurvivors(const std::string &file);

class Tally {
public:
  void add(const std::string &kernel, const Mutant &mutant, const Verdict &verdict);
  /// The table, the survivors, and "mutation caught <share> of <n> mutants that change anything".
  void print(std::vector<KnownSurvivor> &known);
  /// Of the mutants that change anything, those that were noticed, in percent.
  double share() const;
  size_t unknownSurvivors() const { return unknown; }

private:
  struct Survivor {
    std::string kernel;
    Mutant mutant;
    std::string text;
  };
  struct Counts {
    size_t fates[6] = {};
  };
  Counts sum() const;
  std::map<Kind, Counts> kinds;
  std::map<std::string, size_t> proofs, findings;
  std::vector<Survivor> survivors;
  size_t unknown = 0;
};

} // namespace sinter::mutation
