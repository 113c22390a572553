#include "Nvptx.h"

#include "sinter/codegen/Cuda.h"

#include "kernel/Lower.h"

#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace mlir;

namespace sinter::codegen::cuda {

// PTX ISA versions: PTX ISA manual, "Release Notes", table of targets.
static constexpr Architecture kArchitectures[] = {
    {"sm_80", "7.0", "+ptx70"},
    {"sm_90", "7.8", "+ptx78"},
};

ArrayRef<Architecture> allArchitectures() { return kArchitectures; }

const Architecture *findArchitecture(StringRef name) {
  for (const Architecture &architecture : kArchitectures)
    if (architecture.name == name)
      return &architecture;
  return nullptr;
}

} // namespace sinter::codegen::cuda

std::string sinter::codegen::architectureFor(int capability) {
  std::string newest;
  for (const cuda::Architecture &architecture : cuda::allArchitectures()) {
    int needed = 0;
    if (!architecture.name.drop_front(3).getAsInteger(10, needed) && needed <= capability)
      newest = architecture.name.str();
  }
  return newest;
}

namespace sinter::codegen::cuda {

static std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const Architecture &architecture,
                                                              std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard; // contraction is explicit in the IR
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, architecture.name, architecture.features, options,
                                  std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// What the code generator can't select ends the process, so it is looked for before: functions
/// without a body, and intrinsics that have no instruction there.
static std::string unsupported(const llvm::Module &module) {
  namespace I = llvm::Intrinsic;
  constexpr I::ID kKnown[] = {I::fma,
                              I::fmuladd,
                              I::sqrt,
                              I::fabs,
                              I::floor,
                              I::ceil,
                              I::roundeven,
                              I::rint,
                              I::nearbyint,
                              I::trunc,
                              I::minnum,
                              I::maxnum,
                              I::minimum,
                              I::maximum,
                              I::copysign,
                              I::is_fpclass,
                              I::smin,
                              I::smax,
                              I::umin,
                              I::umax,
                              I::abs,
                              I::scmp,
                              I::ucmp,
                              I::ctpop,
                              I::ctlz,
                              I::cttz,
                              I::bswap,
                              I::fshl,
                              I::fshr,
                              I::umul_with_overflow,
                              I::fptosi_sat,
                              I::fptoui_sat,
                              I::vector_reduce_add,
                              I::memset,
                              I::memcpy,
                              I::assume,
                              I::dbg_value,
                              I::dbg_declare,
                              I::lifetime_start,
                              I::lifetime_end,
                              I::experimental_noalias_scope_decl};
  for (const llvm::Function &function : module) {
    if (!function.isDeclaration() || function.use_empty() ||
        function.getName().starts_with("llvm.nvvm.") ||
        llvm::is_contained(kKnown, function.getIntrinsicID()))
      continue;
    const auto *call = llvm::dyn_cast<llvm::Instruction>(*function.user_begin());
    return (call ? call->getFunction()->getName() : "a kernel").str() + " uses " +
           function.getName().str();
  }
  return "";
}

std::unique_ptr<llvm::Module> translate(ModuleOp kernels, llvm::LLVMContext &context,
                                        const Architecture &architecture) {
  if (failed(lowerKernels(kernels, /*libm=*/false)))
    return nullptr;
  // Lines for error messages of the emulator and the profiler's tables.
  PassManager manager(kernels.getContext());
  LLVM::DIScopeForLLVMFuncOpPassOptions lines;
  lines.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
  manager.addPass(LLVM::createDIScopeForLLVMFuncOpPass(lines));
  if (failed(manager.run(kernels)))
    return nullptr;
  auto fail = [&](const Twine &what) {
    kernels.emitError("CUDA kernels for ") << architecture.name << ": " << what;
    return nullptr;
  };
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(kernels, context, "kernels");
  if (!module)
    return fail("could not be translated to LLVM IR");
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(architecture, error);
  if (!machine)
    return fail(error);
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  optimise(*module, *machine);
  if (std::string what = unsupported(*module); !what.empty())
    return fail(what + ", which has no expansion for CUDA");
  return module;
}

FailureOr<std::string> emitPtx(llvm::Module &module, const Architecture &architecture,
                               Location loc) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(architecture, error);
  if (!machine)
    return emitError(loc, error), failure();
  SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager emitter;
  if (machine->addPassesToEmitFile(emitter, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return emitError(loc, "LLVM cannot write PTX for ") << architecture.name, failure();
  emitter.run(module);
  return std::string(text.begin(), text.end());
}

} // namespace sinter::codegen::cuda
