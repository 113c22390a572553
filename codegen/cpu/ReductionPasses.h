// The passes that a CPU kernel of a reduction group makes over its space.
#pragma once

#include "Emitters.h"

#include "kernel/Reducer.h"

namespace sinter::codegen {

/// Cuts the reduced space where what is kept gives the threads too little to share.
void cutIntoChunks(ReductionLayout &layout, ir::GroupOp group);

/// Writes passes into one kernel.
struct ReductionEmitter : Reducer {
  const TargetInfo &target;

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

  Values nest(llvm::ArrayRef<int64_t> dims, At &at, mlir::Value from, mlir::Value to,
              mlir::ValueRange state, Body body);
  int64_t lanesOf(Reductions reductions, llvm::ArrayRef<unsigned> outputs);
  Values foldLanes(Reductions reductions, Values state, size_t one, int64_t lanes, int64_t unroll);
};

} // namespace sinter::codegen
