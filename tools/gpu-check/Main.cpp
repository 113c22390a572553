// gpu-check: runs recorded programs on a card, or on the emulated one, and judges the results. What
// a bundle made by `./dev gpu-check` holds; see docs/gpu.md.
#include "Libraries.h"
#include "Measure.h"
#include "Results.h"
#include "RunPack.h"

#include "sinter/base/text.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <optional>
#include <sstream>

namespace fs = std::filesystem;

namespace sinter::gpucheck {

namespace {

/// Exit statuses. kLost: the device died of what it ran; the cases behind it did not run.
constexpr int kPassed = 0, kFailed = 1, kUsage = 2, kLost = 3, kNoDevice = 4;

struct Flags {
  std::string device = "cuda";
  std::string packs, emulated;
  std::string only, after;
  std::string shard = "0/1";
  std::string results;
  std::string serve;
  std::string driver, libraries;
  size_t steps = std::numeric_limits<size_t>::max();
  size_t every = 1;
  int threads = 0;
  bool list = false, measure = false, checkLibraries = false;
};

int fail(const std::string &message, int status = kFailed) {
  std::fprintf(stderr, "gpu-check: %s\n", message.c_str());
  return status;
}

class Checker {
public:
  Checker(const Flags &flags, Target *target) : flags(flags), target(target) {}

  Status openResults() { return flags.results.empty() ? Status() : results.open(flags.results); }
  int run(const std::vector<fs::path> &files);
  int measure(const std::vector<fs::path> &files);
  int checkLibraries();
  int serve(const std::vector<fs::path> &files);

private:
  bool wanted(const std::string &name);
  void report(const Record &record);
  void runPack(const Pack &pack, const std::vector<const Case *> &chosen);
  bool runCase(LoadedPack &loaded, const Case &c, const std::string &name);
  bool deviceWorks();
  Status measurePack(const Pack &pack, double bandwidth);
  void libraryRecord(const char *name, const LibraryVerdict &verdict);

