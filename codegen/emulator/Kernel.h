// One kernel on its way from NVVM IR to a function of the host. Internal to codegen/emulator.
//
// The body moves into a function of a `sinter_emu_thread`, whose entry block loads what the body
// needs of its thread, block and services, each once. Then intrinsics, accesses and address spaces
// are replaced one after the other.
#pragma once

#include "Emulate.h"

#include "sinter/abi/emu.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

namespace sinter::codegen::emulator {

/// A place that calls a service; becomes a sinter_emu_site.
struct Site {
  std::string file;
  uint32_t line = 0;
  uint8_t flags = 0, space = 0;
  uint16_t bytes = 0, align = 0;
  int16_t param = -1;
};

/// What a kernel's description is made of.
struct Description {
  std::string name;
  llvm::Function *function = nullptr;
  llvm::SmallVector<sinter_emu_param> params;
  std::vector<Site> sites;
  std::vector<sinter_emu_mix> basicBlocks;
  llvm::SmallVector<llvm::GlobalVariable *> variables; ///< of the host's module
  uint32_t staticShared = 0, localBytes = 0, maxThreads = 0;
  bool communicates = false, instrumented = false;
};

/// Host stand-ins of a module's variables in global and constant memory.
using HostVariables = llvm::DenseMap<llvm::GlobalVariable *, llvm::GlobalVariable *>;

class Kernel {
public:
  Kernel(llvm::Function &original, const EmulationOptions &options, HostVariables &variables);

  /// Moves the body out of the original, which is left a declaration.
  llvm::Error rewrite();
  const Description &description() const { return result; }

  // -- For the lowering of intrinsics ------------------------------------------------------------
  llvm::Value *threadField(size_t offset, llvm::Type *type);
  llvm::Value *blockField(size_t offset, llvm::Type *type);
  /// Calls the service at `offset` of the table with the thread and `args`.
  llvm::Value *callService(llvm::IRBuilder<> &builder, size_t offset, llvm::Type *type,
                           llvm::ArrayRef<llvm::Value *> args);
  /// The number of a new site at `instruction`, as a constant.
  llvm::Value *addSite(const llvm::Instruction &instruction);
  void setCommunicates() { result.communicates = true; }

private:
  void describe();
  void moveBody();
  void countBlocks();
  llvm::Error lowerCalls();
  llvm::Error replaceVariables();
  llvm::Error placeShared(llvm::ArrayRef<llvm::GlobalVariable *> variables);
  void rewriteAccess(llvm::Instruction &access);
  void lowerCasts();
  void unifyAddressSpaces();

  llvm::Value *entryLoad(llvm::Value *base, size_t offset, llvm::Type *type);
  llvm::Value *hostAddress(llvm::IRBuilder<> &builder, llvm::Value *pointer);
  llvm::Value *hostVariable(llvm::GlobalVariable &variable);
  uint32_t addSite(const llvm::Instruction &instruction, Site site);

  llvm::Function &original;
  const EmulationOptions &options;
  HostVariables &hostVariables;
  llvm::Function *function = nullptr;
  llvm::Instruction *entryEnd = nullptr; ///< loads go in front of it
  llvm::Value *block = nullptr, *services = nullptr;
  llvm::DenseMap<std::pair<llvm::Value *, size_t>, llvm::Value *> loaded;
  llvm::SmallVector<llvm::Instruction *> accesses;
  llvm::DenseMap<const llvm::Instruction *, int16_t> accessParams;
  llvm::DenseMap<llvm::GlobalVariable *, llvm::Constant *> sharedAddresses;
  Description result;
};

/// Makes a module fit to be rewritten: all calls inlined, memory intrinsics as loops, pointers in
/// the address spaces they can be proven to point to.
llvm::Error prepare(llvm::Module &module, llvm::ArrayRef<llvm::Function *> kernels);

/// "kernel 'k' at a.cc:3: " and what follows.
llvm::Error errorAt(const llvm::Instruction &instruction, const llvm::Twine &message);
/// As `errorAt`, about a kernel of this name.
llvm::Error errorAt(llvm::StringRef kernel, const llvm::Instruction &instruction,
                    const llvm::Twine &message);

/// Puts loads, stores and atomics for the NVVM intrinsics that are some, before anything is
/// counted.
llvm::Error lowerMemoryIntrinsics(llvm::Function &function);
/// Replaces a call of a `llvm.nvvm.` intrinsic.
llvm::Error lowerNvvmCall(Kernel &kernel, llvm::CallInst &call);
/// The value of one that only computes; null if it is none.
llvm::Value *lowerNvvmMath(llvm::IRBuilder<> &builder, llvm::CallInst &call);
/// False for intrinsics that the host's code generator does not know or that touch memory.
bool isPlainIntrinsic(llvm::Intrinsic::ID id);

/// The instructions of a block, by class.
sinter_emu_mix instructionMix(const llvm::BasicBlock &block);
bool isMemoryAccess(const llvm::Instruction &instruction);
llvm::Value *accessPointer(llvm::Instruction &access);
/// Whether an access is to a thread's own variables, as far as the code tells.
bool isLocalAccess(const llvm::Instruction &access);

/// Expands conversions to small floats that the host's instructions lack, so that no compiler
/// library is needed.
void expandSmallFloats(llvm::Function &function);

/// Adds the constants that describe the kernel to the module; the name of the description.
std::string emitDescription(llvm::Module &module, const Description &description, bool exported);

} // namespace sinter::codegen::emulator
