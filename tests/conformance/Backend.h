// Something that runs a module: what the interpreter's results are compared with.
#pragma once

#include "sinter/ir/Reference.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace sinter::conformance {

/// Owned by the test, which gives it one module after another.
class Backend {
public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// Compiles `module`, which is lost; a failure has been reported as a diagnostic.
  virtual llvm::LogicalResult compile(mlir::ModuleOp module) = 0;
  /// Runs a function of the compiled module. Reads and updates `variables`; a failure leaves its
  /// message in `error`.
  virtual llvm::FailureOr<std::vector<ir::ReferenceTensor>>
  run(llvm::StringRef function, llvm::ArrayRef<ir::ReferenceTensor> arguments,
      llvm::ArrayRef<mlir::Type> results, std::map<std::string, ir::ReferenceTensor> &variables,
      std::string &error) = 0;
};

/// Every way this build has of running compiled code on "cpu" or "emu".
std::vector<std::unique_ptr<Backend>> makeBackends(llvm::StringRef device);

} // namespace sinter::conformance
