#include "Process.h"

#include "sinter/base/text.h"

#include <cerrno>
#include <cstring>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace sinter::tools {

/// All that comes through the pipe until its last writer closes it.
static std::string readAll(int descriptor) {
  std::string text;
  char buffer[4096];
  for (;;) {
    ssize_t count = ::read(descriptor, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return text;
    text.append(buffer, size_t(count));
  }
}

StatusOr<Outcome> runProgram(const std::vector<std::string> &arguments, bool capture) {
  std::vector<char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  int ends[2] = {-1, -1};
  if (capture && ::pipe(ends) != 0)
    return makeError(Code::Io, "no pipe to run ", arguments[0], ": ", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (capture) {
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
  }
  pid_t child = 0;
  int error = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  Outcome outcome;
  if (capture) {
    ::close(ends[1]);
    if (!error)
      outcome.output = readAll(ends[0]);
    ::close(ends[0]);
  }
  if (error)
    return makeError(Code::NotFound, "cannot run ", arguments[0], ": ", std::strerror(error));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

} // namespace sinter::tools
