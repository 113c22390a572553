// usage: sinter-mutate [options]; --help lists them.
#include "Forks.h"
#include "Trial.h"

#include "sinter/base/error.h"

#include <algorithm>
#include <cstdio>
#include <random>
#include <set>
#include <string_view>
#include <thread>

namespace sinter::mutation {
namespace {

constexpr const char *kHelp =
    R"(usage: sinter-mutate [options]
Mutates the kernels of real programs and tells which mutants the emulated card's checks, or results, notice.
  --list            list the mutants, try none
  --verbose         what became of each mutant
  --program=NAME    only this program
  --kernel=TEXT     only kernels whose name contains it
  --kind=KIND       only barrier, index, mask, init, align, copy or wait
  --sample=N        N mutants chosen at random
  --seed=S          by this seed (1)
  --jobs=N          mutants at a time (the machine's threads)
  --at-least=P      fail if less than P percent are caught
  --survivors=FILE  the table of known survivors; fail unless it says of all why, and of no others
)";

struct Options {
  bool list = false, verbose = false;
  std::string program, kernel, kind, survivors;
  size_t sample = 0;
  unsigned seed = 1, jobs = std::max(1u, std::thread::hardware_concurrency());
  double atLeast = 0;
};

template <class T> T number(std::string_view flag, const std::string &value) {
  char *end = nullptr;
  double result = std::strtod(value.c_str(), &end);
  if (value.empty() || *end || result < 0)
    throw Error(std::string(flag) + "=" + value + " is no number; give one that is not negative");
  return T(result);
}

Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string text = argv[i], flag = text.substr(0, text.find('='));
    std::string value = flag == text ? "" : text.substr(flag.size() + 1);
    if (text == "--list")
      options.list = true;
    else if (text == "--verbose")
      options.verbose = true;
    else if (flag == "--program")
      options.program = value;
    else if (flag == "--kernel")
      options.kernel = value;
    else if (flag == "--kind")
      options.kind = value;
    else if (flag == "--survivors")
      options.survivors = value;
    else if (flag == "--sample")
      options.sample = number<size_t>(flag, value);
    else if (flag == "--seed")
      options.seed = number<unsigned>(flag, value);
    else if (flag == "--jobs")
      options.jobs = std::max(1u, number<unsigned>(flag, value));
    else if (flag == "--at-least")
      options.atLeast = number<double>(flag, value);
    else
      throw Error("unknown option '" + text + "'; sinter-mutate --help lists them");
  }
  auto isKind = [&](Kind kind) { return options.kind == nameOf(kind); };
  if (!options.kind.empty() && std::none_of(std::begin(kKinds), std::end(kKinds), isKind))
    throw Error("no kind '" + options.kind + "'; sinter-mutate --help lists them");
  return options;
}

/// A mutant of a kernel, or of a step's command list if it has no kernel.
struct Candidate {
  const RecordedStep *step = nullptr;
  const Subject *subject = nullptr;
  int64_t command = 0;
  Mutant mutant;
  std::string kernel() const {
    return step->name + "/" + (subject ? subject->launch.kernel : "commands");
  }
};

class Run {
public:
  explicit Run(Options options) : options(std::move(options)) {}
  int main();

private:
  void record();
  void collect();
  void tryAll();
  bool wants(Kind kind) const { return options.kind.empty() || options.kind == nameOf(kind); }

  Options options;
  std::vector<RecordedStep> steps;
  std::vector<std::pair<const RecordedStep *, std::vector<Subject>>> subjects;
  std::vector<Candidate> candidates;
  Tally tally;
  size_t flagged = 0;
};

void Run::record() {
  for (const std::string &name : programNames())
    if (options.program.empty() || options.program == name)
      steps.push_back(recordProgram(name));
  if (steps.empty())
    throw Error("no program '" + options.program +
                "'; there are mlp, cnn, transformer and "
                "operations");
  for (const RecordedStep &step : steps) {
    std::vector<Subject> all = subjectsOf(step);
    std::erase_if(all, [&](const Subject &subject) {
      return subject.launch.kernel.find(options.kernel) == std::string::npos;
    });
    subjects.emplace_back(&step, std::move(all));
  }
}

