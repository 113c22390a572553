// Trains a network on MNIST, evaluates it, and packages it for `sinter compile`.
#include "flags.h"
#include "models.h"
#include "progress.h"

#include "sinter/core/file.h"
#include "sinter/data.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace mnist;

std::atomic<bool> interrupted = false;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The first `limit` samples, or all if there are fewer.
sn::data::Pipeline firstOf(const sn::rt::data::ArrayDataset &set, int64_t limit) {
  std::vector<sn::Array> fields = set.arrays();
  for (sn::Array &field : fields)
    field = field.rows(0, std::min(limit, field.dim(0)));
  return sn::data::arrays(std::move(fields));
}

/// Batches as the idx files that MNIST itself comes in, samples one after the other.
class BatchRecord {
public:
  void add(const Digits<sn::Array> &batch) {
    images.append(reinterpret_cast<const char *>(batch.image.data()), size_t(batch.image.bytes()));
    for (int64_t label : batch.label.values<int64_t>())
      labels += char(label);
  }
  void write(const std::string &prefix) const {
    auto size = uint32_t(labels.size());
    sn::data::check(sn::rt::writeFile(prefix + "-images", header({0x803, size, 28, 28}) + images));
    sn::data::check(sn::rt::writeFile(prefix + "-labels", header({0x801, size}) + labels));
  }

private:
  static std::string header(std::initializer_list<uint32_t> words) {
    std::string bytes;
    for (uint32_t word : words)
      for (int shift = 24; shift >= 0; shift -= 8)
        bytes += char(word >> shift & 0xff);
    return bytes;
  }

  std::string images, labels;
};

