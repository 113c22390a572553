// The element of a pointwise group, for the loops or threads of any target.
#pragma once

#include "kernel/GroupCode.h"
#include "kernel/KernelEmitter.h"

namespace sinter::codegen {

/// Whether lanes may run along the last dimension of a pointwise group's results.
bool lanesPossible(ir::GroupOp group);

struct Points {
  ir::GroupOp group;
  KernelEmitter &k;
  mlir::Operation *yield = group.getBody().front().getTerminator();
  ir::Dims domain = ir::dimsOf(yield->getOperand(0));

  /// Computes all outputs at `at` before storing any: an output may share its buffer with an input.
  void emit(llvm::ArrayRef<ir::Index> at);

private:
  llvm::SmallVector<ir::Index> indexOf(mlir::Value output, llvm::ArrayRef<ir::Index> at);
};

} // namespace sinter::codegen
