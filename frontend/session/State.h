// What a Session owns, seen by the DSL's implementation only. One thread at a time; everything
// that refers to a session shares its state, so order of destruction is free.
#pragma once

#include "session/Backend.h"
#include "sinter/core/variable_store.h"
#include "sinter/session.h"

#include "mlir/IR/MLIRContext.h"

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

namespace sinter::detail {

/// A flag that traces depend on: they remember the value they saw and are made anew when it
/// changed.
struct Flag {
  bool value = false;
};

struct VariableState {
  std::shared_ptr<SessionState> session;
  rt::StoredVariable *stored = nullptr;
  bool trainable = false;
  std::shared_ptr<Flag> frozen = std::make_shared<Flag>();

  const std::string &name() const { return stored->name; }
  DType dtype() const { return stored->dtype(); }
  std::string type() const { return stored->type(); }
  const rt::Dims &dims() const { return stored->dims(); }
};

/// A variable's contents, wherever they are; throws Error if a device that has them fails.
Array contentsOf(rt::StoredVariable &variable);
inline Array contentsOf(const VariableState &variable) { return contentsOf(*variable.stored); }
/// The same to change them, before anything runs.
Array contentsToWrite(const VariableState &variable);

struct SessionState : std::enable_shared_from_this<SessionState> {
  explicit SessionState(Options options);
  ~SessionState();

  /// The session made last in this thread and still alive; null if there is none.
  static std::shared_ptr<SessionState> current();
  void enter();
  void leave();
  bool left = false; ///< its Session is gone; what it made may live on

  /// Makes a variable, zero at first. A name that a living variable has is an Error.
  std::shared_ptr<VariableState> addVariable(const std::string &name, DType dtype, rt::Dims dims,
                                             bool trainable, Where at);
  /// [seed, step] for random numbers.
  const std::shared_ptr<VariableState> &randomState();
  /// Living variables by name, those that only a compiled program still uses left out.
  std::map<std::string, std::shared_ptr<VariableState>> livingVariables() const;
  /// Compiles (and prints the line for it unless `quiet`).
  std::shared_ptr<Runnable> compile(mlir::ModuleOp module, const std::string &entry, bool quiet);
  Backend &device();

  Options options;
  mlir::MLIRContext context;
  rt::VariableStore store;
  std::unique_ptr<Backend> backend; ///< made by the first compilation
  std::unordered_map<std::string, std::shared_ptr<Runnable>> eager; ///< by the module's text
  std::function<void(std::string_view, const Array &)> probe;
  int64_t structure = 0; ///< one higher whenever variables are tied
  bool seeded = false;   ///< a variable got a value from the seed

private:
  std::map<std::string, std::weak_ptr<VariableState>> variables;
  std::shared_ptr<VariableState> random;
};

} // namespace sinter::detail
