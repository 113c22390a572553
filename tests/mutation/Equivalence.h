// Proofs that a mutant changes nothing, so that nobody can be asked to notice it.
//
// A proof is by the code alone, or by all threads of a launch: where control and operands depend on
// shapes and positions and on nothing that was loaded, what was never reached or never differed in
// one launch never does, as a kernel of a model without symbolic dimensions has one shape.
#pragma once

#include "Mutants.h"

#include "llvm/IR/Module.h"

#include <functional>
#include <memory>
#include <string>

namespace sinter::mutation {

using ModulePtr = std::unique_ptr<llvm::Module>;

/// What proofs ask: a fresh copy of the module, and whether a copy of it hits a trap when it is
/// launched.
struct Laboratory {
  std::function<ModulePtr()> fresh;
  std::function<bool(ModulePtr)> traps;
};

/// The reason why `mutant` of the module's kernel changes nothing; "" if there is no proof.
std::string whyEquivalent(const Mutant &mutant, const Laboratory &laboratory);

/// The only kernel of a module.
llvm::Function &kernelOf(llvm::Module &module);

} // namespace sinter::mutation
