#include "Emulate.h"

#include "Kernel.h"

#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace llvm;

namespace sinter::codegen {

using namespace emulator;

static bool isKernel(const Function &function) {
  return function.getCallingConv() == CallingConv::PTX_Kernel && !function.isDeclaration();
}

static HostVariables addHostVariables(Module &module) {
  HostVariables hosts;
  SmallVector<GlobalVariable *> variables;
  for (GlobalVariable &variable : module.globals())
    if (variable.hasInitializer() && (variable.getAddressSpace() == SINTER_EMU_SPACE_GLOBAL ||
                                      variable.getAddressSpace() == SINTER_EMU_SPACE_CONSTANT))
      variables.push_back(&variable);
  for (GlobalVariable *variable : variables) {
    auto *host = new GlobalVariable(module, variable->getValueType(), variable->isConstant(),
                                    GlobalValue::InternalLinkage, variable->getInitializer(),
                                    variable->getName() + ".host");
    host->setAlignment(variable->getAlign());
    hosts[variable] = host;
  }
  return hosts;
}

/// Everything of the GPU's module but the kernels' new bodies goes.
static void removeOriginals(Module &module, ArrayRef<Function *> kernels) {
  StripDebugInfo(module);
  for (Function *kernel : kernels)
    kernel->eraseFromParent();
  for (Function &function : make_early_inc_range(module)) {
    function.removeDeadConstantUsers();
    if (function.use_empty() && !function.hasLocalLinkage())
      function.eraseFromParent();
  }
  for (const char *name : {"llvm.used", "llvm.compiler.used", "llvm.global_ctors"})
    if (GlobalVariable *list = module.getNamedGlobal(name))
      list->eraseFromParent();
  for (GlobalVariable &variable : make_early_inc_range(module.globals())) {
    variable.removeDeadConstantUsers();
    bool theirs = variable.getAddressSpace() != 0 || variable.hasLocalLinkage();
    if (variable.use_empty() && theirs)
      variable.eraseFromParent();
  }
  for (const char *name : {"nvvm.annotations", "nvvmir.version", "llvm.ident", "llvm.module.flags"})
    if (NamedMDNode *node = module.getNamedMetadata(name))
      node->eraseFromParent();
}

static void optimise(Module &module) {
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
  FunctionPassManager pipeline;
  pipeline.addPass(SROAPass(SROAOptions::PreserveCFG));
  pipeline.addPass(EarlyCSEPass());
  pipeline.addPass(InstCombinePass());
  pipeline.addPass(SimplifyCFGPass());
  pipeline.addPass(createFunctionToLoopPassAdaptor(LICMPass(LICMOptions()), /*UseMemorySSA=*/true));
  pipeline.addPass(GVNPass());
  pipeline.addPass(InstCombinePass());
  ModulePassManager manager;
  manager.addPass(createModuleToFunctionPassAdaptor(std::move(pipeline)));
  manager.run(module, modules);
}

static Error verify(Module &module) {
  std::string text;
  raw_string_ostream stream(text);
  if (verifyModule(module, &stream))
    return createStringError("the emulator made invalid code of module '" + module.getName() +
                             "': " + text);
  return Error::success();
}

Expected<EmulatedKernels> emulate(Module &module, const EmulationOptions &options) {
  SmallVector<Function *> kernels;
  for (Function &function : module)
    if (isKernel(function))
      kernels.push_back(&function);
  if (kernels.empty())
    return createStringError("module '" + module.getName() +
                             "' has no function of calling convention ptx_kernel to emulate");
  if (Error error = prepare(module, kernels))
    return error;

  HostVariables variables = addHostVariables(module);
  std::vector<Description> descriptions;
  for (Function *function : kernels) {
    Kernel kernel(*function, options, variables);
    if (Error error = kernel.rewrite())
      return error;
    descriptions.push_back(kernel.description());
  }
  EmulatedKernels names;
  for (const Description &description : descriptions)
    names.push_back(emitDescription(module, description, options.exported));
  removeOriginals(module, kernels);

  Triple host("x86_64-unknown-linux-gnu");
  module.setTargetTriple(host);
  module.setDataLayout(host.computeDataLayout());
  if (Error error = verify(module))
    return error;
  if (options.optimise)
    optimise(module);
  for (Function &function : module)
    expandSmallFloats(function);
  return names;
}

} // namespace sinter::codegen
