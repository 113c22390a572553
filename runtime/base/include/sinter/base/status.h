// How the runtime reports failure: a code and one sentence that says what,
// where and how to mend it. No exceptions and no third-party type, since these
// headers are installed and artifacts link nothing but the C++ library.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace sinter {

enum class Code {
  Ok,
  InvalidArgument,
  NotFound,
  AlreadyExists,
  OutOfMemory,
  Io,
  Corrupt,
  Unsupported,
  FailedPrecondition,
  Internal
};

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Code code, std::string message) : errorCode(code), text(std::move(message)) {}
  bool ok() const { return errorCode == Code::Ok; }
  Code code() const { return errorCode; }
  const std::string &message() const { return text; }

private:
  Code errorCode = Code::Ok;
  std::string text;
};

template <class T> class [[nodiscard]] StatusOr {
public:
  StatusOr(Status status) : error(std::move(status)) { assert(!error.ok()); }
  StatusOr(T value) : content(std::move(value)) {}
  bool ok() const { return content.has_value(); }
  const Status &status() const { return error; }
  T &operator*() & { return *content; }
  const T &operator*() const & { return *content; }
  T &&operator*() && { return *std::move(content); }
  T *operator->() { return &*content; }
  const T *operator->() const { return &*content; }

private:
  Status error;
  std::optional<T> content;
};

} // namespace sinter

/// Leaves the function with the status unless it is ok.
#define SINTER_RETURN_IF_ERROR(expression)                                                         \
  do {                                                                                             \
    if (::sinter::Status sinterStatus = (expression); !sinterStatus.ok())                          \
      return sinterStatus;                                                                         \
  } while (false)
