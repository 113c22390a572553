#include "TaskKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace sinter::codegen {

TaskKernel::TaskKernel(ModuleOp module, StringRef name, Location loc, ValueRange inputs,
                       unsigned others)
    : KernelEmitter(module, loc) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext()), i64 = b.getI64Type();
  Block *entry = start(name, {pointer, pointer, pointer, i64, i64}, inputs);
  Value buffers = entry->getArgument(0);
  symbols = entry->getArgument(1);
  scratchPointer = entry->getArgument(2);
  for (unsigned i = 0; i < inputs.size() + others; ++i) {
    Value slot =
        LLVM::GEPOp::create(b, loc, pointer, pointer, buffers, ArrayRef<LLVM::GEPArg>{int32_t(i)});
    pointers.push_back(LLVM::LoadOp::create(b, loc, pointer, slot));
  }
  beginTask = arith::IndexCastOp::create(b, loc, b.getIndexType(), entry->getArgument(3));
  auto last = arith::IndexCastOp::create(b, loc, b.getIndexType(), entry->getArgument(4));
  endTask = last;
  prologue = last;
}

Value TaskKernel::symbol(unsigned position) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value slot = LLVM::GEPOp::create(b, loc, pointer, b.getI64Type(), symbols,
                                   ArrayRef<LLVM::GEPArg>{int32_t(position)});
  return LLVM::LoadOp::create(b, loc, b.getI64Type(), slot);
}

} // namespace sinter::codegen
