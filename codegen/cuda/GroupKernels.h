// What the emitters of all kinds of groups start from.
#pragma once

#include "Emitters.h"
#include "ThreadKernel.h"

namespace sinter::codegen::cuda {

/// The kernels of one group in the making.
struct GroupKernels {
  mlir::ModuleOp module;
  ir::GroupOp group;
  std::string name;
  const Target &target;
  mlir::MLIRContext *context = group.getContext();
  mlir::Operation *yield = group.getBody().front().getTerminator();
  unsigned inputs = unsigned(group.getInputs().size()),
           outputs = unsigned(group.getOutputs().size());
  GroupCode code = {};

  /// Starts another kernel. Its operands are the group's inputs, then the buffers numbered `read`
  /// and `written` (as in GroupKernel::operands).
  ThreadKernel start(llvm::StringRef suffix, mlir::AffineExpr blocks, int64_t threads,
                     llvm::ArrayRef<unsigned> read, llvm::ArrayRef<unsigned> written);
  /// The numbers of the group's outputs.
  llvm::SmallVector<unsigned> results() const;
};

/// The one kernel of a group that is an embedding_grad, with sums in the order of the index.
void emitEmbeddingGrad(GroupKernels &kernels, mlir::Operation *op);

} // namespace sinter::codegen::cuda
