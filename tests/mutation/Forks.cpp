#include "Forks.h"

#include "sinter/base/error.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace sinter::mutation {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFailed = 99; // exit status

struct Child {
  size_t job = 0;
  pid_t id = 0;
  int pipe = -1;
  Clock::time_point limit;
  std::string answer;
  bool late = false;
};

Child start(size_t job, double seconds, const std::function<std::string(size_t)> &run) {
  int ends[2];
  if (::pipe(ends) != 0)
    throw Error(std::string("no pipe to a child: ") + std::strerror(errno));
  std::fflush(nullptr);
  pid_t id = ::fork();
  if (id < 0)
    throw Error(std::string("no child process: ") + std::strerror(errno));
  if (id == 0) {
    ::close(ends[0]);
    std::string answer;
    int status = 0;
    try {
      answer = run(job);
    } catch (const std::exception &error) {
      answer = error.what();
      status = kFailed;
    }
    for (size_t at = 0; at < answer.size();) {
      ssize_t wrote = ::write(ends[1], answer.data() + at, answer.size() - at);
      if (wrote <= 0)
        break;
      at += size_t(wrote);
    }
    ::_exit(status);
  }
  ::close(ends[1]);
  auto limit = Clock::now() + std::chrono::milliseconds(int64_t(seconds * 1000));
  return {job, id, ends[0], limit, "", false};
}

/// Reads what there is; true at the end.
bool drain(Child &child) {
  char buffer[4096];
  ssize_t got = ::read(child.pipe, buffer, sizeof(buffer));
  if (got > 0)
    child.answer.append(buffer, size_t(got));
  return got <= 0;
}

Ended reap(Child &child) {
  ::close(child.pipe);
  int status = 0;
  ::waitpid(child.id, &status, 0);
  if (child.late)
    return {Ended::TimedOut, "no end within its time"};
  if (WIFSIGNALED(status))
    return {Ended::Crashed, ::strsignal(WTERMSIG(status))};
  if (WEXITSTATUS(status) == kFailed)
    return {Ended::Failed, std::move(child.answer)};
  if (WEXITSTATUS(status) != 0)
    return {Ended::Crashed, "exit status " + std::to_string(WEXITSTATUS(status))};
  return {Ended::Answered, std::move(child.answer)};
}

} // namespace

void runForked(size_t count, unsigned parallel, const std::function<double(size_t)> &seconds,
               const std::function<std::string(size_t)> &run,
               const std::function<void(size_t, const Ended &)> &done) {
  std::vector<Child> children;
  size_t next = 0;
  while (next < count || !children.empty()) {
    for (; next < count && children.size() < parallel; ++next)
      children.push_back(start(next, seconds(next), run));
    std::vector<pollfd> waits;
    for (const Child &child : children)
      waits.push_back({child.pipe, POLLIN, 0});
    ::poll(waits.data(), waits.size(), 100);
    for (size_t i = children.size(); i-- > 0;) {
      Child &child = children[i];
      if (!child.late && Clock::now() > child.limit) {
        child.late = true;
        ::kill(child.id, SIGKILL);
      }
      if (waits[i].revents == 0 || !drain(child))
        continue;
      size_t job = child.job;
      Ended ended = reap(child);
      children.erase(children.begin() + long(i));
      done(job, ended);
    }
  }
}

} // namespace sinter::mutation
