// Emits the code of kernels: loads, stores and elements of a group's values, scalar or in vectors
// of neighbouring elements.
//
// One emitter writes one kernel function in the arith, math, scf, vector and llvm dialects; what
// the function takes is a target's own business (TaskKernel for CPUs, ThreadKernel for CUDA). Group
// emitters (cpu/Pointwise.cpp, cuda/Reduction.cpp, ...) drive it: they make the loops and ask for
// elements at indices.
#pragma once

#include "sinter/ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace sinter::codegen {

class KernelEmitter : public ir::ElementSource {
public:
  KernelEmitter(const KernelEmitter &) = delete;

  /// Element of any tensor known here, at `at`, with the current number of lanes.
  mlir::Value valueAt(mlir::Value tensor, llvm::ArrayRef<ir::Index> at);
  /// Element of a contraction's left (0) or right (1) factor; scalar.
  mlir::Value factor(ir::ContractionOpInterface op, unsigned side, mlir::Value batch,
                     mlir::Value row, mlir::Value column);
  /// Gives `tensor` (a reduction's or contraction's result) a value for all indices from here on;
  /// null takes it away.
  void define(mlir::Value tensor, mlir::Value value);
  /// As `define`, for a tensor that had no value yet: elements computed before keep theirs.
  void defineFirst(mlir::Value tensor, mlir::Value value) { defined[tensor] = value; }
  /// Writes an element (or lanes of them) of `tensor` to the buffer of operand `operand`.
  void store(unsigned operand, mlir::Value tensor, llvm::ArrayRef<ir::Index> at, mlir::Value value);
  /// Reads back an element of `tensor` from the buffer of operand `operand`.
  mlir::Value loadElement(unsigned operand, mlir::Value tensor, llvm::ArrayRef<ir::Index> at) {
    return load(operand, tensor, at);
  }
  /// Plain access to the buffer of operand `operand`, in elements of `type` at a linear index.
  mlir::Value loadRaw(unsigned operand, mlir::Type type, mlir::Value linear);
  void storeRaw(unsigned operand, mlir::Value value, mlir::Value linear);
  /// A value as it comes back after being stored as `element`.
  mlir::Value rounded(mlir::Value value, mlir::Type element) {
    return fromStorage(toStorage(value, element), element);
  }
  mlir::Value pointerAt(mlir::Value base, mlir::Type element, mlir::Value linear);

  /// Element `lane` of a vector.
  mlir::Value extract(mlir::Value vector, int64_t lane);
  /// Runs `body` with vectors of `lanes` elements.
  void withLanes(int64_t lanes, llvm::function_ref<void()> body);
  /// A loop [from, to) by `step` that carries values; `body(i, carried)` returns the next ones.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value from, mlir::Value to, int64_t step, mlir::ValueRange carried,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);
  void loop(mlir::Value from, mlir::Value to, int64_t step,
            llvm::function_ref<void(mlir::Value)> body);
  /// Indices of dimension sizes `sizes` at row-major position `linear`.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value linear,
                                             llvm::ArrayRef<mlir::AffineExpr> sizes);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value minimum(mlir::Value a, mlir::Value b);
  /// How many whole vectors of `lanes` fit in `count`.
  mlir::Value wholeLanes(mlir::Value count, int64_t lanes);
  /// Ends the function.
  void finish();

  // ElementSource
  mlir::Value element(unsigned operand, llvm::ArrayRef<ir::Index> at) override;
  mlir::Value operandValue(unsigned operand) override;
  mlir::Value dim(mlir::AffineExpr size) override;
  int64_t lanes() const override { return laneCount; }

protected:
  KernelEmitter(mlir::ModuleOp module, mlir::Location loc);
  /// Makes the function, whose operands are the tensors `inputs`, then buffers without a tensor
  /// (outputs, temporaries). A target sets `pointers` (one an operand) and `prologue` next.
  mlir::Block *start(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments,
                     mlir::ValueRange inputs);
  /// The value of a symbol as i64, emitted where the builder stands.
  virtual mlir::Value symbol(unsigned position) = 0;
  /// Whether indices are taken apart as 32-bit numbers where they are known to fit.
  virtual bool prefersNarrowIndices() const { return false; }
  /// Whether lanes from this linear index on may be accessed at once, as one aligned vector.
  virtual unsigned alignment(mlir::Type type, mlir::Value linear) const;

  /// Linear index of `at`, and how far neighbouring lanes lie apart: `laneStride` where constant,
  /// else the second value.
  std::pair<mlir::Value, mlir::Value> address(mlir::Value tensor, llvm::ArrayRef<ir::Index> at,
                                              int64_t &laneStride);

  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::Value> pointers;
  mlir::Operation *prologue = nullptr; ///< sizes are computed after it

private:
  mlir::Value load(unsigned operand, mlir::Value tensor, llvm::ArrayRef<ir::Index> at);
  mlir::Value fromStorage(mlir::Value stored, mlir::Type element);
  mlir::Value toStorage(mlir::Value value, mlir::Type element);
  bool visibleHere(mlir::Value value) const;

  llvm::DenseMap<mlir::Value, unsigned> operandOf;
  llvm::DenseMap<mlir::Value, mlir::Value> defined;
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> sizes;
  struct Cached {
    int64_t lanes;
    llvm::SmallVector<ir::Index> at;
    mlir::Value value;
  };
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Cached, 2>> cache;
  mlir::Operation *current = nullptr;
  int64_t laneCount = 1;
  mlir::OpBuilder ownBuilder;
};

/// The type a tensor element has in memory: i8 for bool, signless integers.
mlir::Type storageType(mlir::Type element);

} // namespace sinter::codegen
