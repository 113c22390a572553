#include "Kernel.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace sinter::codegen::emulator {

/// llvm.nvvm.ldu.global.*: a load that may be cached.
static void lowerLoad(CallInst &call) {
  IRBuilder<> builder(&call);
  uint64_t align = cast<ConstantInt>(call.getArgOperand(1))->getZExtValue();
  call.replaceAllUsesWith(builder.CreateAlignedLoad(call.getType(), call.getArgOperand(0),
                                                    Align(std::max<uint64_t>(align, 1))));
}

/// llvm.nvvm.atomic.<operation>.gen.<type>.<scope>; scopes make no difference to the host.
static Error lowerAtomic(CallInst &call, StringRef name) {
  IRBuilder<> builder(&call);
  StringRef operation = name.split('.').first;
  Value *pointer = call.getArgOperand(0), *operand = call.getArgOperand(1);
  MaybeAlign align(call.getModule()->getDataLayout().getTypeStoreSize(operand->getType()));
  auto ordering = AtomicOrdering::Monotonic;
  if (operation == "cas") {
    auto *exchange = builder.CreateAtomicCmpXchg(pointer, operand, call.getArgOperand(2), align,
                                                 ordering, ordering);
    call.replaceAllUsesWith(builder.CreateExtractValue(exchange, 0));
    return Error::success();
  }
  auto kind = StringSwitch<AtomicRMWInst::BinOp>(operation)
                  .Case("add", operand->getType()->isFloatingPointTy() ? AtomicRMWInst::FAdd
                                                                       : AtomicRMWInst::Add)
                  .Case("and", AtomicRMWInst::And)
                  .Case("or", AtomicRMWInst::Or)
                  .Case("xor", AtomicRMWInst::Xor)
                  .Case("exch", AtomicRMWInst::Xchg)
                  .Case("max", AtomicRMWInst::Max)
                  .Case("min", AtomicRMWInst::Min)
                  .Case("inc", AtomicRMWInst::UIncWrap)
                  .Case("dec", AtomicRMWInst::UDecWrap)
                  .Default(AtomicRMWInst::BAD_BINOP);
  if (kind == AtomicRMWInst::BAD_BINOP)
    return errorAt(call, "intrinsic 'llvm.nvvm.atomic." + name + "' has no emulation");
  call.replaceAllUsesWith(builder.CreateAtomicRMW(kind, pointer, operand, align, ordering));
  return Error::success();
}

/// llvm.nvvm.cp.async.{ca,cg}.shared.global.<bytes>[.s], done at once. The last form copies so many
/// bytes and fills the rest with zeros.
static void lowerCopy(CallInst &call, StringRef name) {
  bool sized = name.consume_back(".s");
  uint64_t bytes = 0;
  name.rsplit('.').second.getAsInteger(10, bytes);
  IRBuilder<> builder(&call);
  Type *type = bytes == 4 ? (Type *)builder.getInt32Ty()
                          : FixedVectorType::get(builder.getInt32Ty(), unsigned(bytes / 4));
  Value *to = call.getArgOperand(0), *from = call.getArgOperand(1);
  if (!sized) {
    builder.CreateAlignedStore(builder.CreateAlignedLoad(type, from, Align(bytes)), to,
                               Align(bytes));
    return;
  }
  Value *size = call.getArgOperand(2);
  IRBuilder<> entry(&*call.getFunction()->getEntryBlock().begin());
  Value *buffer = entry.CreateAlloca(type);
  builder.CreateAlignedStore(Constant::getNullValue(type), buffer, Align(4));
  Instruction *whole = nullptr, *part = nullptr;
  SplitBlockAndInsertIfThenElse(builder.CreateICmpEQ(size, builder.getInt32(bytes)), &call, &whole,
                                &part);
  IRBuilder<> copy(whole);
  copy.SetCurrentDebugLocation(call.getDebugLoc());
  copy.CreateAlignedStore(copy.CreateAlignedLoad(type, from, Align(bytes)), buffer, Align(4));
  auto [body, index] = SplitBlockAndInsertSimpleForLoop(size, part->getIterator());
  IRBuilder<> bytewise(body);
  bytewise.SetCurrentDebugLocation(call.getDebugLoc());
  Type *byte = bytewise.getInt8Ty();
  bytewise.CreateStore(bytewise.CreateLoad(byte, bytewise.CreateGEP(byte, from, index)),
                       bytewise.CreateGEP(byte, buffer, index));
  builder.SetInsertPoint(&call);
  builder.CreateAlignedStore(builder.CreateAlignedLoad(type, buffer, Align(4)), to, Align(bytes));
}

Error lowerMemoryIntrinsics(Function &function) {
  SmallVector<CallInst *> calls;
  for (BasicBlock &block : function)
    for (Instruction &instruction : block)
      if (auto *call = dyn_cast<CallInst>(&instruction))
        calls.push_back(call);
  for (CallInst *call : calls) {
    StringRef name = call->getCalledFunction()->getName();
    if (!name.consume_front("llvm.nvvm."))
      continue;
    if (name.starts_with("ldu.global.") || name.starts_with("ldg.global."))
      lowerLoad(*call);
    else if (name.consume_front("atomic.")) {
      if (Error error = lowerAtomic(*call, name))
        return error;
    } else if (name.starts_with("cp.async.ca.shared.global.") ||
               name.starts_with("cp.async.cg.shared.global."))
      lowerCopy(*call, name);
    else
      continue;
    call->eraseFromParent();
  }
  return Error::success();
}

} // namespace sinter::codegen::emulator
