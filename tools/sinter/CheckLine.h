// One line of `sinter check`: "ok" and what was found, "FAIL" and what to
// do, or "--" and what is not there, nor has to be. One thread.
#pragma once

#include "sinter/base/status.h"

#include <cstdio>
#include <string>

namespace sinter::tools {

class Checks {
public:
  void pass(const char *what, const std::string &found) { print("ok  ", what, found); }
  /// What is not there and need not be.
  void note(const char *what, const std::string &text) { print("--  ", what, text); }
  void fail(const char *what, const std::string &remedy) {
    print("FAIL", what, remedy);
    ++failures;
  }
  void add(const char *what, const Status &status, const std::string &found) {
    status.ok() ? pass(what, found) : fail(what, status.message());
  }
  int failed() const { return failures; }

private:
  static void print(const char *verdict, const char *what, const std::string &text) {
    std::printf("%s  %-14s %s\n", verdict, what, text.c_str());
    std::fflush(stdout); // another program may write the next line
  }
  int failures = 0;
};

} // namespace sinter::tools
