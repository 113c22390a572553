#include "Lowering.h"

#include "math/ExpandMath.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/LoopStrengthReduce.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <mutex>

using namespace mlir;

namespace sinter::codegen {

static constexpr Isa kIsas[] = {
    {"x86-64-v3", "x86-64-v3", "", 8},
    {"x86-64-v4", "x86-64-v4", "+prefer-256-bit", 8},
    {"x86-64-v4-bf16", "x86-64-v4", "+avx512bf16,+prefer-256-bit", 8},
};

ArrayRef<Isa> allIsas() { return kIsas; }

const Isa *findIsa(StringRef name) {
  for (const Isa &isa : kIsas)
    if (isa.name == name)
      return &isa;
  return nullptr;
}

LogicalResult lowerKernels(ModuleOp kernels) {
  PassManager manager(kernels.getContext());
  manager.enableVerifier(false);
  manager.addPass(createCSEPass());
  manager.addPass(createExpandMathPass());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  manager.addPass(arith::createArithExpandOpsPass(expand));
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createConvertVectorToLLVMPass()); // calls of libm took vectors apart
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  return manager.run(kernels);
}

/// Kernels are already vectorised and unrolled; what is left is to simplify, hoist and
/// strength-reduce.
static void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::FunctionPassManager pipeline;
  pipeline.addPass(llvm::EarlyCSEPass());
  pipeline.addPass(llvm::SimplifyCFGPass());
  pipeline.addPass(llvm::InstCombinePass());
  pipeline.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LoopRotatePass()));
  pipeline.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                         /*UseMemorySSA=*/true));
  pipeline.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::IndVarSimplifyPass()));
  pipeline.addPass(llvm::GVNPass());
  pipeline.addPass(llvm::InstCombinePass());
  pipeline.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager manager;
  manager.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(pipeline)));
  manager.run(module, modules);
}

static std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const Isa &isa, std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard; // contraction is explicit in the IR
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, isa.cpu, isa.features, options, llvm::Reloc::PIC_,
                                  std::nullopt, llvm::CodeGenOptLevel::Default));
}

static FailureOr<SmallVector<char, 0>> emitObject(llvm::Module &module,
                                                  llvm::TargetMachine &machine) {
  SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager emitter;
  if (machine.addPassesToEmitFile(emitter, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return failure();
  emitter.run(module);
  return object;
}

static std::unique_ptr<llvm::TargetMachine> prepare(llvm::Module &module, const Isa &isa) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(isa, error);
  if (!machine) {
    llvm::errs() << "sinter: no code generator for " << isa.name << ": " << error << '\n';
    return nullptr;
  }
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  return machine;
}

FailureOr<SmallVector<char, 0>> emitObject(llvm::Module &module, const Isa &isa) {
  std::unique_ptr<llvm::TargetMachine> machine = prepare(module, isa);
  if (!machine)
    return failure();
  return emitObject(module, *machine);
}

FailureOr<SmallVector<char, 0>> compileToObject(ModuleOp kernels, const Isa &isa, bool exported) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(kernels, context, "kernels");
  if (!module)
    return kernels.emitError("kernels could not be translated to LLVM IR"), failure();
  std::unique_ptr<llvm::TargetMachine> machine = prepare(*module, isa);
  if (!machine)
    return failure();
  for (llvm::Function &function : *module)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", isa.cpu);
      if (!isa.features.empty())
        function.addFnAttr("target-features", isa.features);
      function.addFnAttr(llvm::Attribute::NoUnwind);
      if (!exported)
        function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    }
  optimise(*module, *machine);
  return emitObject(*module, *machine);
}

} // namespace sinter::codegen
