// Trains a network on MNIST, evaluates it, and packages it for `sinter compile`.
#include "models.h"
#include "progress.h"

#include "sinter/core/file.h"
#include "sinter/data.h"

#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

namespace {

using namespace mnist;

constexpr const char *kUsage =
    R"(usage: mnist_train [flags]
  --model=cnn|mlp        the network (default cnn)
  --data=DIR             the four idx files (default: the ones of the repository)
  --epochs=N             default 5
  --batch=N              default 64
  --learning-rate=X      default 0.001 (AdamW, cosine schedule)
  --target=X             stop after the epoch whose test accuracy reaches X, e.g. 0.99
  --steps=N              stop after N steps in all, wherever that is
  --checkpoints=DIR      save there each epoch and every --save-every steps; a run that finds a
                         checkpoint goes on from it with the same bits (Ctrl-C saves, too)
  --save-every=N         default 200
  --losses=FILE          write the loss of each step, as hexadecimal floats
  --package=FILE         write the trained network for `sinter compile` (FILE ends in .mlirbc)
  --help                 this text; also:
)";

struct Flags {
  std::string model = "cnn", data = MNIST_DATA, checkpoints, losses, package;
  int64_t epochs = 5, batch = 64, steps = -1, saveEvery = 200;
  double learningRate = 1e-3, target = 2;
};

template <class T> T number(const char *flag, std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0)
    throw sn::Error(std::string(flag) + ": '" + std::string(text) + "' is not a positive number");
  return value;
}

Flags parse(int argc, char **argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    auto takes = [&](std::string_view name) -> std::optional<std::string_view> {
      if (!word.starts_with(name) || word.size() <= name.size() || word[name.size()] != '=')
        return std::nullopt;
      return word.substr(name.size() + 1);
    };
    if (word == "--help") {
      std::printf("%s%s", kUsage, sn::Options::help().c_str());
      std::exit(0);
    } else if (auto text = takes("--model")) {
      flags.model = *text;
      if (flags.model != "cnn" && flags.model != "mlp")
        throw sn::Error("--model: '" + flags.model + "' is neither cnn nor mlp");
    } else if (auto text = takes("--data")) {
      flags.data = *text;
    } else if (auto text = takes("--epochs")) {
      flags.epochs = number<int64_t>("--epochs", *text);
    } else if (auto text = takes("--batch")) {
      flags.batch = number<int64_t>("--batch", *text);
    } else if (auto text = takes("--learning-rate")) {
      flags.learningRate = number<double>("--learning-rate", *text);
    } else if (auto text = takes("--target")) {
      flags.target = number<double>("--target", *text);
    } else if (auto text = takes("--steps")) {
      flags.steps = number<int64_t>("--steps", *text);
    } else if (auto text = takes("--save-every")) {
      flags.saveEvery = number<int64_t>("--save-every", *text);
    } else if (auto text = takes("--checkpoints")) {
      flags.checkpoints = *text;
    } else if (auto text = takes("--losses")) {
      flags.losses = *text;
    } else if (auto text = takes("--package")) {
      flags.package = *text;
    } else {
      throw sn::Error("unknown flag '" + std::string(word) + "'; --help lists the flags");
    }
  }
  return flags;
}

