// Checkpoints: whole or not at all, whatever happens.
#include "io_support.h"

#include "sinter/base/text.h"
#include "sinter/core/file.h"
#include "sinter/core/hash.h"
#include "sinter/data/checkpoint.h"

#include <cstring>
#include <thread>

#include <sys/wait.h>

using namespace sinter;
using namespace sinter::rt;
using namespace sinter::rt::data;
using namespace sinter::test;

/// Variables whose content follows from the step.
struct State {
  explicit State(int64_t step, size_t size = 1000)
      : weights(size, static_cast<float>(step)), moments(size, static_cast<float>(step) / 2),
        counter{step} {}

  std::vector<TensorView> views() const {
    auto size = static_cast<int64_t>(weights.size());
    return {viewOf("net.weight", DType::F32, {size}, weights),
            viewOf("adam.m.net.weight", DType::F32, {size}, moments),
            viewOf("rng.counter", DType::I64, {}, counter)};
  }

  std::vector<float> weights, moments;
  std::vector<int64_t> counter;
};

/// Whether `checkpoint` is exactly what State(step) saves.
static void expectWhole(const Checkpoint &checkpoint, size_t size = 1000) {
  State state(checkpoint.step, size);
  for (const TensorView &want : state.views()) {
    const TensorView *got = checkpoint.content.find(want.name);
    ASSERT_NE(got, nullptr) << want.name;
    ASSERT_EQ(got->bytes, want.bytes);
    ASSERT_EQ(std::memcmp(got->data, want.data, want.bytes), 0) << want.name;
  }
  EXPECT_EQ(checkpoint.texts.at("step"), std::to_string(checkpoint.step));
}

static Status save(CheckpointDirectory &directory, int64_t step, size_t size = 1000) {
  State state(step, size);
  return directory.save(step, state.views(),
                        {{"step", std::to_string(step)}, {"data", "{\"epoch\":1}"}});
}

TEST(Checkpoint, RoundTripAndKeep) {
  ScratchDirectory scratch;
  std::string path = scratch / "run";
  StatusOr<CheckpointDirectory> directory = CheckpointDirectory::open(path, {.keep = 2});
  ASSERT_TRUE(directory.ok()) << directory.status().message();
  EXPECT_EQ(directory->loadLatest().status().code(), Code::NotFound);
  for (int64_t step : {0, 5, 10, 100})
    ASSERT_TRUE(save(*directory, step).ok());
  EXPECT_EQ(*directory->steps(), (std::vector<int64_t>{10, 100})) << "ordered as numbers";
  StatusOr<Checkpoint> latest = directory->loadLatest();
  ASSERT_TRUE(latest.ok()) << latest.status().message();
  EXPECT_EQ(latest->step, 100);
  EXPECT_EQ(latest->texts.at("data"), "{\"epoch\":1}");
  EXPECT_TRUE(latest->damaged.empty());
  expectWhole(*latest);
  expectWhole(*directory->load(10));
  ASSERT_TRUE(save(*directory, 100).ok()) << "the same step again";
  EXPECT_TRUE(readSafetensors(path + "/step-100.safetensors").ok()) << "for other programs, too";
}

TEST(Checkpoint, Refuses) {
  ScratchDirectory scratch;
  writeAll(scratch / "file", "x");
  expectError(CheckpointDirectory::open(scratch / "file").status(), scratch / "file",
              "not a directory");
  expectError(CheckpointDirectory::open(scratch / "a/b").status(), scratch / "a/b", "No such file");
  expectError(CheckpointDirectory::open(scratch / "c", {.keep = 0}).status(), "keep = 0",
              "at least one");
  StatusOr<CheckpointDirectory> first = CheckpointDirectory::open(scratch / "run");
  StatusOr<CheckpointDirectory> second = CheckpointDirectory::open(scratch / "run");
  expectError(save(*first, -1), "step -1", "from 0");
  ASSERT_TRUE(save(*first, 7).ok());
  expectError(save(*second, 8), scratch / "run", "another process is saving");
  EXPECT_TRUE(second->loadLatest().ok()) << "reading needs no lock";
  expectError(save(*first, 6), "step-7.safetensors", "move it away");
  expectError(first->load(3).status(), "step-3.safetensors", "No such file");
  ASSERT_TRUE(writeSafetensors(scratch / "run/step-9.safetensors", {}).ok());
  expectError(first->load(9).status(), "step-9.safetensors", "no checkpoint of this version");
}

