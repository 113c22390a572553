// Mutants of a kernel in NVVM IR: what a mistake in the code generator would have made of it. LLVM
// only.
#pragma once

#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

#include <string>
#include <vector>

namespace sinter::mutation {

enum class Kind { Barrier, Index, Mask, Init, Align, Copy, Wait };
inline constexpr Kind kKinds[] = {Kind::Barrier, Kind::Index, Kind::Mask, Kind::Init,
                                  Kind::Align,   Kind::Copy,  Kind::Wait};
const char *nameOf(Kind kind);

/// One change of one instruction; valid for any copy of the function.
struct Mutant {
  Kind kind;
  unsigned instruction = 0; ///< counted over the function
  unsigned operand = 0;     ///< of a phi, select or call
  bool up = false;          ///< an index goes up, a mask becomes wider
  std::string what;         ///< "reads one element further"
  std::string code;         ///< the instruction
  std::string place;        ///< its source line
};

std::vector<Mutant> enumerate(llvm::Function &kernel);
llvm::Instruction &find(llvm::Function &kernel, const Mutant &mutant);
void apply(llvm::Function &kernel, const Mutant &mutant);
/// What a mutated comparison gives, computed next to it.
llvm::Value *mutatedComparison(llvm::ICmpInst &comparison, bool up);

bool isBarrier(const llvm::Instruction &instruction);
/// Loads, stores and atomics.
bool isAccess(const llvm::Instruction &instruction);
unsigned pointerOperand(const llvm::Instruction &access);

} // namespace sinter::mutation
