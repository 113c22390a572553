// Something that runs a module: what the interpreter's results are compared with.
#pragma once

#include "Bounds.h"

#include "sinter/core/array.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace sinter::conformance {

/// A result, or a variable afterwards, and how far from it a backend may be.
struct Expectation {
  enum class Of { Result, Variable };
  Of of = Of::Result;
  unsigned position = 0; ///< Result: which
  std::string name;      ///< "result 0", or the variable's
  ir::ReferenceTensor value;
  Allowance allowance;
};

/// A call of a function of the compiled module.
struct Run {
  std::string name;     ///< the row's
  std::string function; ///< "f3"
  std::vector<ir::ReferenceTensor> arguments;
  std::vector<mlir::Type> results;
  std::map<std::string, ir::ReferenceTensor> variables;
  std::vector<Expectation> expected;
};

/// Owned by the test, which gives it one module after another.
class Backend {
public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// Compiles `module`, which is lost and named after its op; a failure has been reported as a
  /// diagnostic.
  virtual llvm::LogicalResult compile(mlir::ModuleOp module) = 0;
  /// The results; variables are updated. A failure leaves its message in `error`.
  virtual llvm::FailureOr<std::vector<ir::ReferenceTensor>> run(Run &run, std::string &error) = 0;
  /// True for one that keeps runs for another machine, and runs nothing.
  virtual bool keeps(const Run &) { return false; }
  /// All runs of the module are through. A failure leaves its message in `error`.
  virtual llvm::LogicalResult finish(std::string &error) { return error.clear(), llvm::success(); }
};

/// Every way this build has of running compiled code on "cpu" or "emu".
std::vector<std::unique_ptr<Backend>> makeBackends(llvm::StringRef device);
/// Keeps every run, with what it must give, in packs below `folder`; see docs/gpu.md.
std::unique_ptr<Backend> makeRecorder(const std::string &folder);

/// In the element type's own format.
rt::Array toArray(const ir::ReferenceTensor &tensor);

} // namespace sinter::conformance