template <class Net> class Trainer {
public:
  Trainer(const Flags &flags, const sn::Options &options)
      : flags(flags), session(options), files(sn::data::mnist(flags.data)),
        train(firstOf(*files.train, flags.limit)
                  .shuffle(options.seed + 1)
                  .batch(flags.batch, {.dropLast = true})
                  .prefetch()),
        test(firstOf(*files.test, flags.limit).batch(kTestBatch).prefetch()),
        perEpoch(train.batchesPerEpoch()), last(std::min(flags.steps, flags.epochs * perEpoch)),
        net(session), optimizer(net.parameters(), {.learningRate = flags.learningRate}),
        step(sn::jit(session,
                     [this](Digits<Tensor> b) {
                       Report<Tensor> r = report(b);
                       optimizer.minimize(r.loss);
                       return r;
                     })),
        evaluate(sn::jit(session, [this](Digits<Tensor> b) { return report(b); },
                         {.mode = sn::Mode::Inference})) {
    if (perEpoch == 0)
      throw sn::Error("--limit=" + std::to_string(flags.limit) + " leaves no batch of " +
                      std::to_string(flags.batch) + " samples; raise it or lower --batch");
    optimizer.schedule(sn::cosine_schedule(flags.epochs * perEpoch));
    if (!flags.checkpoints.empty())
      checkpoints.emplace(session, flags.checkpoints);
  }

  int run() {
    if (!flags.initialPackage.empty())
      package(flags.initialPackage);
    if (checkpoints)
      done = std::max<int64_t>(0, checkpoints->resume(&train));
    if (done)
      std::printf("resumed at step %lld\n", static_cast<long long>(done));
    double start = now(), accuracy = -1;
    while (done < last && accuracy < flags.target && !interrupted) {
      trainEpoch();
      if (!interrupted)
        std::printf("step %lld: test accuracy %.2f %%\n", static_cast<long long>(done),
                    100 * (accuracy = measure()));
    }
    double seconds = now() - start;
    if (checkpoints)
      checkpoints->wait();
    writeLosses();
    if (!flags.batches.empty())
      record.write(flags.batches);
    if (interrupted) {
      std::printf("stopped after step %lld%s\n", static_cast<long long>(done),
                  checkpoints ? "; the same command goes on from there" : "");
      return 130;
    }
    writePredictions();
    if (!flags.package.empty())
      package(flags.package);
    std::printf("test_accuracy %.4f\ntrain_seconds %.1f\n", accuracy < 0 ? measure() : accuracy,
                seconds);
    return 0;
  }

private:
  static constexpr int64_t kTestBatch = 100;

  Tensor logits(Tensor image) { return net(normalise(image)); }

  Report<Tensor> report(Digits<Tensor> b) {
    Tensor scores = logits(b.image);
    Tensor hit = cast(argmax(scores, 1) == b.label, sn::f32);
    return {cross_entropy(scores, b.label), mean(hit)};
  }

  /// To the end of the epoch, or to where the run is to stop.
  void trainEpoch() {
    Progress progress("epoch " + std::to_string(done / perEpoch + 1) + "/" +
                          std::to_string(flags.epochs),
                      perEpoch, flags.batch, done % perEpoch);
    train.resetStats();
    for (const Digits<sn::Array> &b : sn::data::epoch<Digits>(train)) {
      if (!flags.batches.empty())
        record.add(b);
      Report<sn::Array> r = step(b);
      float loss = r.loss.template item<float>();
      losses.push_back(loss);
      ++done;
      progress.update((done - 1) % perEpoch + 1, loss, r.accuracy.template item<float>(),
                      train.stats().waitShare());
      bool stop = interrupted || done == last;
      if (checkpoints && (stop || done % flags.saveEvery == 0 || done % perEpoch == 0))
        checkpoints->save(done, &train);
      if (stop)
        break;
    }
    progress.finish();
  }

  double measure() {
    double hits = 0, samples = 0;
    for (const Digits<sn::Array> &b : sn::data::epoch<Digits>(test)) {
      double size = double(b.image.dim(0));
      hits += size * evaluate(b).accuracy.template item<double>();
      samples += size;
    }
    return hits / samples;
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

  void writePredictions() {
    if (flags.predictions.empty())
      return;
    auto classify = sn::jit(session, [this](Tensor image) { return logits(image); },
                            {.mode = sn::Mode::Inference, .name = "classify"});
    std::vector<float> all;
    for (const Digits<sn::Array> &b : sn::data::epoch<Digits>(test)) {
      sn::Array part = classify(b.image);
      std::span<float> values = part.values<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    sn::save_npy(flags.predictions, sn::Array::of<float>(all, {int64_t(all.size()) / 10, 10}));
  }

  void package(const std::string &path) {
    sn::Dim n = sn::dim("n", 1, 256);
    sn::Package package{session};
    package.add("classify",
                [this](Tensor image) {
                  Tensor scores = logits(image);
                  return std::tuple(scores, argmax(scores, 1));
                },
                {{"image", sn::u8, {n, 1, 28, 28}}}, {"logits", "digit"});
    package.add("train", step,
                {{"image", sn::u8, {flags.batch, 1, 28, 28}}, {"label", sn::i64, {flags.batch}}},
                {"loss", "accuracy"});
    package.write(path);
    std::printf("wrote %s\n", path.c_str());
  }

  const Flags &flags;
  sn::Session session;
  sn::data::Mnist files;
  sn::data::Loader train, test;
  const int64_t perEpoch, last; ///< steps of an epoch, and of the whole run
  Net net;
  sn::AdamW optimizer;
  sn::Compiled<Report<Tensor>(Digits<Tensor>)> step, evaluate;
  std::optional<sn::data::Checkpoints> checkpoints;
  int64_t done = 0;
  std::vector<float> losses; ///< of this process's steps
  BatchRecord record;
};

} // namespace

int main(int argc, char **argv) try {
  std::setvbuf(stdout, nullptr, _IOLBF, 0); // so that a log keeps the order of stdout and stderr
  sn::Options options = sn::Options::fromArgs(argc, argv);
  Flags flags = parseFlags(argc, argv);
  std::signal(SIGINT, [](int) { interrupted = true; });
  return flags.model == "cnn" ? Trainer<Cnn>(flags, options).run()
                              : Trainer<Mlp>(flags, options).run();
} catch (const std::exception &error) {
  std::fprintf(stderr, "mnist_train: %s\n", error.what());
  return 1;
}
