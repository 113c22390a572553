#include "Mutants.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace sinter::mutation {

const char *nameOf(Kind kind) {
  static const char *const names[] = {"barrier", "index", "mask", "init", "align", "copy", "wait"};
  return names[int(kind)];
}

static StringRef callee(const Instruction &instruction) {
  auto *call = dyn_cast<CallInst>(&instruction);
  return call && call->getCalledFunction() ? call->getCalledFunction()->getName() : "";
}

bool isBarrier(const Instruction &instruction) {
  StringRef name = callee(instruction);
  return name.starts_with("llvm.nvvm.barrier") || name.starts_with("llvm.nvvm.bar.");
}

static bool isShuffle(const Instruction &instruction) {
  return callee(instruction).starts_with("llvm.nvvm.shfl.sync");
}

static bool hasLaneMask(const Instruction &instruction) {
  StringRef name = callee(instruction);
  return isShuffle(instruction) || name.starts_with("llvm.nvvm.vote") ||
         name.starts_with("llvm.nvvm.redux") || name.starts_with("llvm.nvvm.bar.warp.sync");
}

static unsigned maskOperand(const Instruction &instruction) {
  return callee(instruction).starts_with("llvm.nvvm.redux") ? 1 : 0;
}

bool isAccess(const Instruction &instruction) {
  return isa<LoadInst, StoreInst, AtomicRMWInst, AtomicCmpXchgInst>(instruction);
}

unsigned pointerOperand(const Instruction &access) { return isa<StoreInst>(access) ? 1 : 0; }

static Type *accessType(const Instruction &access) {
  if (auto *update = dyn_cast<AtomicRMWInst>(&access))
    return update->getValOperand()->getType();
  if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&access))
    return exchange->getNewValOperand()->getType();
  return getLoadStoreType(&access);
}

static bool isInShared(const Instruction &access) {
  return access.getOperand(pointerOperand(access))->getType()->getPointerAddressSpace() == 3;
}

namespace {
class Enumerator {
public:
  explicit Enumerator(Function &kernel) {
    for (Instruction &instruction : instructions(kernel)) {
      visit(instruction);
      ++number;
    }
  }
  std::vector<Mutant> mutants;

private:
  void add(Kind kind, const Instruction &at, std::string what, bool up = false,
           unsigned operand = 0) {
    Mutant mutant{kind, number, operand, up, std::move(what), "", ""};
    raw_string_ostream(mutant.code) << at;
    mutant.code = StringRef(mutant.code).split(", !dbg").first.trim().str();
    if (const DebugLoc &location = at.getDebugLoc())
      mutant.place = (location->getFilename() + ":" + Twine(location.getLine())).str();
    mutants.push_back(std::move(mutant));
  }

  void visit(Instruction &at) {
    if (isBarrier(at) && at.getType()->isVoidTy())
      add(Kind::Barrier, at, "is dropped");
    if (isAccess(at))
      visitAccess(at);
    if (isShuffle(at))
      add(Kind::Index, at, "goes to another lane", true, 2);
    if (hasLaneMask(at)) {
      auto *mask = dyn_cast<ConstantInt>(at.getOperand(maskOperand(at)));
      if (!mask || mask->isMinusOne())
        add(Kind::Mask, at, "names half of the lanes", false, maskOperand(at));
      if (!mask || !mask->isMinusOne())
        add(Kind::Mask, at, "names all lanes", true, maskOperand(at));
    }
    if (auto *comparison = dyn_cast<ICmpInst>(&at);
        comparison && comparison->getOperand(0)->getType()->isIntegerTy()) {
      bool equality = comparison->isEquality();
      add(Kind::Mask, at, equality ? "compares with one step more" : "is true for one more", true);
      add(Kind::Mask, at, equality ? "compares with one step less" : "is true for one less", false);
    }
    if (auto *phi = dyn_cast<PHINode>(&at))
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
        addConstant(at, i);
    if (isa<SelectInst>(at))
      for (unsigned i : {1, 2})
        addConstant(at, i);
  }

  void visitAccess(Instruction &at) {
    add(Kind::Index, at, "goes one further", true);
    add(Kind::Index, at, "goes one back", false);
    if (isa<FixedVectorType>(accessType(at)))
      add(Kind::Align, at, "goes one element of the vector further", true);
    auto *store = dyn_cast<StoreInst>(&at);
    if (store && (isInShared(at) || isa<Constant>(store->getValueOperand())))
      add(Kind::Init, at, "is dropped");
  }

