#include "Kernel.h"

#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/Scalar/InferAddressSpaces.h"
#include "llvm/Transforms/Scalar/ScalarizeMaskedMemIntrin.h"
#include "llvm/Transforms/Utils/LowerMemIntrinsics.h"

using namespace llvm;

namespace sinter::codegen::emulator {

Error errorAt(StringRef kernel, const Instruction &instruction, const Twine &message) {
  std::string place;
  if (const DebugLoc &location = instruction.getDebugLoc())
    place = (" at " + location->getFilename() + ":" + Twine(location.getLine())).str();
  return createStringError("kernel '" + kernel + "'" + place + ": " + message);
}

Error errorAt(const Instruction &instruction, const Twine &message) {
  return errorAt(instruction.getFunction()->getName(), instruction, message);
}

/// Kernels and what they call, apart from declarations.
static Expected<SmallVector<Function *>> reachable(ArrayRef<Function *> kernels) {
  SmallVector<Function *> list(kernels);
  SmallPtrSet<Function *, 16> seen(list.begin(), list.end());
  for (size_t i = 0; i < list.size(); ++i)
    for (BasicBlock &block : *list[i])
      for (Instruction &instruction : block) {
        auto *call = dyn_cast<CallBase>(&instruction);
        if (!call)
          continue;
        Function *callee = call->getCalledFunction();
        if (call->isInlineAsm())
          return errorAt(instruction, "inline assembly has no emulation; use an intrinsic");
        if (!callee || !isa<CallInst>(call))
          return errorAt(instruction, "a call through a pointer has no emulation");
        if (callee->isDeclaration()) {
          if (!callee->isIntrinsic() && callee->getName() != "__assertfail")
            return errorAt(instruction, "calls '" + callee->getName() +
                                            "', which the module does not define; link it in "
                                            "before emulating");
          continue;
        }
        if (seen.insert(callee).second)
          list.push_back(callee);
      }
  return list;
}

static Error inlineAll(Module &module, ArrayRef<Function *> kernels,
                       FunctionAnalysisManager &functions, ModuleAnalysisManager &modules) {
  auto list = reachable(kernels);
  if (!list)
    return list.takeError();
  for (Function *function : *list) {
    function->removeFnAttr(Attribute::OptimizeNone);
    function->removeFnAttr(Attribute::NoInline);
    if (is_contained(kernels, function))
      continue;
    function->addFnAttr(Attribute::AlwaysInline);
    function->setLinkage(GlobalValue::InternalLinkage);
  }
  ModulePassManager manager;
  manager.addPass(AlwaysInlinerPass(/*InsertLifetime=*/false));
  manager.run(module, modules);
  for (Function *kernel : kernels)
    for (BasicBlock &block : *kernel)
      for (Instruction &instruction : block)
        if (auto *call = dyn_cast<CallInst>(&instruction))
          if (!call->getCalledFunction()->isDeclaration())
            return errorAt(instruction, "calls '" + call->getCalledFunction()->getName() +
                                            "' recursively, which has no emulation");
  functions.clear();
  return Error::success();
}

/// The runtime hands kernels pointers to device memory only, as CUDA does.
static void assumeGlobalParams(Function &kernel) {
  Type *global = PointerType::get(kernel.getContext(), SINTER_EMU_SPACE_GLOBAL);
  IRBuilder<> builder(&*kernel.getEntryBlock().getFirstInsertionPt());
  for (Argument &argument : kernel.args()) {
    auto *type = dyn_cast<PointerType>(argument.getType());
    if (!type || type->getAddressSpace() != 0 || argument.hasByValAttr() || argument.use_empty())
      continue;
    auto *inGlobal = builder.CreateAddrSpaceCast(&argument, global);
    auto *generic = builder.CreateAddrSpaceCast(inGlobal, type);
    argument.replaceUsesWithIf(generic, [&](Use &use) { return use.getUser() != inGlobal; });
  }
}

static void expandMemoryIntrinsics(Function &kernel, FunctionAnalysisManager &functions) {
  SmallVector<Instruction *> intrinsics;
  for (BasicBlock &block : kernel)
    for (Instruction &instruction : block)
      if (isa<MemIntrinsic>(instruction))
        intrinsics.push_back(&instruction);
  const auto &costs = functions.getResult<TargetIRAnalysis>(kernel);
  for (Instruction *instruction : intrinsics) {
    if (auto *copy = dyn_cast<MemCpyInst>(instruction))
      expandMemCpyAsLoop(copy, costs);
    else if (auto *move = dyn_cast<MemMoveInst>(instruction))
      expandMemMoveAsLoop(move, costs);
    else
      expandMemSetAsLoop(cast<MemSetInst>(instruction));
    instruction->eraseFromParent();
  }
}

/// Constant expressions become instructions, so that each use of a variable is in one.
static void expandConstantExpressions(Function &kernel) {
  SmallVector<Instruction *> work;
  for (BasicBlock &block : kernel)
    for (Instruction &instruction : block)
      work.push_back(&instruction);
  while (!work.empty()) {
    Instruction *user = work.pop_back_val();
    for (Use &use : user->operands()) {
      auto *expression = dyn_cast<ConstantExpr>(use.get());
      if (!expression)
        continue;
      Instruction *place = user;
      if (auto *phi = dyn_cast<PHINode>(user))
        place = phi->getIncomingBlock(use)->getTerminator();
      Instruction *instruction = expression->getAsInstruction();
      instruction->insertBefore(place->getIterator());
      instruction->setDebugLoc(user->getDebugLoc());
      if (auto *phi = dyn_cast<PHINode>(user)) // a switch may come from one block twice
        phi->setIncomingValueForBlock(phi->getIncomingBlock(use), instruction);
      else
        use.set(instruction);
      work.push_back(instruction);
    }
  }
}

Error prepare(Module &module, ArrayRef<Function *> kernels) {
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
  if (Error error = inlineAll(module, kernels, functions, modules))
    return error;
  for (Function *kernel : kernels) {
    expandConstantExpressions(*kernel);
    assumeGlobalParams(*kernel);
    FunctionPassManager pipeline;
    pipeline.addPass(InferAddressSpacesPass(SINTER_EMU_SPACE_GENERIC));
    pipeline.addPass(ScalarizeMaskedMemIntrinPass());
    pipeline.run(*kernel, functions);
    expandMemoryIntrinsics(*kernel, functions);
    if (Error error = lowerMemoryIntrinsics(*kernel))
      return error;
    expandConstantExpressions(*kernel);
    functions.invalidate(*kernel, PreservedAnalyses::none());
  }
  return Error::success();
}

} // namespace sinter::codegen::emulator