TEST(Checkpoint, DamageIsFoundAndTheOneBeforeLoaded) {
  ScratchDirectory scratch;
  StatusOr<CheckpointDirectory> directory = CheckpointDirectory::open(scratch.path());
  State small(1, 4);
  for (int64_t step : {1, 2})
    ASSERT_TRUE(save(*directory, step, 4).ok());
  std::string path = scratch / "step-2.safetensors", whole = readAll(path);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    writeAll(path, changed);
    StatusOr<Checkpoint> latest = directory->loadLatest();
    ASSERT_TRUE(latest.ok()) << latest.status().message();
    ASSERT_EQ(latest->step, 1) << "byte " << at;
    ASSERT_EQ(latest->damaged.size(), 1u);
    ASSERT_PRED2(contains, latest->damaged[0], path);
    expectWhole(*latest, 4);
  }
  for (size_t size = 0; size < whole.size(); ++size) {
    writeAll(path, whole.substr(0, size));
    ASSERT_EQ(directory->loadLatest()->step, 1);
  }
  // A damaged later step is no obstacle to going on from the one before.
  ASSERT_TRUE(save(*directory, 1, 4).ok());
  EXPECT_EQ(*directory->steps(), std::vector<int64_t>{1});
  writeAll(scratch / "step-1.safetensors", "");
  Status status = directory->loadLatest().status();
  EXPECT_EQ(status.code(), Code::Corrupt);
  expectError(status, "none of the 1 checkpoints", "step-1.safetensors");
}

TEST(Checkpoint, FullDiskKeepsTheOldOnes) {
  ScratchDirectory scratch;
  StatusOr<CheckpointDirectory> directory = CheckpointDirectory::open(scratch.path());
  ASSERT_TRUE(save(*directory, 1).ok());
  {
    FileSizeLimit limit(4096);
    expectError(save(*directory, 2), "step-2.safetensors", "ulimit -f");
    State state(3);
    EXPECT_TRUE(directory->saveAsync(3, state.views()).ok());
    expectError(directory->wait(), "step-3.safetensors", "ulimit -f");
    EXPECT_TRUE(directory->wait().ok()) << "told once";
  }
  EXPECT_EQ(scratch.names(), (std::vector<std::string>{".lock", "step-1.safetensors"}));
  ASSERT_TRUE(save(*directory, 2).ok());
  EXPECT_EQ(directory->loadLatest()->step, 2);
}

TEST(Checkpoint, BackgroundSaveWorksOnACopy) {
  ScratchDirectory scratch;
  StatusOr<CheckpointDirectory> directory = CheckpointDirectory::open(scratch.path(), {.keep = 8});
  constexpr size_t kSize = 300000;
  for (int64_t step = 1; step <= 5; ++step) {
    State state(step, kSize);
    ASSERT_TRUE(directory->saveAsync(step, state.views(), {{"step", std::to_string(step)}}).ok());
    std::fill(state.weights.begin(), state.weights.end(), -1.0f); // training goes on
  }
  ASSERT_TRUE(directory->wait().ok());
  EXPECT_EQ(directory->steps()->size(), 5u);
  for (int64_t step = 1; step <= 5; ++step)
    expectWhole(*directory->load(step), kSize);
}

static constexpr size_t kLarge = 1000000;

/// Whether a file is being written, or was when its writer was killed.
static bool writing(const ScratchDirectory &scratch) {
  std::vector<std::string> names = scratch.names();
  return std::any_of(names.begin(), names.end(),
                     [](const std::string &name) { return name.starts_with(kTemporaryPrefix); });
}

