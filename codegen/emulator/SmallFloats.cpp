#include "Kernel.h"

using namespace llvm;

namespace sinter::codegen::emulator {

/// To float such that a second rounding to fewer bits is right: inexact results end in an odd bit
/// (Boldo and Melquiond, "When double rounding is odd").
static Value *roundToOdd(IRBuilder<> &builder, Value *value) {
  Type *narrow = builder.getFloatTy(), *bitsType = builder.getInt32Ty();
  if (auto *vector = dyn_cast<VectorType>(value->getType())) {
    narrow = VectorType::get(narrow, vector->getElementCount());
    bitsType = VectorType::get(bitsType, vector->getElementCount());
  }
  auto constant = [&](uint64_t number) { return ConstantInt::get(bitsType, number); };
  Value *nearest = builder.CreateFPTrunc(value, narrow);
  Value *back = builder.CreateFPExt(nearest, value->getType());
  Value *bits = builder.CreateBitCast(nearest, bitsType);
  Value *even = builder.CreateICmpEQ(builder.CreateAnd(bits, constant(1)), constant(0));
  Value *inexact = builder.CreateFCmpONE(back, value);
  Value *tooFar = builder.CreateFCmpOGT(builder.CreateUnaryIntrinsic(Intrinsic::fabs, back),
                                        builder.CreateUnaryIntrinsic(Intrinsic::fabs, value));
  Value *step = builder.CreateSelect(tooFar, constant(uint64_t(-1)), constant(1));
  Value *odd =
      builder.CreateSelect(builder.CreateAnd(even, inexact), builder.CreateAdd(bits, step), bits);
  return builder.CreateBitCast(odd, narrow);
}

/// Nearest even, by bits; NaN stays NaN.
static Value *toBFloat(IRBuilder<> &builder, Value *value, Type *result) {
  Type *bitsType = builder.getInt32Ty(), *halfBits = builder.getInt16Ty();
  if (auto *vector = dyn_cast<VectorType>(value->getType())) {
    bitsType = VectorType::get(bitsType, vector->getElementCount());
    halfBits = VectorType::get(halfBits, vector->getElementCount());
  }
  auto constant = [&](uint64_t number) { return ConstantInt::get(bitsType, number); };
  Value *bits = builder.CreateBitCast(value, bitsType);
  Value *last = builder.CreateAnd(builder.CreateLShr(bits, constant(16)), constant(1));
  Value *rounded = builder.CreateAdd(bits, builder.CreateAdd(last, constant(0x7fff)));
  Value *quiet = builder.CreateOr(bits, constant(0x400000));
  Value *chosen = builder.CreateSelect(builder.CreateFCmpUNO(value, value), quiet, rounded);
  Value *high = builder.CreateTrunc(builder.CreateLShr(chosen, constant(16)), halfBits);
  return builder.CreateBitCast(high, result);
}

static Value *expandTruncation(IRBuilder<> &builder, Value *value, Type *result) {
  if (value->getType()->getScalarType()->isDoubleTy())
    value = roundToOdd(builder, value);
  return result->getScalarType()->isBFloatTy() ? toBFloat(builder, value, result)
                                               : builder.CreateFPTrunc(value, result);
}

static Type *withFloat(Type *type) {
  return type->getWithNewType(Type::getFloatTy(type->getContext()));
}

static bool isBFloat(const Value *value) { return value->getType()->getScalarType()->isBFloatTy(); }

/// Arithmetic on bf16 is done on floats and rounded, as hardware without bf16 units does; exact
/// products and sums of two bf16 fit a float's rounding, so that nothing is rounded twice wrongly.
static Value *widenArithmetic(IRBuilder<> &builder, Instruction &instruction) {
  SmallVector<Value *> operands;
  for (Value *operand : instruction.operands())
    operands.push_back(
        isBFloat(operand) ? builder.CreateFPExt(operand, withFloat(operand->getType())) : operand);
  if (auto *compare = dyn_cast<FCmpInst>(&instruction))
    return builder.CreateFCmp(compare->getPredicate(), operands[0], operands[1]);
  Type *wide = isBFloat(&instruction) ? withFloat(instruction.getType()) : instruction.getType();
  Value *result = nullptr;
  if (auto *operation = dyn_cast<BinaryOperator>(&instruction))
    result = builder.CreateBinOp(operation->getOpcode(), operands[0], operands[1]);
  else if (isa<SIToFPInst>(instruction))
    result = builder.CreateSIToFP(operands[0], wide);
  else if (isa<UIToFPInst>(instruction))
    result = builder.CreateUIToFP(operands[0], wide);
  else if (isa<FPToSIInst>(instruction))
    result = builder.CreateFPToSI(operands[0], wide);
  else if (isa<FPToUIInst>(instruction))
    result = builder.CreateFPToUI(operands[0], wide);
  else {
    auto &call = cast<CallInst>(instruction);
    operands.pop_back(); // the callee
    result = builder.CreateIntrinsic(call.getIntrinsicID(), {wide}, operands);
  }
  return isBFloat(&instruction) ? expandTruncation(builder, result, instruction.getType()) : result;
}

static bool needsWidening(const Instruction &instruction) {
  bool touches = isBFloat(&instruction) ||
                 any_of(instruction.operands(), [](const Use &use) { return isBFloat(use.get()); });
  if (!touches)
    return false;
  if (auto *call = dyn_cast<CallInst>(&instruction))
    return call->getIntrinsicID() != Intrinsic::not_intrinsic &&
           all_of(call->args(), [](const Use &use) { return isBFloat(use.get()); });
  return isa<BinaryOperator, FCmpInst, SIToFPInst, UIToFPInst, FPToSIInst, FPToUIInst>(instruction);
}

void expandSmallFloats(Function &function) {
  SmallVector<Instruction *> work;
  for (BasicBlock &block : function)
    for (Instruction &instruction : block)
      work.push_back(&instruction);
  for (Instruction *instruction : work) {
    IRBuilder<> builder(instruction);
    Value *value = nullptr;
    if (isa<FPTruncInst>(instruction)) {
      Value *from = instruction->getOperand(0);
      Type *small = instruction->getType()->getScalarType();
      if (small->isBFloatTy() ||
          (small->isHalfTy() && from->getType()->getScalarType()->isDoubleTy()))
        value = expandTruncation(builder, from, instruction->getType());
    } else if (isa<FPExtInst>(instruction) && isBFloat(instruction->getOperand(0)) &&
               !instruction->getType()->getScalarType()->isFloatTy()) {
      Value *from = instruction->getOperand(0);
      value = builder.CreateFPExt(builder.CreateFPExt(from, withFloat(from->getType())),
                                  instruction->getType());
    } else if (needsWidening(*instruction)) {
      value = widenArithmetic(builder, *instruction);
    }
    if (!value)
      continue;
    instruction->replaceAllUsesWith(value);
    instruction->eraseFromParent();
  }
}

} // namespace sinter::codegen::emulator
