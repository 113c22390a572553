// What turns a traced module into something that runs. The one of every session compiles
// (JitBackend.cpp); tests put the reference interpreter in its place.
#pragma once

#include "sinter/core/array.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sinter::detail {

struct SessionState;

/// A function of a compiled module, bound to the session's variables.
class Runnable {
public:
  virtual ~Runnable() = default;
  /// Throws Error.
  virtual std::vector<rt::Array> run(std::span<const rt::Array> inputs) = 0;

  int64_t ops = 0, groups = 0;
};

class Backend {
public:
  virtual ~Backend() = default;
  /// Compiles `entry` of `module`, which it may change. Throws Error, after MLIR has returned.
  virtual std::shared_ptr<Runnable> compile(mlir::ModuleOp module, const std::string &entry) = 0;
  virtual std::string profile() const { return {}; }
  virtual void writeTrace(const std::string &path) const { (void)path; }
};

/// The compiling backend. `session` outlives it.
std::unique_ptr<Backend> makeBackend(SessionState &session);

} // namespace sinter::detail