  const Flags &flags;
  Target *target; ///< null: cases are only listed
  Results results;
  Status trouble; ///< of the results file
  size_t passed = 0, failed = 0, seen = 0;
  bool behind = false; ///< the case of --after has been seen
  bool lost = false;
};

std::string nameOf(const Pack &pack, const Case &c) { return pack.name + ": " + c.name; }

void Checker::report(const Record &record) {
  if (Status status = results.write(record); !status.ok())
    trouble = status;
}

/// Whether the case is asked for; to be called once for each, in order.
bool Checker::wanted(const std::string &name) {
  size_t position = seen++;
  bool isBehind = flags.after.empty() || behind;
  behind |= name == flags.after;
  return isBehind && name.find(flags.only) != name.npos && position % flags.every == 0;
}

bool Checker::deviceWorks() {
  int32_t sent = 7, got = 0;
  rt::Device &device = target->device();
  auto memory = device.allocate(sizeof sent, {"gpu-check", ""});
  if (!memory.ok())
    return false;
  bool works = device.copyToDevice(*memory, &sent, sizeof sent, {"gpu-check", ""}).ok() &&
               device.copyToHost(&got, *memory, sizeof got, {"gpu-check", ""}).ok() &&
               device.synchronize().ok() && got == sent;
  device.free(*memory);
  return works;
}

/// False if the device is lost.
bool Checker::runCase(LoadedPack &loaded, const Case &c, const std::string &name) {
  report(Record("begun").add("name", name)); // should the case crash
  Verdict verdict = loaded.run(c, flags.steps);
  Record record("case");
  record.add("name", name).add("status", verdict.passed() ? "passed" : "failed");
  record.add("worst", verdict.worst);
  std::string message = verdict.error.message();
  for (const std::string &failure : verdict.failures)
    message += (message.empty() ? "" : "\n  ") + failure;
  if (!verdict.passed()) {
    record.add("message", message);
    std::printf("FAILED %s\n  %s\n", name.c_str(), message.c_str());
  }
  report(record);
  ++(verdict.passed() ? passed : failed);
  return verdict.error.ok() || deviceWorks();
}

void Checker::runPack(const Pack &pack, const std::vector<const Case *> &chosen) {
  auto loaded = LoadedPack::load(pack, *target);
  if (!loaded.ok()) {
    // One failure for each case, so that the count does not depend on what failed.
    std::printf("FAILED %s\n  %s\n", pack.name.c_str(), loaded.status().message().c_str());
    for (const Case *c : chosen)
      report(Record("case")
                 .add("name", nameOf(pack, *c))
                 .add("status", "failed")
                 .add("message", loaded.status().message()));
    failed += chosen.size();
    lost = !deviceWorks();
    return;
  }
  size_t before = failed;
  for (const Case *c : chosen)
    if (!runCase(**loaded, *c, nameOf(pack, *c))) {
      lost = true;
      std::printf("the device is lost; what follows did not run\n");
      return;
    }
  std::printf("%-40s %4zu cases, %zu failed; kernels loaded in %.2f s\n", pack.name.c_str(),
              chosen.size(), failed - before, (*loaded)->loadSeconds());
  std::fflush(stdout);
}

int Checker::run(const std::vector<fs::path> &files) {
  for (const fs::path &file : files) {
    auto pack = readPack(file.string());
    if (!pack.ok())
      return fail(pack.status().message());
    std::vector<const Case *> chosen;
    for (const Case &c : pack->cases)
      if (wanted(nameOf(*pack, c)))
        chosen.push_back(&c);
    if (flags.list)
      for (const Case *c : chosen)
        std::printf("%s\n", nameOf(*pack, *c).c_str());
    else if (!chosen.empty())
      runPack(*pack, chosen);
    if (lost)
      break;
  }
  if (flags.list)
    return kPassed;
  if (!trouble.ok())
    return fail(trouble.message());
  if (!lost && !flags.after.empty() && !behind)
    return fail("no case is called '" + flags.after + "'; --list lists them", kUsage);
  if (!lost && passed + failed == 0 && flags.after.empty())
    return fail("no case contains '" + flags.only + "' and is in shard " + flags.shard +
                    "; --list lists them",
                kUsage);
  std::printf("%zu passed, %zu failed\n", passed, failed);
  return lost ? kLost : failed ? kFailed : kPassed;
}

Status Checker::measurePack(const Pack &pack, double bandwidth) {
  auto loaded = LoadedPack::load(pack, *target);
  if (!loaded.ok())
    return loaded.status();
  const Case &c = pack.cases.front();
  auto times = kernelTimes(**loaded, c, *target->cuda());
  if (!times.ok())
    return times.status();
  std::stable_sort(times->begin(), times->end(),
                   [](const KernelTime &a, const KernelTime &b) { return a.seconds > b.seconds; });
  double sum = 0;
  std::printf("%s: kernels of a step, slowest first\n", pack.name.c_str());
  for (const KernelTime &time : *times) {
    double rate = double(time.bytes) / time.seconds, share = rate / bandwidth;
    sum += time.seconds;
    std::printf("  %10.2f us %9.1f GB/s %6.1f %% of the bandwidth  %s\n", 1e6 * time.seconds,
                rate / 1e9, 100 * share, time.command.c_str());
    report(Record("kernel")
               .add("model", pack.name)
               .add("command", time.command)
               .add("symbol", time.symbol)
               .add("microseconds", 1e6 * time.seconds)
               .add("bytes", time.bytes)
               .add("share", share));
  }
  std::printf("  %10.2f us together\n", 1e6 * sum);
  report(Record("step").add("model", pack.name).add("kernelMicroseconds", 1e6 * sum));
  return {};
}

int Checker::measure(const std::vector<fs::path> &files) {
  if (!target->cuda())
    return fail("--measure: the emulated card has no times; run it with --device=cuda", kUsage);
  auto bandwidth = copyBandwidth(*target->cuda());
  if (!bandwidth.ok())
    return fail(bandwidth.status().message());
  std::printf("bandwidth of a copy on the card: %.1f GB/s\n", *bandwidth / 1e9);
  report(Record("bandwidth").add("gigabytesPerSecond", *bandwidth / 1e9));
  for (const fs::path &file : files) {
    auto pack = readPack(file.string());
    if (!pack.ok())
      return fail(pack.status().message());
    if (!pack->name.starts_with("training/") || pack->name.find(flags.only) == std::string::npos)
      continue;
    if (Status status = measurePack(*pack, *bandwidth); !status.ok())
      return fail(pack->name + ": " + status.message());
  }
  return trouble.ok() ? kPassed : fail(trouble.message());
}

void Checker::libraryRecord(const char *name, const LibraryVerdict &verdict) {
  bool isAbsent = verdict.version.empty() && verdict.status.code() == Code::NotFound;
  const char *status = verdict.status.ok() ? "passed" : isAbsent ? "skipped" : "failed";
  failed += !verdict.status.ok() && !isAbsent;
  std::printf("%s: %s%s%s\n", verdict.version.empty() ? name : verdict.version.c_str(), status,
              verdict.status.ok() ? "" : ": ", verdict.status.message().c_str());
  report(Record("library")
             .add("name", std::string("library/") + name)
             .add("version", verdict.version)
             .add("status", status)
             .add("worst", verdict.worst)
             .add("message", verdict.status.message()));
}

int Checker::checkLibraries() {
  if (!target->cuda())
    return fail("--check-libraries: they run on cards only; run it with --device=cuda", kUsage);
  rt::CudaLibraryOptions options;
  options.searchPath = rt::CudaPlatform::global().options().libraries;
  libraryRecord("cuBLASLt", checkMatmulLibrary(*target->cuda(), options));
  libraryRecord("cuDNN", checkConvolutionLibrary(*target->cuda(), options));
  if (!trouble.ok())
    return fail(trouble.message());
  return failed ? kFailed : kPassed;
}

/// Answers "run N" with the seconds that N steps take.
int Checker::serve(const std::vector<fs::path> &files) {
  for (const fs::path &file : files) {
    auto pack = readPack(file.string());
    if (!pack.ok())
      return fail(pack.status().message());
    if (pack->name != flags.serve)
      continue;
    auto loaded = LoadedPack::load(*pack, *target);
    if (!loaded.ok())
      return fail(loaded.status().message());
    const Case &c = pack->cases.front();
    auto executable = (*loaded)->prepare(c, target->device());
    if (!executable.ok())
      return fail(executable.status().message());
    std::printf("ready\n");
    std::fflush(stdout);
    std::string line, what;
    int64_t count = 0;
    while (std::getline(std::cin, line)) {
      std::istringstream words(line);
      if (!(words >> what >> count) || what != "run" || count <= 0)
        return fail("'" + line + "' is not 'run N'", kUsage);
      auto seconds = stepSeconds(**executable, c, count);
      if (!seconds.ok())
        return fail(seconds.status().message());
      std::printf("%.9f\n", *seconds);
      std::fflush(stdout);
    }
    return kPassed;
  }
  return fail("no pack is called '" + flags.serve + "'", kUsage);
}

std::optional<std::string> mistakeIn(const Flags &flags) {
  if (flags.device != "emu" && flags.device != "cuda" && !flags.device.starts_with("cuda:"))
    return "--device is cuda, cuda:<number> or emu, not '" + flags.device + "'";
  size_t part = 0, parts = 0;
  char rest = 0;
  if (std::sscanf(flags.shard.c_str(), "%zu/%zu%c", &part, &parts, &rest) != 2 || part >= parts)
    return "--shard is i/n with i below n, not '" + flags.shard + "'";
  return std::nullopt;
}

/// The packs below a folder that are in the shard, by name. A kernel's code is compiled once, by
/// the process that has its pack; by size, so that all have about as much to compile.
std::vector<fs::path> packsIn(const std::string &folder, const std::string &shard) {
  std::vector<std::pair<uintmax_t, fs::path>> all;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    if (it->path().extension() == ".pack")
      all.emplace_back(it->file_size(), it->path());
  std::sort(all.begin(), all.end(), std::greater<>());
  size_t part = 0, parts = 1;
  std::sscanf(shard.c_str(), "%zu/%zu", &part, &parts);
  std::vector<fs::path> files;
  for (size_t i = part; i < all.size(); i += parts)
    files.push_back(all[i].second);
  std::sort(files.begin(), files.end());
  return files;
}

StatusOr<std::unique_ptr<Target>> openTarget(const Flags &flags) {
  if (flags.device == "emu")
    return Target::openEmulated(flags.emulated, flags.threads);
  int index = 0;
  std::string_view number = std::string_view(flags.device).substr(4); // behind "cuda"
  if (!number.empty()) {
    const char *last = number.data() + number.size();
    auto [end, error] = std::from_chars(number.data() + 1, last, index);
    if (error != std::errc() || end != last || index < 0)
      return makeError(Code::InvalidArgument, "--device=", flags.device,
                       ": a card is cuda:<number>");
  }
  rt::CudaOptions options;
  options.driver = flags.driver;
  options.libraries = flags.libraries;
  return Target::openCuda(index, options);
}

void addFlags(CLI::App &app, Flags &flags) {
  app.add_option("--device", flags.device, "cuda, cuda:<number> or emu")->capture_default_str();
  app.add_option("--packs", flags.packs, "folder of packs; default: packs beside this program");
  app.add_option("--emulated", flags.emulated,
                 "emu: folder of emulated kernels; default: emulated beside this program");
  app.add_option("--only", flags.only, "cases whose name contains this text");
  app.add_option("--after", flags.after, "cases behind the one of this name");
  app.add_option("--shard", flags.shard, "i/n: every n-th pack by size, from number i")
      ->capture_default_str();
  app.add_option("--every", flags.every, "every n-th case")->check(CLI::PositiveNumber);
  app.add_option("--steps", flags.steps, "at most so many steps of a training")
      ->check(CLI::PositiveNumber);
  app.add_option("--threads", flags.threads, "emu: host threads; 0: one a core")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--results", flags.results, "file to append one JSON object a line to");
  app.add_option("--cuda-driver", flags.driver, "libcuda to use instead of the system's");
  app.add_option("--cuda-libraries", flags.libraries,
                 "folders to look for cuBLASLt and cuDNN in, as a:b; site-packages will do");
  app.add_flag("--list", flags.list, "list the cases instead of running them");
  app.add_flag("--measure", flags.measure, "times of each kernel of the trainings, no cases");
  app.add_flag("--check-libraries", flags.checkLibraries, "cuBLASLt and cuDNN, no cases");
  app.add_option("--serve", flags.serve, "answer 'run N' with the seconds of N steps of this pack");
}

int main(int argc, char **argv) {
  Flags flags;
  CLI::App app("Runs recorded programs on a card and compares the results with stored ones.\n"
               "Exit status: 0 all passed, 1 something failed, 2 the command line is wrong,\n"
               "3 the device was lost on the way, 4 there is no device.");
  addFlags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? kPassed : kUsage;
  }
  if (auto mistake = mistakeIn(flags))
    return fail(*mistake, kUsage);
  fs::path here = fs::canonical("/proc/self/exe").parent_path();
  if (flags.packs.empty())
    flags.packs = here / "packs";
  if (flags.emulated.empty())
    flags.emulated = here / "emulated";
  std::vector<fs::path> files = packsIn(flags.packs, flags.shard);
  if (files.empty())
    return fail("no packs for shard " + flags.shard + " in " + flags.packs +
                    "; --packs names their folder",
                kUsage);
  if (flags.list)
    return Checker(flags, nullptr).run(files);
  auto target = openTarget(flags);
  if (!target.ok())
    return fail(target.status().message(), kNoDevice);
  std::printf("device: %s\n", (*target)->describe().c_str());
  Checker checker(flags, target->get());
  if (Status status = checker.openResults(); !status.ok())
    return fail(status.message());
  if (!flags.serve.empty())
    return checker.serve(files);
  if (flags.measure)
    return checker.measure(files);
  if (flags.checkLibraries)
    return checker.checkLibraries();
  return checker.run(files);
}

} // namespace

} // namespace sinter::gpucheck

int main(int argc, char **argv) { return sinter::gpucheck::main(argc, argv); }
