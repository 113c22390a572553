// CUDA kernels of fused groups: the same groups that cpu/ compiles, cut into blocks and threads.
#pragma once

#include "program/ProgramBuilder.h"
#include "sinter/codegen/Compile.h"

namespace sinter::codegen::cuda {

/// What kernels of one program have in common.
struct Target {
  unsigned symbols = 0; ///< the program's; every kernel takes the values of all
  bool deterministic = true;
};

/// The target that fits a module's symbols, and the options.
Target targetOf(mlir::ModuleOp module, const CompileOptions &options);
EmitGroup emitter(Target target);
/// How programs are built for cards, and for the emulated one.
ProgramOptions programOptions(mlir::ModuleOp module, const CompileOptions &options);
/// Several elementwise groups in one launch.
GroupCode emitForeach(mlir::ModuleOp module, llvm::ArrayRef<ir::GroupOp> groups,
                      llvm::StringRef name, const Target &target);

GroupCode emitPointwise(mlir::ModuleOp module, ir::GroupOp group, llvm::StringRef name,
                        const Target &target);
/// A pointwise group that reads inputs across the grain of its results, by tiles in shared memory;
/// nullopt where none is read so.
std::optional<GroupCode> emitTransposed(mlir::ModuleOp module, ir::GroupOp group,
                                        llvm::StringRef name, const Target &target);
GroupCode emitReduction(mlir::ModuleOp module, ir::GroupOp group, llvm::StringRef name,
                        const Target &target);
GroupCode emitScatter(mlir::ModuleOp module, ir::GroupOp group, llvm::StringRef name,
                      const Target &target);
GroupCode emitContraction(mlir::ModuleOp module, ir::GroupOp group, llvm::StringRef name,
                          const Target &target);

/// Elements of the widest type among a group's inputs and results that 16 bytes hold.
int64_t vectorWidth(ir::GroupOp group);
/// The largest power of two up to `most` that divides `size` whatever the symbols are.
int64_t dividingLanes(mlir::AffineExpr size, int64_t most);

} // namespace sinter::codegen::cuda