std::atomic<bool> interrupted = false;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Net> class Trainer {
public:
  Trainer(const Flags &flags, const sn::Options &options)
      : flags(flags), session(options), files(sn::data::mnist(flags.data)),
        train(sn::data::from(files.train)
                  .shuffle(options.seed + 1)
                  .batch(flags.batch, {.dropLast = true})
                  .prefetch()),
        test(sn::data::from(files.test).batch(kTestBatch).prefetch()), net(session),
        optimizer(net.parameters(), {.learningRate = flags.learningRate}) {
    optimizer.schedule(sn::cosine_schedule(flags.epochs * train.batchesPerEpoch()));
    if (!flags.checkpoints.empty())
      checkpoints.emplace(session, flags.checkpoints);
  }

  int run() {
    auto step = sn::jit(session, [this](Digits<Tensor> b) {
      Report<Tensor> r = report(b);
      optimizer.minimize(r.loss);
      return r;
    });
    auto evaluate =
        sn::jit(session, [this](Digits<Tensor> b) { return report(b); }, {.mode = sn::Mode::Inference});

    int64_t done = 0;
    if (checkpoints)
      done = std::max<int64_t>(0, checkpoints->resume(&train));
    if (done)
      std::printf("resumed at step %lld\n", static_cast<long long>(done));
    double start = now(), accuracy = 0;
    bool finished = false;
    int64_t perEpoch = train.batchesPerEpoch();
    for (int64_t epoch = done / perEpoch; epoch < flags.epochs && !finished; ++epoch) {
      Progress progress("epoch " + std::to_string(epoch + 1) + "/" + std::to_string(flags.epochs),
                        perEpoch, flags.batch);
      train.resetStats();
      for (const Digits<sn::Array> &b : sn::data::epoch<Digits>(train)) {
        Report<sn::Array> r = step(b);
        float loss = r.loss.template item<float>();
        losses.push_back(loss);
        ++done;
        progress.update((done - 1) % perEpoch + 1, loss, r.accuracy.template item<float>(),
                        train.stats().waitShare());
        bool stop = interrupted || done == flags.steps;
        if (checkpoints && (stop || done % flags.saveEvery == 0 || done % perEpoch == 0))
          checkpoints->save(done, &train);
        if (stop) {
          progress.finish();
          return leave(done);
        }
      }
      progress.finish();
      accuracy = measure(evaluate);
      std::printf("epoch %lld: test accuracy %.2f %%\n", static_cast<long long>(epoch + 1),
                  100 * accuracy);
      finished = accuracy >= flags.target;
    }
    if (checkpoints)
      checkpoints->wait();
    if (flags.epochs * perEpoch == done || finished)
      std::printf("train_seconds %.1f\ntest_accuracy %.4f\n", now() - start,
                  accuracy > 0 ? accuracy : measure(evaluate));
    writeLosses();
    if (!flags.package.empty())
      package(step);
    return 0;
  }

private:
  static constexpr int64_t kTestBatch = 100;

  Report<Tensor> report(Digits<Tensor> b) {
    Tensor logits = net(normalise(b.image));
    Tensor hit = cast(argmax(logits, 1) == b.label, sn::f32);
    return {cross_entropy(logits, b.label), mean(hit)};
  }

  template <class Evaluate> double measure(Evaluate &evaluate) {
    double sum = 0;
    int64_t batches = 0;
    for (const Digits<sn::Array> &b : sn::data::epoch<Digits>(test)) {
      sum += evaluate(b).accuracy.template item<float>();
      ++batches;
    }
    return sum / double(batches);
  }

  int leave(int64_t done) {
    if (checkpoints)
      checkpoints->wait();
    writeLosses();
    std::printf("stopped after step %lld%s\n", static_cast<long long>(done),
                checkpoints ? "; the same command goes on from there" : "");
    return interrupted ? 130 : 0;
  }

  void writeLosses() {
    if (flags.losses.empty())
      return;
    std::string text;
    char line[64];
    for (float loss : losses) {
      std::snprintf(line, sizeof line, "%a\n", double(loss));
      text += line;
    }
    sn::data::check(sn::rt::writeFile(flags.losses, text));
  }

  template <class Step> void package(Step &step) {
    sn::Dim n = sn::dim("n", 1, 256);
    sn::Package package{session};
    package.add("classify",
                [this](Tensor image) {
                  Tensor logits = net(normalise(image));
                  return std::tuple(logits, argmax(logits, 1));
                },
                {{"image", sn::u8, {n, 1, 28, 28}}}, {"logits", "label"});
    package.add("train", step,
                {{"image", sn::u8, {flags.batch, 1, 28, 28}}, {"label", sn::i64, {flags.batch}}},
                {"loss", "accuracy"});
    package.write(flags.package);
    std::printf("wrote %s\n", flags.package.c_str());
  }

  const Flags &flags;
  sn::Session session;
  sn::data::Mnist files;
  sn::data::Loader train, test;
  Net net;
  sn::AdamW optimizer;
  std::optional<sn::data::Checkpoints> checkpoints;
  std::vector<float> losses;
};

} // namespace

int main(int argc, char **argv) try {
  sn::Options options = sn::Options::fromArgs(argc, argv);
  Flags flags = parse(argc, argv);
  std::signal(SIGINT, [](int) { interrupted = true; });
  return flags.model == "cnn" ? Trainer<Cnn>(flags, options).run()
                              : Trainer<Mlp>(flags, options).run();
} catch (const sn::Error &error) {
  std::fprintf(stderr, "mnist_train: %s\n", error.what());
  return 1;
}