void Run::collect() {
  std::set<std::string> seen; // equal kernels have equal mutants
  for (auto &[step, list] : subjects) {
    for (const Subject &subject : list)
      if (seen.insert(fingerprint(subject)).second)
        for (const Mutant &mutant : subject.mutants)
          if (wants(mutant.kind))
            candidates.push_back({step, &subject, 0, mutant});
    if (!options.kernel.empty())
      continue;
    for (const Command &command : commandsOf(*step))
      if (wants(command.kind)) {
        Mutant mutant{command.kind, 0, 0, false, "is left out", command.what, ""};
        candidates.push_back({step, nullptr, command.number, mutant});
      }
  }
  if (options.sample == 0 || options.sample >= candidates.size())
    return;
  std::shuffle(candidates.begin(), candidates.end(), std::mt19937(options.seed));
  candidates.resize(options.sample);
}

void Run::tryAll() {
  if (candidates.empty())
    throw Error("no mutants to try: --list without --kernel and --kind shows what there is");
  std::set<const Subject *> needed;
  for (const Candidate &candidate : candidates)
    needed.insert(candidate.subject);
  for (auto &[step, list] : subjects)
    for (Subject &subject : list)
      if (needed.contains(&subject))
        if (std::string finding = runUnmutated(subject); !finding.empty()) {
          ++flagged;
          std::printf("flagged without a mutation: %s\n", finding.c_str());
        }
  runForked(
      candidates.size(), options.jobs,
      [&](size_t i) {
        const Subject *subject = candidates[i].subject;
        return 30 + (subject ? 20 * subject->seconds : 60);
      },
      [&](size_t i) {
        const Candidate &candidate = candidates[i];
        return encode(candidate.subject ? tryMutant(*candidate.subject, candidate.mutant)
                                        : tryWithout(*candidate.step, candidate.command));
      },
      [&](size_t i, const Ended &ended) {
        if (ended.how ==
            Ended::Failed) // nothing is known of the mutant, least of all that it is caught
          throw Error(candidates[i].kernel() + ": `" + candidates[i].mutant.code + "` " +
                      candidates[i].mutant.what + " could not be tried: " + ended.text);
        Verdict verdict = ended.how == Ended::Answered   ? decode(ended.text)
                          : ended.how == Ended::TimedOut ? Verdict{Fate::Hang, ended.text}
                                                         : Verdict{Fate::Crash, ended.text};
        const Candidate &candidate = candidates[i];
        if (options.verbose)
          std::printf("%s: %s: `%s` %s: %s %s\n", candidate.kernel().c_str(),
                      nameOf(candidate.mutant.kind), candidate.mutant.code.c_str(),
                      candidate.mutant.what.c_str(), nameOf(verdict.fate), verdict.text.c_str());
        tally.add(candidate.kernel(), candidate.mutant, verdict);
      });
}

int Run::main() {
  record();
  collect();
  if (options.list) {
    for (const Candidate &candidate : candidates)
      std::printf("%s %s: %s: `%s` %s\n", candidate.kernel().c_str(),
                  candidate.mutant.place.c_str(), nameOf(candidate.mutant.kind),
                  candidate.mutant.code.c_str(), candidate.mutant.what.c_str());
    return 0;
  }
  std::vector<KnownSurvivor> known;
  if (!options.survivors.empty())
    known = readSurvivors(options.survivors);
  tryAll();
  tally.print(known);
  bool whole = options.sample == 0 && options.program.empty() && options.kernel.empty() &&
               options.kind.empty();
  int failures = flagged != 0;
  for (const KnownSurvivor &row : known)
    if (whole && !row.met) {
      ++failures;
      std::printf("no mutant survives that row `%s` `%s` `%s` names\n", row.kernel.c_str(),
                  row.kind.c_str(), row.code.c_str());
    }
  if (!options.survivors.empty() && tally.unknownSurvivors() != 0)
    ++failures;
  if (tally.share() < options.atLeast)
    ++failures;
  return failures != 0;
}

} // namespace
} // namespace sinter::mutation

int main(int argc, char **argv) try {
  using namespace sinter::mutation;
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--help")
      return std::fputs(kHelp, stdout), 0;
  return Run(parse(argc, argv)).main();
} catch (const sinter::Error &error) {
  std::fprintf(stderr, "sinter-mutate: %s\n", error.what());
  return 2;
}
