// All rows of one op in one module, and the checks on them.
#pragma once

#include "Backend.h"
#include "Bounds.h"
#include "Row.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"

namespace sinter::conformance {

/// What the whole run did; printed at its end.
struct Totals {
  int64_t ops = 0, rows = 0, gradients = 0, finiteDifferences = 0, decompositions = 0,
          compiledRuns = 0;
};

/// Failures are reported to GoogleTest, each with the row it is about. One object an op, on one
/// thread. The checks follow build(), expandGradients() and interpret(), as far as these succeed.
class Suite {
public:
  Suite(mlir::MLIRContext &context, const OpInfo &op, const std::map<std::string, Bound> &bounds,
        Totals &totals);

  size_t rows() const { return cases.size(); }
  /// Builds and verifies the module: for row i the function @f<i> and, if it has a gradient,
  /// @loss<i> (its results weighted and summed) and @grad<i>.
  bool build();
  void print() const;
  bool expandGradients();
  /// The interpreter runs every row and its gradient.
  void interpret();
  /// Decomposed, each row means the same.
  void checkDecompositions();
  /// The interpreter's gradients are the slopes of the interpreted function.
  void checkGradients();
  /// The backend's results are the interpreter's, within bounds.
  void checkBackend(Backend &backend);

private:
  struct Case {
    Row row;
    std::string name;
    std::vector<ir::ReferenceTensor> arguments,
        weights; ///< weights follow the arguments of @loss and @grad
    std::map<std::string, ir::ReferenceTensor> variables;
    std::vector<unsigned>
        differentiated; ///< arguments that @grad differentiates by; none: no gradient
    std::vector<ir::ReferenceTensor> results, gradients; ///< the interpreter's
    std::map<std::string, ir::ReferenceTensor> variablesAfter;
    std::vector<ir::ReferenceTensor> allArguments() const;
  };
  using Values = llvm::SmallVector<mlir::Value>;
  using Tensors = std::vector<ir::ReferenceTensor>;
  using TensorsRef = llvm::ArrayRef<ir::ReferenceTensor>;

  void buildCase(size_t index);
  void buildGradient(size_t index, llvm::SmallVector<mlir::Type> types, mlir::ValueRange results);
  mlir::Block *addFunction(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments);
  void finishFunction(mlir::Block *body, mlir::ValueRange results);
  std::optional<Values> buildRow(const Case &c, mlir::Block *body, const std::string &prefix);
  mlir::Value buildLoss(Case &c, mlir::Block *body, mlir::ValueRange results);
  bool isDifferentiable(const Case &c, mlir::ValueRange results) const;
  ir::ReferenceTensor draw(const Input &input);

  mlir::Operation *function(const char *kind, size_t index, mlir::ModuleOp in) const;
  std::optional<Tensors> interpretOne(const char *kind, size_t index, ir::Rounding rounding,
                                      TensorsRef arguments, mlir::ModuleOp in);
  Run runOf(const char *kind, size_t index, Tensors arguments) const;
  void checkRun(Backend &backend, Run run);
  void checkForward(Backend &backend, size_t index);
  void checkBackward(Backend &backend, size_t index);
  Tensors scalesOf(size_t index);
  const Bound &bound(const std::string &name, const char *otherwise) const;

  mlir::MLIRContext &context;
  const OpInfo &op;
  const std::map<std::string, Bound> &bounds;
  Totals &totals;
  Random random;
  mlir::OwningOpRef<mlir::ModuleOp> module, expanded; ///< as built; with gradients expanded
  std::vector<Case> cases;
  std::string diagnostics; ///< since they were cleared
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace sinter::conformance
