// What a fused group becomes on the CPU: one kernel, or several over shared temporaries.
#pragma once

#include "sinter/ir/Dialect.h"

#include "mlir/IR/BuiltinOps.h"

namespace sinter::codegen {

/// What the target offers.
struct TargetInfo {
  int64_t lanes = 8; ///< f32 elements in a vector register
};

/// One launch. Sizes are expressions of the program's symbols.
struct GroupKernel {
  std::string symbol;
  mlir::AffineExpr tasks;
  int64_t scratchBytes = 0;
  /// Numbers of the buffers it takes: the group's inputs, then its outputs, then its temporaries.
  llvm::SmallVector<unsigned> operands;
  unsigned outputs = 0; ///< how many of them, at the end, it writes
};

struct GroupCode {
  llvm::SmallVector<GroupKernel> kernels;
  llvm::SmallVector<mlir::RankedTensorType> temporaries;
};

/// Emits the kernels of a group into `module` under names starting with `name`. Groups of kind
/// "contraction" too.
GroupCode emitGroup(mlir::ModuleOp module, ir::GroupOp group, llvm::StringRef name,
                    const TargetInfo &target);

GroupCode emitPointwise(mlir::ModuleOp module, ir::GroupOp group, llvm::StringRef name,
                        const TargetInfo &target);
GroupCode emitReduction(mlir::ModuleOp module, ir::GroupOp group, llvm::StringRef name,
                        const TargetInfo &target);
GroupCode emitScatter(mlir::ModuleOp module, ir::GroupOp group, llvm::StringRef name,
                      const TargetInfo &target);
GroupCode emitContraction(mlir::ModuleOp module, ir::GroupOp group, llvm::StringRef name,
                          const TargetInfo &target);

//===-- scheduling helpers --------------------------------------------------------------------===//

/// Whether an element of `value` can be computed for lanes that run over its dimension `dim` (-1:
/// none).
bool lanesPossible(mlir::Value value, int64_t dim);
/// Instructions an element of the group costs, roughly.
int64_t groupCost(ir::GroupOp group);
/// Elements that make a task worth handing to a thread; a multiple of every vector width.
int64_t grainElements(ir::GroupOp group);
/// All buffers of the group in order, for kernels that take every one.
llvm::SmallVector<unsigned> allOperands(ir::GroupOp group);
/// The number of lanes for a dimension of this size: at most the target's, a power of two no larger
/// than a static size.
int64_t lanesFor(mlir::AffineExpr size, const TargetInfo &target);

} // namespace sinter::codegen
