// What a fused group becomes on any target: one kernel, or several over shared temporaries.
#pragma once

#include "sinter/ir/Dialect.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <string>

namespace sinter::codegen {

/// One launch. Sizes are expressions of the program's symbols.
struct GroupKernel {
  std::string symbol;
  mlir::AffineExpr tasks; ///< CUDA: blocks
  int64_t scratchBytes = 0;
  /// Numbers of the buffers it takes: the group's inputs, then its outputs, then its temporaries.
  llvm::SmallVector<unsigned> operands;
  unsigned outputs = 0; ///< how many of them, at the end, it writes
  int64_t threads = 0;  ///< CUDA: threads a block
};

struct GroupCode {
  llvm::SmallVector<GroupKernel> kernels;
  llvm::SmallVector<mlir::RankedTensorType> temporaries;
};

/// A target's way to emit the kernels of a group into a module, under names that start with the
/// given one.
using EmitGroup = std::function<GroupCode(mlir::ModuleOp, ir::GroupOp, llvm::StringRef)>;

/// Emits one kernel that does what each of several groups does, elementwise and of one kind
/// (program/Foreach.h). Its operands are all groups' inputs, then all groups' outputs.
using EmitForeach =
    std::function<GroupCode(mlir::ModuleOp, llvm::ArrayRef<ir::GroupOp>, llvm::StringRef)>;

/// Whether an element of `value` can be computed for lanes that run over its dimension `dim` (-1:
/// none).
bool lanesPossible(mlir::Value value, int64_t dim);
/// Instructions an element of the group costs, roughly.
int64_t groupCost(ir::GroupOp group);
/// All buffers of the group in order, for kernels that take every one.
llvm::SmallVector<unsigned> allOperands(ir::GroupOp group);

} // namespace sinter::codegen