  /// A constant that a variable starts with, or has where a condition does not hold.
  void addConstant(Instruction &at, unsigned operand) {
    auto *constant = dyn_cast<Constant>(at.getOperand(operand));
    if (!constant || isa<UndefValue>(constant) || at.getType()->isPointerTy())
      return;
    bool isMask = at.getType()->isIntOrIntVectorTy(1);
    add(isMask ? Kind::Mask : Kind::Init, at,
        isMask ? "has the opposite constant" : "has all ones for the constant",
        isMask && constant->isNullValue(), operand);
  }

  unsigned number = 0;
};
} // namespace

std::vector<Mutant> enumerate(Function &kernel) { return Enumerator(kernel).mutants; }

Instruction &find(Function &kernel, const Mutant &mutant) {
  return *std::next(inst_begin(kernel), mutant.instruction);
}

/// By how much an induction variable that is compared grows; 1 for anything else.
static Value *stepOf(ICmpInst &comparison) {
  Type *type = comparison.getOperand(0)->getType();
  for (Value *side : comparison.operands()) {
    auto *phi = dyn_cast<PHINode>(side);
    for (Value *candidate :
         phi ? SmallVector<Value *>(phi->incoming_values()) : SmallVector<Value *>{side}) {
      auto *sum = dyn_cast<BinaryOperator>(candidate);
      if (!sum || sum->getOpcode() != Instruction::Add)
        continue;
      auto *from = dyn_cast<PHINode>(sum->getOperand(0));
      auto *step = dyn_cast<ConstantInt>(sum->getOperand(1));
      if (from && step && (from == phi || is_contained(from->incoming_values(), sum)))
        return ConstantInt::get(type, step->getValue().abs());
    }
  }
  return ConstantInt::get(type, 1);
}

Value *mutatedComparison(ICmpInst &comparison, bool up) {
  IRBuilder<> builder(comparison.getNextNode());
  Value *left = comparison.getOperand(0), *right = comparison.getOperand(1);
  auto predicate = comparison.getPredicate();
  if (comparison.isEquality()) {
    // Which end of a loop this is cannot be told; the bound moves by a step either way.
    Value *step = stepOf(comparison);
    return builder.CreateICmp(predicate, left,
                              up ? builder.CreateAdd(right, step) : builder.CreateSub(right, step));
  }
  // a < b becomes a < b + 1 or a < b - 1.
  bool grows = ICmpInst::isLT(predicate) || ICmpInst::isLE(predicate);
  Value *one = ConstantInt::get(left->getType(), 1);
  if (grows == up) // by the other side, so that a bound of 0 or of all ones does not wrap
    return builder.CreateICmp(predicate, left, builder.CreateAdd(right, one));
  return builder.CreateICmp(predicate, left, builder.CreateSub(right, one));
}

static void shiftPointer(Instruction &access, int64_t bytes) {
  IRBuilder<> builder(&access);
  Use &pointer = access.getOperandUse(pointerOperand(access));
  pointer.set(builder.CreateGEP(builder.getInt8Ty(), pointer.get(), builder.getInt64(bytes)));
}

static void changeConstant(Instruction &at, unsigned operand) {
  auto *constant = cast<Constant>(at.getOperand(operand));
  Constant *ones = Constant::getAllOnesValue(constant->getType());
  at.setOperand(operand, constant == ones ? Constant::getNullValue(constant->getType()) : ones);
}

void apply(Function &kernel, const Mutant &mutant) {
  Instruction &at = find(kernel, mutant);
  const DataLayout &layout = kernel.getDataLayout();
  if (isAccess(at) && mutant.kind == Kind::Index) {
    auto bytes = int64_t(layout.getTypeStoreSize(accessType(at)));
    return shiftPointer(at, mutant.up ? bytes : -bytes);
  }
  if (mutant.kind == Kind::Align)
    return shiftPointer(at, int64_t(layout.getTypeStoreSize(accessType(at)->getScalarType())));
  if (isShuffle(at) && mutant.kind == Kind::Index) {
    IRBuilder<> builder(&at);
    return at.setOperand(2, builder.CreateXor(at.getOperand(2), builder.getInt32(1)));
  }
  if (hasLaneMask(at) && mutant.kind == Kind::Mask) {
    IRBuilder<> builder(&at);
    Value *mask = at.getOperand(mutant.operand);
    return at.setOperand(mutant.operand, mutant.up
                                             ? builder.getInt32(~0u)
                                             : builder.CreateAnd(mask, builder.getInt32(0xffff)));
  }
  if (auto *comparison = dyn_cast<ICmpInst>(&at)) {
    Value *changed = mutatedComparison(*comparison, mutant.up);
    comparison->replaceUsesWithIf(changed, [&](Use &use) { return use.getUser() != changed; });
    return;
  }
  if (isa<PHINode, SelectInst>(at))
    return changeConstant(at, mutant.operand);
  at.eraseFromParent(); // a barrier, a store
}

} // namespace sinter::mutation
