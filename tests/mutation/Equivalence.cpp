#include "Equivalence.h"

#include "DataDependence.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace sinter::mutation {

Function &kernelOf(Module &module) {
  for (Function &function : module)
    if (!function.isDeclaration())
      return function;
  report_fatal_error("a module of mutants without a kernel");
}

/// The code as the optimiser leaves it, without names and lines.
static std::string simplified(Module &module) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graphs;
  ModuleAnalysisManager modules;
  PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  StripDebugInfo(module);
  FunctionPassManager pipeline;
  for (int round = 0; round < 2; ++round) {
    pipeline.addPass(EarlyCSEPass());
    pipeline.addPass(InstCombinePass());
    pipeline.addPass(GVNPass());
    pipeline.addPass(SimplifyCFGPass());
    pipeline.addPass(ADCEPass());
  }
  Function &kernel = kernelOf(module);
  pipeline.run(kernel, functions);
  for (BasicBlock &block : kernel) {
    block.setName("");
    for (Instruction &instruction : block)
      instruction.setName("");
  }
  std::string text;
  raw_string_ostream(text) << kernel;
  return text;
}

static bool isBlockBarrier(const Instruction &instruction) {
  return isBarrier(instruction) &&
         !cast<CallInst>(instruction).getCalledFunction()->getName().contains("warp");
}

/// Accesses from `at` on, in one direction, up to the next barrier.
static SmallVector<Instruction *> accessesTo(Instruction &at, bool forward) {
  SmallVector<Instruction *> found;
  SmallVector<Instruction *> work = {forward ? at.getNextNode() : at.getPrevNode()};
  SmallPtrSet<BasicBlock *, 16> entered;
  auto leave = [&](BasicBlock *block) {
    auto enter = [&](BasicBlock *next) {
      if (entered.insert(next).second)
        work.push_back(forward ? &next->front() : &next->back());
    };
    if (forward)
      for_each(successors(block), enter);
    else
      for_each(predecessors(block), enter);
  };
  if (!work.front()) {
    work.clear();
    leave(at.getParent());
  }
  while (!work.empty()) {
    Instruction *next = work.pop_back_val();
    BasicBlock *block = next->getParent();
    while (next && !isBlockBarrier(*next)) {
      if (isAccess(*next))
        found.push_back(next);
      next = forward ? next->getNextNode() : next->getPrevNode();
    }
    if (!next)
      leave(block);
  }
  return found;
}

static bool mayConflict(Instruction &a, Instruction &b) {
  if (!a.mayWriteToMemory() && !b.mayWriteToMemory())
    return false;
  const Value *left = getUnderlyingObject(a.getOperand(pointerOperand(a)));
  const Value *right = getUnderlyingObject(b.getOperand(pointerOperand(b)));
  bool known = isa<GlobalVariable, Argument, AllocaInst>(left) &&
               isa<GlobalVariable, Argument, AllocaInst>(right);
  if (isa<AllocaInst>(left) || isa<AllocaInst>(right))
    return false;
  // Two parameters may point to one buffer, as operations in place do.
  return !known || left == right || (isa<Argument>(left) && isa<Argument>(right));
}

static bool separatesNothing(Instruction &barrier) {
  for (Instruction *before : accessesTo(barrier, false))
    for (Instruction *after : accessesTo(barrier, true))
      if (mayConflict(*before, *after))
        return false;
  return true;
}

static void trapAt(Instruction *place) {
  IRBuilder<> builder(place);
  builder.CreateIntrinsic(Intrinsic::trap, {});
}

/// A copy of the module that traps where the mutant's instruction is reached.
static ModulePtr trapIfReached(const Mutant &mutant, const Laboratory &laboratory) {
  ModulePtr module = laboratory.fresh();
  Instruction *at = &find(kernelOf(*module), mutant);
  if (auto *phi = dyn_cast<PHINode>(at)) {
    BasicBlock *edge = SplitEdge(phi->getIncomingBlock(mutant.operand), phi->getParent());
    at = edge->getTerminator();
  }
  trapAt(at);
  return module;
}

/// Null unless the mutant is of a comparison.
static ModulePtr trapIfDifferent(const Mutant &mutant, const Laboratory &laboratory) {
  ModulePtr module = laboratory.fresh();
  auto *comparison = dyn_cast<ICmpInst>(&find(kernelOf(*module), mutant));
  if (!comparison)
    return nullptr;
  auto *changed = dyn_cast<Instruction>(mutatedComparison(*comparison, mutant.up));
  if (!changed)
    return nullptr;
  IRBuilder<> builder(changed->getNextNode());
  Value *differ = builder.CreateXor(comparison, changed);
  auto *place = dyn_cast<Instruction>(differ);
  if (!place)
    return nullptr;
  trapAt(SplitBlockAndInsertIfThen(differ, place->getNextNode(), false));
  return module;
}

std::string whyEquivalent(const Mutant &mutant, const Laboratory &laboratory) {
  ModulePtr original = laboratory.fresh(), mutated = laboratory.fresh();
  apply(kernelOf(*mutated), mutant);
  if (simplified(*mutated) == simplified(*original))
    return "the optimiser makes the same code of it";
  original = laboratory.fresh();
  Function &kernel = kernelOf(*original);
  Instruction &at = find(kernel, mutant);
  if (mutant.kind == Kind::Barrier && isBlockBarrier(at) && separatesNothing(at))
    return "no accesses to the same memory on its two sides, up to the barriers there, of which "
           "one "
           "writes";
  DataDependence dependence(kernel);
  bool reachDepends =
      dependence.reaches(*at.getParent()) ||
      (isa<PHINode>(at) && dependence.reaches(*cast<PHINode>(at).getIncomingBlock(mutant.operand)));
  if (reachDepends)
    return "";
  if (!laboratory.traps(trapIfReached(mutant, laboratory)))
    return "no thread of its shape gets there";
  if (auto *comparison = dyn_cast<ICmpInst>(&at)) {
    if (dependence.isLoaded(comparison->getOperand(0)) ||
        dependence.isLoaded(comparison->getOperand(1)))
      return "";
    ModulePtr probe = trapIfDifferent(mutant, laboratory);
    if (probe && !laboratory.traps(std::move(probe)))
      return "the same for all threads of its shape";
  }
  return "";
}

} // namespace sinter::mutation
