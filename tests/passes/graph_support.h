// Runs small functions, their gradients and their transformed forms in the reference interpreter.
// One Graph owns one context and module; single-threaded.
#pragma once

#include "sinter/ir/Dialect.h"
#include "sinter/passes/Passes.h"
#include "sinter/passes/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

namespace sinter::test {

/// A function @f to differentiate, and the range its float arguments are drawn from. Integers are
/// drawn from 0, 1, 2; symbol s0 is 5, s1 is 3.
struct GraphCase {
  const char *name;
  const char *function;
  double lower = -1, upper = 1;
};

class Graph {
public:
  explicit Graph(const GraphCase &test);

  mlir::func::FuncOp find(llvm::StringRef name);
  /// A copy of `from` that returns the gradients of its first result, one a float argument.
  mlir::func::FuncOp addGradient(llvm::StringRef from, llvm::StringRef name);
  /// A copy of `from` that returns one number: the sum of the squares of all its results.
  mlir::func::FuncOp addSquares(llvm::StringRef from, llvm::StringRef name);
  /// Fails the test when the pipeline fails.
  void run(llvm::function_ref<void(mlir::OpPassManager &)> pipeline);
  void expandGradients();

  std::vector<ir::ReferenceTensor> interpret(llvm::StringRef name);
  /// Finite differences of `name` by each float argument.
  std::vector<ir::ReferenceTensor> differences(llvm::StringRef name);

private:
  mlir::func::FuncOp
  copy(llvm::StringRef from, llvm::StringRef name,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::func::FuncOp,
                                                         mlir::ValueRange)>
           results);
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<ir::ReferenceTensor> arguments;
};

/// Elements differ by no more than `tolerance` times the largest of `expected` or 1.
void expectClose(const std::vector<ir::ReferenceTensor> &expected,
                 const std::vector<ir::ReferenceTensor> &actual, double tolerance);

} // namespace sinter::test
