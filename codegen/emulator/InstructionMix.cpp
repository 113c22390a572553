#include "Kernel.h"

#include "llvm/IR/IntrinsicInst.h"

#include <algorithm>

using namespace llvm;

namespace sinter::codegen::emulator {

static int arithmeticClass(Type *type) {
  type = type->getScalarType();
  if (type->isDoubleTy())
    return SINTER_EMU_FP64;
  if (type->isFloatTy())
    return SINTER_EMU_FP32;
  if (type->isHalfTy() || type->isBFloatTy())
    return SINTER_EMU_FP16;
  return SINTER_EMU_INTEGER;
}

static int accessClass(const Instruction &access) {
  if (isa<AtomicRMWInst, AtomicCmpXchgInst>(access))
    return SINTER_EMU_ATOMIC;
  if (isLocalAccess(access))
    return SINTER_EMU_LOCAL;
  bool load = isa<LoadInst>(access);
  switch (getLoadStorePointerOperand(&access)->getType()->getPointerAddressSpace()) {
  case SINTER_EMU_SPACE_GENERIC:
  case SINTER_EMU_SPACE_GLOBAL:
    return load ? SINTER_EMU_GLOBAL_LOAD : SINTER_EMU_GLOBAL_STORE;
  case SINTER_EMU_SPACE_SHARED:
    return load ? SINTER_EMU_SHARED_LOAD : SINTER_EMU_SHARED_STORE;
  default:
    return SINTER_EMU_LOCAL;
  }
}

/// The instructions an access takes: 16 bytes each at most, and no wider than it is aligned.
static uint64_t accessPieces(const Instruction &access) {
  if (!isa<LoadInst, StoreInst>(access))
    return 1;
  uint64_t bytes = access.getDataLayout().getTypeStoreSize(getLoadStoreType(&access));
  uint64_t width = std::min<uint64_t>(getLoadStoreAlignment(&access).value(), 16);
  return std::max<uint64_t>(1, (bytes + width - 1) / width);
}

static int nvvmClass(StringRef name, Type *type) {
  if (name.starts_with("barrier.cta."))
    return SINTER_EMU_BARRIER;
  for (StringRef family :
       {"shfl.", "vote.", "redux.", "match.", "elect.", "bar.warp.", "activemask"})
    if (name.starts_with(family))
      return SINTER_EMU_WARP_OP;
  if (name.contains(".approx") || name.starts_with("rcp.") || name.starts_with("sqrt.") ||
      name.starts_with("div.") || name.starts_with("rsqrt."))
    return SINTER_EMU_SPECIAL;
  if (name.starts_with("read.ptx.sreg.") || name.starts_with("membar.") || type->isVoidTy())
    return SINTER_EMU_OTHER;
  if (name.contains('2'))
    return SINTER_EMU_CONVERT;
  return arithmeticClass(type);
}

static int callClass(const CallInst &call) {
  StringRef name = call.getCalledFunction()->getName();
  if (name.consume_front("llvm.nvvm."))
    return nvvmClass(name, call.getType());
  switch (call.getIntrinsicID()) {
    // clang-format off
  case Intrinsic::sqrt: case Intrinsic::pow: case Intrinsic::exp: case Intrinsic::exp2:
  case Intrinsic::exp10: case Intrinsic::log: case Intrinsic::log2: case Intrinsic::log10:
  case Intrinsic::sin: case Intrinsic::cos: case Intrinsic::tan: case Intrinsic::tanh:
    // clang-format on
    return SINTER_EMU_SPECIAL;
  default:
    return call.getType()->isVoidTy() ? SINTER_EMU_OTHER : arithmeticClass(call.getType());
  }
}

/// -1: takes no instruction.
static int classOf(const Instruction &instruction) {
  if (isMemoryAccess(instruction))
    return accessClass(instruction);
  if (auto *call = dyn_cast<CallInst>(&instruction)) {
    bool silent = call->isLifetimeStartOrEnd() || call->getIntrinsicID() == Intrinsic::assume;
    return silent ? -1 : callClass(*call);
  }
  if (isa<PHINode, BitCastInst, PtrToIntInst, IntToPtrInst, AllocaInst, ExtractElementInst,
          InsertElementInst, ShuffleVectorInst, ExtractValueInst, InsertValueInst, FreezeInst>(
          instruction))
    return -1; // registers of one lane: no instruction, or one that the assembler removes
  if (isa<AddrSpaceCastInst, FenceInst>(instruction))
    return SINTER_EMU_OTHER;
  if (isa<TruncInst, ZExtInst>(instruction) && instruction.getType()->isIntOrIntVectorTy())
    return -1;
  if (isa<CastInst>(instruction))
    return SINTER_EMU_CONVERT;
  if (instruction.isTerminator())
    return SINTER_EMU_BRANCH;
  if (isa<GetElementPtrInst>(instruction))
    return cast<GetElementPtrInst>(instruction).hasAllConstantIndices() ? -1 : SINTER_EMU_INTEGER;
  if (isa<CmpInst>(instruction))
    return arithmeticClass(instruction.getOperand(0)->getType());
  if (instruction.getOpcode() == Instruction::FDiv || instruction.getOpcode() == Instruction::FRem)
    return SINTER_EMU_SPECIAL;
  return arithmeticClass(instruction.getType());
}

sinter_emu_mix instructionMix(const BasicBlock &block) {
  sinter_emu_mix mix = {};
  for (const Instruction &instruction : block) {
    int kind = classOf(instruction);
    if (kind < 0)
      continue;
    uint64_t count = 1;
    if (isMemoryAccess(instruction))
      count = accessPieces(instruction);
    else if (auto *vector = dyn_cast<FixedVectorType>(instruction.getType()))
      count = vector->getNumElements();
    mix.count[kind] = uint16_t(std::min<uint64_t>(mix.count[kind] + count, UINT16_MAX));
  }
  return mix;
}

} // namespace sinter::codegen::emulator
