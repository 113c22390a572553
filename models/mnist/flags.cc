#include "flags.h"

#include "sinter/base/text.h"
#include "sinter/sinter.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

namespace mnist {

using sinter::Error;

static constexpr const char *kUsage =
    R"(usage: mnist_train [flags]
  --model=cnn|mlp          the network (default cnn)
  --data=DIR               the four idx files (default: the ones of the repository)
  --limit=N                only the first N samples of each set
  --epochs=N               default 5
  --batch=N                default 64
  --learning-rate=X        default 0.001 (AdamW, cosine schedule)
  --target=X               stop after the epoch whose test accuracy reaches X, e.g. 0.99
  --steps=N                stop after N steps in all, wherever that is
  --checkpoints=DIR        save there each epoch and every --save-every steps; a run that finds a
                           checkpoint goes on from it with the same bits (Ctrl-C saves, too)
  --save-every=N           default 200
  --losses=FILE            write the loss of each step, as hexadecimal floats
  --batches=PREFIX         write what the steps were fed, as PREFIX-images and PREFIX-labels (idx)
  --predictions=FILE       write the logits of the test set, f32 [n, 10], as .npy
  --package=FILE           write the trained network for `sinter compile` (FILE ends in .mlirbc)
  --initial-package=FILE   the same as it is before the first step
  --help                   this text; also:
)";

using Place = std::variant<std::string *, int64_t *, double *>;

template <class T> static void parseNumber(const std::string &flag, std::string_view text, T &to) {
  constexpr double kMost = 1e12; // far from where products of two of them overflow
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0) ||
      double(value) > kMost)
    throw Error(flag + ": '" + std::string(text) + "' is not a positive number up to 1e12");
  to = value;
}

static void set(const std::string &flag, Place place, std::string_view text) {
  if (auto *word = std::get_if<std::string *>(&place))
    **word = text;
  else if (auto *integer = std::get_if<int64_t *>(&place))
    parseNumber(flag, text, **integer);
  else
    parseNumber(flag, text, *std::get<double *>(place));
}

static std::string unknown(const std::string &word,
                           std::span<const std::pair<const char *, Place>> known) {
  std::vector<std::string> names;
  for (const auto &[name, place] : known)
    names.push_back(name);
  std::string name = word.substr(0, word.find('='));
  if (std::find(names.begin(), names.end(), name) != names.end())
    return name + " needs a value: " + name + "=…";
  std::string_view near = sinter::nearestName(name, names);
  return "unknown flag '" + word + "'" +
         (near.empty() ? "; --help lists the flags" : "; did you mean " + std::string(near) + "?");
}

Flags parseFlags(int argc, char **argv) {
  Flags flags;
  const std::pair<const char *, Place> known[] = {
      {"--model", &flags.model},
      {"--data", &flags.data},
      {"--limit", &flags.limit},
      {"--epochs", &flags.epochs},
      {"--batch", &flags.batch},
      {"--learning-rate", &flags.learningRate},
      {"--target", &flags.target},
      {"--steps", &flags.steps},
      {"--checkpoints", &flags.checkpoints},
      {"--save-every", &flags.saveEvery},
      {"--losses", &flags.losses},
      {"--batches", &flags.batches},
      {"--predictions", &flags.predictions},
      {"--package", &flags.package},
      {"--initial-package", &flags.initialPackage},
  };
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--help") {
      std::printf("%s%s", kUsage, sinter::Options::help().c_str());
      std::exit(0);
    }
    size_t equals = word.find('=');
    bool found = false;
    for (auto &[name, place] : known)
      if (equals != word.npos && word.substr(0, equals) == name) {
        set(name, place, word.substr(equals + 1));
        found = true;
      }
    if (!found)
      throw Error(unknown(std::string(word), known));
  }
  if (flags.model != "cnn" && flags.model != "mlp")
    throw Error("--model: '" + flags.model + "' is neither cnn nor mlp");
  return flags;
}

} // namespace mnist
