// Trace: one function being recorded, as a func.func of sinter ops.
//
// A trace is current in its thread from construction to destruction; traces nest. Jit and Package
// traces are opened by those two; an Eager one by a single DSL call outside any trace, whose
// operands become arguments and which is compiled and run when the call is done.
#pragma once

#include "session/State.h"
#include "sinter/module.h"
#include "sinter/tensor.h"
#include "tracing/Types.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <map>

namespace sinter {
class Ema;
}

namespace sinter::detail {

/// What Tensors keep of the trace they were made in.
struct TraceInfo {
  std::string name, place;
  bool ended = false;
};

struct TensorState {
  Array array;                      ///< outside a trace
  std::shared_ptr<TraceInfo> trace; ///< null: `array` is the value
  mlir::Value value;
  std::string type; ///< for errors once the trace has ended
  std::shared_ptr<SessionState> session;
  Where made;
};

struct Observed {
  std::shared_ptr<const Flag> flag;
  bool value;
};

class Trace {
public:
  enum class Kind { Jit, Package, Eager };
  struct Options {
    Kind kind = Kind::Jit;
    Mode mode = Mode::Training;
    const Ema *weights = nullptr;
  };

  /// Records function `name` in a module of its own, or in `into` with its symbols.
  Trace(std::shared_ptr<SessionState> session, std::string name, Options options, Where at);
  Trace(std::shared_ptr<SessionState> session, std::string name, Options options, Where at,
        mlir::ModuleOp into, Symbols &symbols);
  ~Trace();
  Trace(const Trace &) = delete;
  Trace &operator=(const Trace &) = delete;

  /// The innermost one of this thread, null outside.
  static Trace *current();

  mlir::Value addArgument(mlir::RankedTensorType type, const std::string &name,
                          mlir::Location location);
  /// The value of a Tensor: its own, or an array's as an argument (Eager) or a constant.
  mlir::Value value(const std::shared_ptr<const TensorState> &tensor, Where at);
  /// A variable's value now: as the step began, or as assigned since.
  mlir::Value read(const std::shared_ptr<VariableState> &variable);
  void assign(const std::shared_ptr<VariableState> &variable, mlir::Value value);
  /// Values the variable had so far in this trace, the newest last.
  llvm::ArrayRef<mlir::Value> versions(const VariableState &variable) const;
  mlir::Value randomState() { return read(session->randomState()); }
  int64_t nextRandomId() { return randomIds++; }

  Tensor tensor(mlir::Value value, Where at);
  /// Adds assignments and the return. `names`: of the results, "output0" … beyond them.
  void finish(llvm::ArrayRef<mlir::Value> results, llvm::ArrayRef<std::string> names = {});
  /// Eager: compiles and runs the finished function.
  std::vector<Array> run();

  mlir::Location location(Where at) const;
  bool flag(const std::shared_ptr<Flag> &flag);

  const std::shared_ptr<SessionState> session;
  const Options options;
  const std::shared_ptr<TraceInfo> info;
  mlir::OwningOpRef<mlir::ModuleOp> owned;
  mlir::ModuleOp module;
  mlir::func::FuncOp function;
  mlir::OpBuilder builder;
  Symbols ownSymbols, &symbols;
  std::vector<Observed> observed;
  std::vector<Array> inputs; ///< Eager: of the arguments
  int depth = 0;             ///< DSL calls in progress; the outermost one's line counts
  Where line;

private:
  struct Tracked {
    std::shared_ptr<VariableState> variable;
    llvm::SmallVector<mlir::Value, 2> versions;
  };
  void begin();
  mlir::Value constant(const TensorState &tensor, mlir::Location location);
  void declare(const VariableState &variable);

  Trace *outer;
  std::vector<Tracked> tracked; ///< in order of first use
  std::map<const VariableState *, size_t> positions;
  std::map<std::shared_ptr<const TensorState>, mlir::Value> captured; ///< kept, so keys stay apart
  int64_t randomIds = 0;
};

/// What a Tensor holds; an Error if it has no value.
const TensorState &stateOf(const Tensor &tensor, Where at);
/// Display path of the innermost module running in this thread, "" outside.
const std::string &currentModule();
/// " (in ConvNet.head)", "" outside.
std::string inModule();

} // namespace sinter::detail
