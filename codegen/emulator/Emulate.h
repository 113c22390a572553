// From GPU kernels in NVVM IR to the same kernels for the host's CPU, to be run by runtime/emu.
//
// The module is rewritten in place and owned by the caller, who compiles it to an object as any
// other. What a rewritten kernel looks like from outside is in sinter/abi/emu.h; how it comes about
// is in docs/emulator.md. Links LLVM only. One thread at a time each LLVMContext.
#pragma once

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace sinter::codegen {

struct EmulationOptions {
  /// Memory accesses ask the runtime, and basic blocks are counted: what the modes `check` and
  /// `count` need. Otherwise kernels run at full speed and find nothing but what would hang.
  bool instrument = false;
  /// Clean up after the rewriting, which leaves much to simplify.
  bool optimise = true;
  /// Descriptions are visible outside of what the object is linked into.
  bool exported = true;
};

/// Names of the descriptions (sinter_emu_kernel) of the kernels, in the module's order.
using EmulatedKernels = std::vector<std::string>;

/// Fails if a kernel uses what has no emulation, naming it and its source line; the module is then
/// good for nothing.
llvm::Expected<EmulatedKernels> emulate(llvm::Module &module, const EmulationOptions &options);

} // namespace sinter::codegen