/// A child saves one checkpoint after the other and tells the pipe of each that was committed.
static pid_t startSaver(const std::string &path, int pipe, bool background) {
  pid_t child = ::fork();
  if (child != 0)
    return child;
  StatusOr<CheckpointDirectory> directory = CheckpointDirectory::open(path, {.keep = 2});
  StatusOr<Checkpoint> latest = directory->loadLatest();
  for (int64_t step = latest.ok() ? latest->step + 1 : 1;; ++step) {
    State state(step, kLarge);
    TextMap texts{{"step", std::to_string(step)}};
    Status status = background ? directory->saveAsync(step, state.views(), texts)
                               : directory->save(step, state.views(), texts);
    if (background && status.ok())
      status = directory->wait();
    if (!status.ok() || ::write(pipe, &step, sizeof step) != sizeof step)
      ::_exit(1);
  }
}

TEST(Checkpoint, KilledAtAnyMomentTheLastWholeOneLoads) {
  ScratchDirectory scratch;
  int inside = 0;
  int64_t committed = 0;
  for (uint64_t round = 0; round < 40; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    pid_t child = startSaver(scratch.path(), ends[1], round % 4 == 3);
    ASSERT_GT(child, 0);
    ::close(ends[1]);
    // One whole save to begin with, then a moment that differs from round to round.
    ASSERT_EQ(::read(ends[0], &committed, sizeof committed), ssize_t(sizeof committed));
    std::this_thread::sleep_for(std::chrono::microseconds(mixBits(round + 1) % 20000));
    for (int i = 0; round % 2 == 0 && i < 100000 && !writing(scratch); ++i) {
      // Every other one shall hit a write.
    }
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    while (::read(ends[0], &committed, sizeof committed) == sizeof committed) {
    }
    ::close(ends[0]);
    inside += writing(scratch);

    StatusOr<CheckpointDirectory> directory = CheckpointDirectory::open(scratch.path());
    StatusOr<Checkpoint> latest = directory->loadLatest();
    ASSERT_TRUE(latest.ok()) << latest.status().message();
    EXPECT_TRUE(latest->damaged.empty());
    EXPECT_GE(latest->step, committed);
    EXPECT_LE(latest->step, committed + 1) << "renamed, but not yet told";
    expectWhole(*latest, kLarge);
  }
  EXPECT_GE(inside, 10) << "too few of the kills fell into a write";
  StatusOr<CheckpointDirectory> directory = CheckpointDirectory::open(scratch.path());
  ASSERT_TRUE(save(*directory, committed + 2).ok());
  EXPECT_FALSE(writing(scratch)) << "the leftovers are cleared away";
}

TEST(Checkpoint, KilledAtAnyByte) {
  ScratchDirectory scratch;
  {
    StatusOr<CheckpointDirectory> directory = CheckpointDirectory::open(scratch.path());
    ASSERT_TRUE(save(*directory, 1, 100000).ok());
  }
  size_t bytes = std::filesystem::file_size(scratch / "step-1.safetensors");
  for (uint64_t point = 0; point < 30; ++point) {
    pid_t child = ::fork();
    if (child == 0) { // the default of SIGXFSZ ends the process at exactly that byte
      rlimit limit{point == 0 ? 0 : mixBits(point) % bytes, bytes};
      rlimit none{0, 0};
      ::signal(SIGXFSZ, SIG_DFL);
      ::setrlimit(RLIMIT_CORE, &none);
      ::setrlimit(RLIMIT_FSIZE, &limit);
      StatusOr<CheckpointDirectory> directory = CheckpointDirectory::open(scratch.path());
      (void)save(*directory, 2, 100000);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ) << status;
    StatusOr<CheckpointDirectory> directory = CheckpointDirectory::open(scratch.path());
    StatusOr<Checkpoint> latest = directory->loadLatest();
    ASSERT_TRUE(latest.ok()) << latest.status().message();
    EXPECT_EQ(latest->step, 1);
    expectWhole(*latest, 100000);
  }
}
