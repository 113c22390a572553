// The CPU's kernels of fused groups.
#pragma once

#include "kernel/GroupCode.h"

namespace sinter::codegen {

/// What the target offers.
struct TargetInfo {
  int64_t lanes = 8; ///< f32 elements in a vector register
};

/// Emits kernels for CPUs with this target's registers.
EmitGroup emitter(TargetInfo target);

GroupCode emitPointwise(mlir::ModuleOp module, ir::GroupOp group, llvm::StringRef name,
                        const TargetInfo &target);
GroupCode emitReduction(mlir::ModuleOp module, ir::GroupOp group, llvm::StringRef name,
                        const TargetInfo &target);
GroupCode emitScatter(mlir::ModuleOp module, ir::GroupOp group, llvm::StringRef name,
                      const TargetInfo &target);
GroupCode emitContraction(mlir::ModuleOp module, ir::GroupOp group, llvm::StringRef name,
                          const TargetInfo &target);

//===-- scheduling helpers --------------------------------------------------------------------===//

/// Elements that make a task worth handing to a thread; a multiple of every vector width.
int64_t grainElements(ir::GroupOp group);
/// The number of lanes for a dimension of this size: at most the target's, a power of two no larger
/// than a static size.
int64_t lanesFor(mlir::AffineExpr size, const TargetInfo &target);

} // namespace sinter::codegen
