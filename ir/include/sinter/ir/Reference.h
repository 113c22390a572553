// The reference interpreter: slow, obvious, the definition of every op. Floats are held as doubles and rounded to the
// tensor's element type when an op's result is stored; integers are exact.
#pragma once

#include "sinter/ir/Shape.h"

#include "mlir/IR/Operation.h"

#include <functional>
#include <map>
#include <string>

namespace sinter::ir {

/// A number of the interpreter; see Expr.h for its arithmetic.
struct Number {
  bool isInteger = false;
  double real = 0;
  int64_t integer = 0;
  double toDouble() const { return isInteger ? double(integer) : real; }
  int64_t toInt() const { return isInteger ? integer : int64_t(real); }
};

class ReferenceTensor {
public:
  ReferenceTensor() = default;
  /// Zeros of static shape.
  ReferenceTensor(llvm::ArrayRef<int64_t> dims, mlir::Type element);

  llvm::ArrayRef<int64_t> dims() const { return sizes; }
  int64_t rank() const { return int64_t(sizes.size()); }
  int64_t size() const { return count; }
  mlir::Type element() const { return type; }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(type); }

  Number at(int64_t linear) const;
  Number at(llvm::ArrayRef<int64_t> index) const { return at(linear(index)); }
  double real(int64_t linear) const { return at(linear).toDouble(); }
  /// Stores, rounding to the element type (`round` false: keeps the double).
  void set(int64_t linear, Number value);
  void set(int64_t linear, double value) { set(linear, Number{false, value, 0}); }
  void setInt(int64_t linear, int64_t value) { set(linear, Number{true, 0, value}); }
  int64_t linear(llvm::ArrayRef<int64_t> index) const;
  /// Calls `body` with every index, row-major.
  void forEach(llvm::function_ref<void(llvm::ArrayRef<int64_t>)> body) const;

private:
  llvm::SmallVector<int64_t> sizes, strides;
  int64_t count = 0;
  mlir::Type type;
  std::vector<double> reals;
  std::vector<int64_t> integers;
};

/// Calls `body` with every index of a box of these sizes, row-major (once with {} for rank 0).
void forEachIndex(llvm::ArrayRef<int64_t> sizes, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> body);

/// Runs functions of a module. Variables are looked up and updated in `variables`.
class Interpreter {
public:
  /// Keeps floats unrounded between ops when `exact` (for finite differences).
  explicit Interpreter(bool exact = false) : exact(exact) {}
  std::map<std::string, ReferenceTensor> variables;
  std::function<void(llvm::StringRef label, const ReferenceTensor &)> probe;

  /// Symbols take their values from the dimensions of `arguments`. A failure has been reported as a diagnostic.
  llvm::FailureOr<std::vector<ReferenceTensor>> run(mlir::Operation *function, llvm::ArrayRef<ReferenceTensor> arguments);
  /// Runs a block (no symbols but those bound by a surrounding run) and returns its terminator's operands.
  llvm::FailureOr<std::vector<ReferenceTensor>> runBlock(mlir::Block &block, llvm::ArrayRef<const ReferenceTensor *> arguments);

private:
  llvm::LogicalResult runOp(mlir::Operation &op, llvm::DenseMap<mlir::Value, ReferenceTensor> &values);
  llvm::FailureOr<llvm::SmallVector<int64_t>> staticShape(mlir::Type type) const;
  bool exact;
  llvm::SmallVector<int64_t> symbols; ///< -1: not bound
};

} // namespace sinter::ir
