#include "DataDependence.h"

#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace sinter::mutation {

/// True if more values were found.
bool DataDependence::spreadValues(Function &kernel) {
  bool more = false;
  for (Instruction &instruction : instructions(kernel)) {
    bool depends = isa<LoadInst, AtomicRMWInst, AtomicCmpXchgInst>(instruction) ||
                   any_of(instruction.operands(), [&](const Use &use) { return isLoaded(use); });
    if (auto *phi = dyn_cast<PHINode>(&instruction))
      depends |= any_of(phi->blocks(), [&](const BasicBlock *from) { return reaches(*from); });
    if (depends)
      more |= loaded.insert(&instruction).second;
  }
  return more;
}

static void addReachable(const BasicBlock *from, SmallPtrSetImpl<const BasicBlock *> &found) {
  SmallVector<const BasicBlock *> work = {from};
  while (!work.empty())
    for (const BasicBlock *next : successors(work.pop_back_val()))
      if (found.insert(next).second)
        work.push_back(next);
}

DataDependence::DataDependence(Function &kernel) {
  PostDominatorTree after(kernel);
  while (spreadValues(kernel)) {
    for (BasicBlock &block : kernel) {
      const Instruction *end = block.getTerminator();
      if (end->getNumSuccessors() < 2 || !isLoaded(end))
        continue;
      SmallPtrSet<const BasicBlock *, 16> reachable;
      addReachable(&block, reachable);
      for (const BasicBlock *target : reachable)
        if (!after.dominates(target, &block))
          blocks.insert(target);
    }
  }
}

} // namespace sinter::mutation
