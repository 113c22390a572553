// The passes that a kernel of a reduction group makes over its space, and how that space is laid
// out.
#pragma once

#include "GroupCode.h"
#include "KernelEmitter.h"

namespace sinter::codegen {

using Values = llvm::SmallVector<mlir::Value>;

/// The space of a reduction group: what is reduced, in which order, and how it is cut into tasks.
struct ReductionLayout {
  mlir::Operation *yield;
  mlir::MLIRContext *context;
  ir::Dims domain;
  llvm::SmallVector<int64_t> kept, reduced; ///< dimension numbers, ascending
  int64_t lane = -1;                        ///< last dimension larger than 1 (-1: none)
  bool rows = false;                        ///< the lane dimension is reduced
  /// Reductions by the number of finished ones they need.
  llvm::SmallVector<llvm::SmallVector<ir::ReductionOpInterface>> levels;
  llvm::SmallVector<unsigned> reducedOutputs;
  llvm::SmallVector<llvm::SmallVector<unsigned>> domainOutputs; ///< by the levels they need
  int64_t chunk = 0; ///< extent of `chunkDim` a task reduces; 0: all of it
  int64_t chunkDim = -1;

  explicit ReductionLayout(ir::GroupOp group);
  ir::Dims sizes(llvm::ArrayRef<int64_t> dims) const;
  mlir::AffineExpr chunks() const;

private:
  void classify(ir::GroupOp group);
  void cutIntoChunks(ir::GroupOp group);
};

/// Writes passes into one kernel.
struct ReductionEmitter {
  using Reductions = llvm::ArrayRef<ir::ReductionOpInterface>;
  using At = llvm::SmallVector<ir::Index>;

  const ReductionLayout &layout;
  KernelEmitter &k;
  const TargetInfo &target;
  unsigned firstOutput;

  At start() { return At(layout.domain.size(), k.at(0)); }
  Values initial(Reductions reductions);
  Values combine(Reductions reductions, mlir::ValueRange a, mlir::ValueRange b);
  void defineResults(Reductions reductions, mlir::ValueRange state);
  void writeReduced(llvm::ArrayRef<ir::Index> at);

  /// One pass over the reduced space at the kept index in `at`, rows style: combined scalars of
  /// `reductions`.
  Values rowPass(Reductions reductions, llvm::ArrayRef<unsigned> outputs, At at, mlir::Value from,
                 mlir::Value to);
  /// Columns [column, column + lanes * vectors) of one pass, columns style; `use` gets the index
  /// and state of each vector.
  void columnPass(At at, mlir::Value column, int64_t lanes, int64_t vectors, mlir::Value from,
                  mlir::Value to,
                  llvm::function_ref<void(llvm::ArrayRef<ir::Index>, mlir::ValueRange)> use);
  /// Runs `body(column, lanes, vectors)` over the columns [from, to): tiles of several vectors,
  /// single vectors, single columns.
  void columns(mlir::Value from, mlir::Value to,
               llvm::function_ref<void(mlir::Value, int64_t, int64_t)> body);

private:
  using Body = llvm::function_ref<Values(At &, mlir::ValueRange)>;
  struct RowPass;

  At keptIndex(mlir::Value tensor, llvm::ArrayRef<ir::Index> at);
  mlir::Value position(llvm::ArrayRef<ir::Index> at);
  mlir::Type accumulatorType(ir::ReductionOpInterface reduction);
  Values step(Reductions reductions, llvm::ArrayRef<unsigned> outputs, llvm::ArrayRef<ir::Index> at,
              mlir::ValueRange state);
  void writeDomain(llvm::ArrayRef<unsigned> outputs, llvm::ArrayRef<ir::Index> at);
  Values nest(llvm::ArrayRef<int64_t> dims, At &at, mlir::Value from, mlir::Value to,
              mlir::ValueRange state, Body body);
  int64_t lanesOf(Reductions reductions, llvm::ArrayRef<unsigned> outputs);
  Values foldLanes(Reductions reductions, Values state, size_t one, int64_t lanes, int64_t unroll);
};

} // namespace sinter::codegen
