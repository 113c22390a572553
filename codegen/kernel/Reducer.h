// What the reduction kernels of all targets share: how a group's space is laid out, and the code of
// its accumulators.
#pragma once

#include "kernel/KernelEmitter.h"

namespace sinter::codegen {

using Values = llvm::SmallVector<mlir::Value>;

/// The space of a reduction group: what is reduced, in which order.
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
  /// Extent of `chunkDim` a task reduces; 0: all of it. The target's choice.
  int64_t chunk = 0;
  int64_t chunkDim = -1;

  explicit ReductionLayout(ir::GroupOp group);
  ir::Dims sizes(llvm::ArrayRef<int64_t> dims) const;
  mlir::AffineExpr chunks() const;
  /// One level, and nothing that waits for all of it: the reduced space may be cut into chunks.
  bool isCuttable() const { return levels.size() == 1 && domainOutputs[1].empty(); }
  /// The outermost reduced dimension larger than 1, the one to cut.
  int64_t outermostReduced() const;

private:
  void classify(ir::GroupOp group);
};

/// Writes accumulators of one kernel.
struct Reducer {
  using Reductions = llvm::ArrayRef<ir::ReductionOpInterface>;
  using At = llvm::SmallVector<ir::Index>;

  const ReductionLayout &layout;
  KernelEmitter &k;
  unsigned firstOutput; ///< operand of the group's first output

  At start() { return At(layout.domain.size(), k.at(0)); }
  Values initial(Reductions reductions);
  /// `state` combined with the elements at `at`; also writes the domain outputs of this pass.
  Values step(Reductions reductions, llvm::ArrayRef<unsigned> outputs, llvm::ArrayRef<ir::Index> at,
              mlir::ValueRange state);
  Values combine(Reductions reductions, mlir::ValueRange a, mlir::ValueRange b);
  /// Gives the reductions their results. `isFirst`: elements computed before keep their values.
  void defineResults(Reductions reductions, mlir::ValueRange state, bool isFirst = false);
  void writeDomain(llvm::ArrayRef<unsigned> outputs, llvm::ArrayRef<ir::Index> at);
  void writeReduced(llvm::ArrayRef<ir::Index> at);

private:
  At keptIndex(mlir::Value tensor, llvm::ArrayRef<ir::Index> at);
  mlir::Value position(llvm::ArrayRef<ir::Index> at);
  mlir::Type accumulatorType(ir::ReductionOpInterface reduction);
};

} // namespace sinter::codegen
