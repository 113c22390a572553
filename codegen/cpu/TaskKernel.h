// A CPU kernel: the function of sinter/abi/kernel.h, which does a range of its tasks.
#pragma once

#include "kernel/KernelEmitter.h"

namespace sinter::codegen {

class TaskKernel : public KernelEmitter {
public:
  /// Starts function `name` in `module`: operands are the tensors `inputs`, then `others` buffers
  /// more (outputs, temporaries).
  TaskKernel(mlir::ModuleOp module, llvm::StringRef name, mlir::Location loc,
             mlir::ValueRange inputs, unsigned others);

  mlir::Value begin() const { return beginTask; }
  mlir::Value end() const { return endTask; }
  mlir::Value scratch() const { return scratchPointer; }

private:
  mlir::Value symbol(unsigned position) override;

  mlir::Value symbols, scratchPointer, beginTask, endTask;
};

} // namespace sinter::codegen
