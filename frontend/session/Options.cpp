#include "sinter/base/text.h"
#include "sinter/session.h"

#include "sinter/base/error.h"

#include <charconv>
#include <functional>

namespace sinter {

namespace {

struct Flag {
  const char *name, *value, *help; ///< without a value: a switch
  void (*set)(Options &options, std::string_view flag, std::string_view value);
};

template <class T> T number(std::string_view flag, std::string_view value, T least) {
  T result{};
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size() || result < least)
    throw Error(concat(flag, ": '", value, "' is no whole number from ", least, " on"));
  return result;
}

bool truth(std::string_view flag, std::string_view value) {
  if (value.empty() || value == "true" || value == "1" || value == "on")
    return true;
  if (value == "false" || value == "0" || value == "off")
    return false;
  throw Error(concat(flag, ": '", value, "' is neither on nor off"));
}

void oneOf(std::string_view flag, std::string_view value, std::vector<std::string> choices) {
  std::string list;
  for (const std::string &choice : choices) {
    if (value == choice)
      return;
    list += (list.empty() ? "" : ", ") + choice;
  }
  throw Error(concat(flag, ": '", value, "' is not one of ", list));
}

constexpr std::string_view kPrefix = "--sinter-";

/// Options of the process's CUDA devices, which the runtime reads when one is used.
void keepForCuda(Options &options, std::string_view flag, std::string_view value) {
  options.cuda.push_back(concat(flag.substr(kPrefix.size()), "=", value));
}

const Flag kFlags[] = {
    {"device", "cpu|cuda[:N]|emu", "where steps run; emu: CUDA kernels on an emulated card (cpu)",
     [](Options &o, std::string_view flag, std::string_view value) {
       if (value.starts_with("cuda:"))
         number<int>(flag, value.substr(5), 0);
       else
         oneOf(flag, value, {"cpu", "cuda", "cuda:N", "emu"});
       o.device = value;
     }},
    {"device-memory", "BYTES|SHARE", "cuda: how much of the card to take at most, 8G or 0.5 (0.95)",
     keepForCuda},
    {"device-memory-growth", "on|off", "cuda: take memory when it is needed, or all at once (on)",
     keepForCuda},
    {"device-sync", "on|off", "cuda: wait after each kernel, so that errors name it (off)",
     keepForCuda},
    {"staging-memory", "BYTES", "cuda: pinned memory for copies to and from the card (32M)",
     keepForCuda},
    {"logical-devices", "N:BYTES,…", "cuda: make several devices of card N, 0:4G,4G", keepForCuda},
    {"cuda-driver", "FILE", "cuda: path of libcuda (the system's)", keepForCuda},
    {"cuda-libraries", "FOLDERS", "cuda: where cuBLASLt and cuDNN are", keepForCuda},
    {"emu", "check|count", "have the emulated card check kernels, or count what they do",
     [](Options &o, std::string_view flag, std::string_view value) {
       oneOf(flag, value, {"check", "count"});
       o.emu = value;
     }},
    {"card", "NAME", "whose times the counts predict (h200)",
     [](Options &o, std::string_view flag, std::string_view value) {
       oneOf(flag, value, {"h200", "a100"});
       o.card = value;
     }},
    {"seed", "N", "of initial values, dropout and other random numbers (0)",
     [](Options &o, std::string_view flag, std::string_view value) {
       o.seed = number<uint64_t>(flag, value, 0);
     }},
    {"threads", "N", "worker threads, the caller's included (0: all the machine has)",
     [](Options &o, std::string_view flag, std::string_view value) {
       o.threads = number<int>(flag, value, 0);
     }},
    {"vendor", "auto|onednn|nvidia|none", "library for matrix products and convolutions (auto)",
     [](Options &o, std::string_view flag, std::string_view value) {
       oneOf(flag, value, {"auto", "onednn", "nvidia", "none"});
       o.vendor = value;
     }},
    {"dump-ir", "all|after:<pass>", "print the graph after passes, to stderr; may be repeated",
     [](Options &o, std::string_view flag, std::string_view value) {
       if (value.empty())
         throw Error(concat(flag, ": say which: --sinter-dump-ir=all or =after:<pass>"));
       o.dumpIr.emplace_back(value);
     }},
    {"profile", "", "a table of times at the end, on stderr; =FILE also writes a Chrome trace",
     [](Options &o, std::string_view, std::string_view value) {
       o.profile = value.empty() ? "-" : std::string(value);
     }},
    {"check-numerics", "", "stop at the first NaN or infinity, naming its line",
     [](Options &o, std::string_view flag, std::string_view value) {
       o.checkNumerics = truth(flag, value);
     }},
    {"print-fusion", "", "print what was fused, and why the rest was not",
     [](Options &o, std::string_view flag, std::string_view value) {
       o.printFusion = truth(flag, value);
     }},
    {"fuse", "", "=off: one kernel an operation, for comparison",
     [](Options &o, std::string_view flag, std::string_view value) {
       o.fuse = truth(flag, value);
     }},
    {"deterministic", "", "=off: let sums on a card come out in any order, which is faster",
     [](Options &o, std::string_view flag, std::string_view value) {
       o.deterministic = truth(flag, value);
     }},
    {"verbose", "", "=off: no line for each compilation",
     [](Options &o, std::string_view flag, std::string_view value) {
       o.verbose = truth(flag, value);
     }},
};

} // namespace

void Options::set(std::string_view flag) {
  size_t equals = flag.find('=');
  std::string_view name = flag.substr(0, equals);
  std::string_view value = equals == flag.npos ? std::string_view() : flag.substr(equals + 1);
  std::vector<std::string> known;
  for (const Flag &candidate : kFlags) {
    known.push_back(concat(kPrefix, candidate.name));
    if (name != known.back())
      continue;
    if (*candidate.value && equals == flag.npos)
      throw Error(concat(name, " needs a value: ", name, "=", candidate.value));
    return candidate.set(*this, name, value);
  }
  std::string_view near = nearestName(name, known);
  throw Error(concat("unknown option ", name,
                     near.empty() ? std::string("; --help lists the options")
                                  : concat("; did you mean ", near, "?")));
}

Options Options::fromArgs(int &argc, char **argv) {
  Options options;
  int kept = 0;
  for (int i = 0; i < argc; ++i) {
    if (i && std::string_view(argv[i]).starts_with(kPrefix))
      options.set(argv[i]);
    else
      argv[kept++] = argv[i];
  }
  argc = kept;
  argv[argc] = nullptr;
  return options;
}

std::string Options::help() {
  std::string text;
  for (const Flag &flag : kFlags) {
    std::string left = concat("  ", kPrefix, flag.name, *flag.value ? "=" : "", flag.value);
    left.resize(std::max<size_t>(left.size() + 1, 36), ' ');
    text += left + flag.help + "\n";
  }
  return text;
}

} // namespace sinter
