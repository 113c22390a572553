// The reference interpreter: slow, obvious, the definition of every op. Floats are held as doubles
// and rounded to the tensor's element type when an op's result is stored; integers are exact and
// wrap to the element type when stored.
//
// Tensors are values. An Interpreter belongs to one thread and one module at a time; the module
// must have been verified. Nothing here aborts on bad input: failures are diagnostics at the op or
// function concerned.
#pragma once

#include "sinter/ir/Shape.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sinter::ir {

/// A number of the interpreter; see Expr.h for its arithmetic.
struct Number {
  bool isInteger = false;
  double real = 0;
  int64_t integer = 0;
  double toDouble() const { return isInteger ? double(integer) : real; }
  /// Floats truncate towards zero and saturate; NaN gives 0.
  int64_t toInt() const;
};

/// Least and largest value of an integer element type.
std::pair<int64_t, int64_t> integerRange(mlir::Type element);

class ReferenceTensor {
public:
  ReferenceTensor() = default;
  /// Zeros of static shape. An `exact` tensor of floats keeps doubles as they are.
  ReferenceTensor(llvm::ArrayRef<int64_t> dims, mlir::Type element, bool exact = false);
  /// The values of a constant; nothing if `value` is of a kind whose elements can't be read.
  static std::optional<ReferenceTensor> fromElements(mlir::ElementsAttr value, bool exact = false);

  llvm::ArrayRef<int64_t> dims() const { return sizes; }
  int64_t dim(int64_t axis) const { return sizes[axis]; }
  int64_t rank() const { return int64_t(sizes.size()); }
  int64_t size() const { return count; }
  mlir::Type element() const { return type; }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(type); }

  Number at(int64_t linear) const;
  Number at(llvm::ArrayRef<int64_t> index) const { return at(linear(index)); }
  double real(int64_t linear) const { return at(linear).toDouble(); }
  /// Stores, rounding a float to the element type unless exact, wrapping an integer. A float
  /// becomes an integer as Number::toInt says, within the element type's range; anything becomes a
  /// bool by comparing with 0.
  void set(int64_t linear, Number value);
  void set(int64_t linear, double value) { set(linear, Number{false, value, 0}); }
  void setInt(int64_t linear, int64_t value) { set(linear, Number{true, 0, value}); }
  int64_t linear(llvm::ArrayRef<int64_t> index) const;
  /// Calls `body` with every index, row-major.
  void forEach(llvm::function_ref<void(llvm::ArrayRef<int64_t>)> body) const;
  /// The same values stored in a tensor of this kind.
  ReferenceTensor converted(bool exact) const;
  /// "f32[2, 3]".
  std::string typeName() const;

private:
  llvm::SmallVector<int64_t> sizes, strides;
  int64_t count = 0;
  mlir::Type type;
  bool exact = false;
  std::vector<double> reals;
  std::vector<int64_t> integers;
};

/// Calls `body` with every index of a box of these sizes, row-major (once with {} for rank 0).
void forEachIndex(llvm::ArrayRef<int64_t> sizes,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>)> body);

/// Where the interpreter rounds floats to their element type.
enum class Rounding {
  Stores,  ///< results of ops and of groups, not between the ops of a group: what compiled code may
           ///< do
  EveryOp, ///< between the ops of a group too (--precise-casts)
  None,    ///< nowhere: doubles throughout, for finite differences
};

/// Runs functions of a module. Variables are looked up and updated in `variables`.
class Interpreter {
public:
  explicit Interpreter(Rounding rounding = Rounding::Stores) : rounding(rounding) {}
  std::map<std::string, ReferenceTensor> variables;
  std::function<void(llvm::StringRef label, const ReferenceTensor &)> probe;

  /// Symbols take their values from the dimensions of `arguments`. Assignments take effect when the
  /// run has succeeded.
  llvm::FailureOr<std::vector<ReferenceTensor>> run(mlir::Operation *function,
                                                    llvm::ArrayRef<ReferenceTensor> arguments);
  /// Runs a block (no symbols but those bound by a surrounding run) and returns its terminator's
  /// operands.
  llvm::FailureOr<std::vector<ReferenceTensor>>
  runBlock(mlir::Block &block, llvm::ArrayRef<const ReferenceTensor *> arguments);

private:
  using Values = llvm::DenseMap<mlir::Value, ReferenceTensor>;
  using Operands = llvm::ArrayRef<const ReferenceTensor *>;

  llvm::LogicalResult bindSymbols(mlir::Operation *function, llvm::ArrayRef<mlir::Type> types,
                                  llvm::ArrayRef<ReferenceTensor> arguments);
  llvm::LogicalResult runOp(mlir::Operation &op, Values &values);
  llvm::LogicalResult runRead(mlir::Operation &op, Values &values);
  llvm::LogicalResult runGroup(mlir::Operation &op, Operands operands, Values &values);
  llvm::LogicalResult evaluate(mlir::Operation &op, Operands operands, Values &values);
  llvm::FailureOr<llvm::SmallVector<int64_t>> staticShape(mlir::Operation &op,
                                                          mlir::Type type) const;
  bool keepsDoubles() const;

  Rounding rounding;
  bool insideGroup = false;
  llvm::SmallVector<int64_t> symbols; ///< -1: not bound
  std::map<std::string, ReferenceTensor> assigned;
};

} // namespace sinter::ir
