#include "Lowering.h"

#include "kernel/Lower.h"

#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

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
