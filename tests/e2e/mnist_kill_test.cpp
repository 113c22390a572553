// mnist_train, killed at seeded moments, many of them while it writes a checkpoint, goes on from
// its last whole checkpoint with the bits of a run that nobody disturbed.
#include "mnist_support.h"

#include "sinter/core/file.h"

#include <chrono>
#include <csignal>
#include <random>
#include <set>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sinter::e2e {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr int kKills = 30, kKillsInWrites = 10, kMaxAttempts = 60;
constexpr int64_t kSteps = 300, kSaveEvery = 10;

/// An MLP on 3,200 samples: 50 steps an epoch, a checkpoint of 2.8 MB every 10.
std::vector<std::string> flags(const std::string &checkpoints) {
  return {"--model=mlp",
          "--limit=3200",
          "--epochs=6",
          "--steps=" + std::to_string(kSteps),
          "--save-every=" + std::to_string(kSaveEvery),
          "--checkpoints=" + checkpoints};
}

/// mnist_train in a process of its own, its output dropped.
class Victim {
public:
  explicit Victim(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), MNIST_TRAIN);
    std::vector<char *> argv;
    for (std::string &argument : arguments)
      argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    for (int stream : {STDOUT_FILENO, STDERR_FILENO})
      ::posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
    int error = ::posix_spawn(&process, argv[0], &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    EXPECT_EQ(error, 0) << argv[0] << ": " << std::strerror(error);
    if (error)
      process = -1;
  }
  ~Victim() { kill(); }
  Victim(const Victim &) = delete;

  bool running() {
    if (process > 0 && ::waitpid(process, &status, WNOHANG) == process) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
      process = -1;
    }
    return process > 0;
  }
  /// Whether it was the kill that ended it.
  bool kill() {
    if (process <= 0)
      return false;
    ::kill(process, SIGKILL);
    ::waitpid(process, &status, 0);
    process = -1;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }

private:
  pid_t process = -1;
  int status = 0;
};

/// Tells when temporary files appear in a directory.
class Watch {
public:
  explicit Watch(const fs::path &directory) : descriptor(::inotify_init1(IN_CLOEXEC)) {
    EXPECT_GE(::inotify_add_watch(descriptor, directory.c_str(), IN_CREATE), 0)
        << std::strerror(errno);
  }
  ~Watch() { ::close(descriptor); }
  Watch(const Watch &) = delete;

  /// Waits for the `number`-th temporary file (from 1); false if `victim` ended before.
  bool await(int number, Victim &victim) {
    while (seen < number) {
      pollfd ready{descriptor, POLLIN, 0};
      if (::poll(&ready, 1, 20) > 0)
        take();
      else if (!victim.running())
        return false;
    }
    return true;
  }

private:
  void take() {
    alignas(inotify_event) char buffer[4096];
    ssize_t size = ::read(descriptor, buffer, sizeof buffer);
    for (ssize_t at = 0; at < size;) {
      auto *event = reinterpret_cast<const inotify_event *>(buffer + at);
      seen += event->len && std::string_view(event->name).starts_with(rt::kTemporaryPrefix);
      at += ssize_t(sizeof *event + event->len);
    }
  }

  int descriptor, seen = 0;
};

/// A write was under way: its file never got its name.
bool hasTemporary(const fs::path &directory) {
  for (const fs::directory_entry &entry : fs::directory_iterator(directory))
    if (entry.path().filename().string().starts_with(rt::kTemporaryPrefix))
      return true;
  return false;
}

/// What a run that nobody disturbed gives.
struct Reference {
  std::vector<uint32_t> losses;
  std::string checkpoint;
  microseconds duration{};
};

std::string lastCheckpoint(const std::string &directory) {
  return readText(directory + "/step-" + std::to_string(kSteps) + ".safetensors");
}

Reference undisturbed() {
  Folder folder;
  std::vector<std::string> arguments = flags(folder.file("checkpoints"));
  arguments.push_back("--losses=" + folder.file("losses"));
  auto start = Clock::now();
  Outcome outcome = train(arguments);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  Reference result;
  result.duration = std::chrono::duration_cast<microseconds>(Clock::now() - start);
  result.losses = readLosses(folder.file("losses"));
  result.checkpoint = lastCheckpoint(folder.file("checkpoints"));
  return result;
}

/// Goes on from what a killed run left and compares. The step it resumed at.
int64_t resume(const Folder &folder, const std::string &checkpoints, const Reference &reference) {
  std::vector<std::string> arguments = flags(checkpoints);
  arguments.push_back("--losses=" + folder.file("losses"));
  Outcome outcome = train(arguments);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  constexpr std::string_view kResumed = "resumed at step ";
  size_t at = outcome.output.find(kResumed);
  int64_t step =
      at == outcome.output.npos ? 0 : std::atoll(outcome.output.c_str() + at + kResumed.size());
  EXPECT_EQ(step % kSaveEvery, 0);
  std::vector<uint32_t> rest(reference.losses.begin() + std::clamp<int64_t>(step, 0, kSteps),
                             reference.losses.end());
  EXPECT_EQ(readLosses(folder.file("losses")), rest) << "resumed at step " << step;
  EXPECT_TRUE(lastCheckpoint(checkpoints) == reference.checkpoint) << "resumed at step " << step;
  return step;
}

TEST(MnistKill, ResumesWithTheSameBitsWhereverItIsKilled) {
  Reference reference = undisturbed();
  ASSERT_EQ(reference.losses.size(), size_t(kSteps));
  ASSERT_FALSE(reference.checkpoint.empty());
  ASSERT_LT(reference.losses.back(), reference.losses.front()); // positive floats order as bits
  int kills = 0, inWrites = 0, fromStart = 0;
  std::set<int64_t> places;
  for (uint32_t attempt = 0; attempt < kMaxAttempts && kills < kKills; ++attempt) {
    SCOPED_TRACE("attempt " + std::to_string(attempt));
    std::mt19937 random(attempt);
    Folder folder;
    std::string checkpoints = folder.file("checkpoints");
    fs::create_directory(checkpoints);
    Watch watch(checkpoints);
    Victim victim(flags(checkpoints));
    if (attempt % 3) { // in the first milliseconds of a write, else at any time at all
      if (watch.await(1 + int(random() % (kSteps / kSaveEvery)), victim))
        std::this_thread::sleep_for(microseconds(random() % 2000));
    } else {
      std::this_thread::sleep_for(microseconds(int64_t(random()) % reference.duration.count()));
    }
    if (!victim.kill())
      continue; // it was faster, on a machine with other work to do
    ++kills;
    inWrites += hasTemporary(checkpoints);
    int64_t step = resume(folder, checkpoints, reference);
    fromStart += step == 0;
    places.insert(step);
    EXPECT_FALSE(hasTemporary(checkpoints)) << "the resumed run leaves the killed one's file";
  }
  std::printf(
      "[ figure   ] %d kills: %d inside a checkpoint write, %d before the first checkpoint; "
      "resumed at %zu different steps\n",
      kills, inWrites, fromStart, places.size());
  EXPECT_EQ(kills, kKills);
  EXPECT_GE(inWrites, kKillsInWrites);
  EXPECT_GE(places.size(), 10u);
}

} // namespace
} // namespace sinter::e2e
