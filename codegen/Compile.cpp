#include "Pipeline.h"

#include "cpu/Emitters.h"
#include "cpu/Lowering.h"
#include "cuda/Emitters.h"
#include "cuda/Emulated.h"
#include "jit/Jit.h"
#include "kernel/Lower.h"
#include "program/ProgramBuilder.h"

#include "sinter/core/isa.h"
#include "sinter/passes/Passes.h"
#include "sinter/passes/Pipelines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"

#include <chrono>

using namespace mlir;

namespace sinter::codegen {

static double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void registerDialects(DialectRegistry &registry) {
  registry.insert<ir::SinterDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect,
                  scf::SCFDialect, cf::ControlFlowDialect, vector::VectorDialect, LLVM::LLVMDialect,
                  NVVM::NVVMDialect, ub::UBDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

std::string hostIsa() { return std::string(rt::bestIsa()); }

/// Prints the IR after the passes that --dump-ir names. A name that no pass has is an error.
static LogicalResult dumpAfter(PassManager &manager, const std::vector<std::string> &wanted,
                               Location loc) {
  if (wanted.empty())
    return success();
  std::string pipeline;
  llvm::raw_string_ostream stream(pipeline);
  manager.printAsTextualPipeline(stream);
  std::vector<std::string> names{"all"};
  for (StringRef rest = pipeline; rest.contains("sinter-");) {
    rest = rest.drop_front(rest.find("sinter-"));
    StringRef name = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '-'; });
    if (!llvm::is_contained(names, name))
      names.push_back(name.str());
    rest = rest.drop_front(name.size());
  }
  for (StringRef item : wanted) {
    item.consume_front("after:");
    if (!llvm::is_contained(names, item))
      return emitError(loc) << "--dump-ir: no pass is called '" << item << "'; the passes are "
                            << llvm::join(names, ", ");
  }
  bool all = llvm::is_contained(wanted, "all");
  manager.getContext()->disableMultithreading();
  manager.enableIRPrinting([](Pass *, Operation *) { return false; },
                           [wanted, all](Pass *pass, Operation *) {
                             StringRef name = pass->getArgument();
                             return all || llvm::any_of(wanted, [&](StringRef item) {
                                      return item == name ||
                                             (item.consume_front("after:") && item == name);
                                    });
                           },
                           /*printModuleScope=*/true, /*printAfterOnlyOnChange=*/false);
  return success();
}

LogicalResult optimiseGraph(ModuleOp module, const CompileOptions &options, CompileStats &stats) {
  DialectRegistry registry;
  registerDialects(registry);
  module.getContext()->appendDialectRegistry(registry);
  module.getContext()->loadAllAvailableDialects();
  PassManager manager(module.getContext());
  manager.enableVerifier(options.verifyEach);
  passes::buildGraphPipeline(manager, {});
  if (options.fuse)
    manager.addNestedPass<func::FuncOp>(passes::createRecomputePass());
  passes::FusionPassOptions fusion;
  fusion.fuse = options.fuse;
  fusion.report = options.printFusion;
  manager.addNestedPass<func::FuncOp>(passes::createFusionPass(fusion));
  if (failed(dumpAfter(manager, options.dumpIr, module.getLoc())) || failed(manager.run(module)))
    return failure();
  module.walk([&](Operation *op) {
    if (isa<ir::GroupOp>(op))
      ++stats.groups;
    else if (isa_and_present<ir::SinterDialect>(op->getDialect()) &&
             !isa<ir::YieldOp, ir::VariableOp>(op))
      ++stats.ops;
  });
  return success();
}

/// Kernels as machine code of this process.
static LogicalResult loadKernels(ModuleOp module, ModuleOp kernels, const Isa &isa,
                                 JitImage &image) {
  if (failed(lowerKernels(kernels, /*libm=*/true)))
    return failure();
  auto object = compileToObject(kernels, isa, /*exported=*/true);
  if (failed(object))
    return failure();
  std::vector<std::string> symbols;
  for (const rt::Kernel &kernel : image.program->kernels)
    symbols.push_back(kernel.symbol);
  auto loaded = loadObject(*object, symbols);
  if (!loaded)
    return module.emitError("kernels could not be loaded: ") << llvm::toString(loaded.takeError());
  for (void *address : loaded->addresses)
    image.kernels.push_back(reinterpret_cast<sinter_kernel>(address));
  image.code = std::move(loaded->code);
  return success();
}

FailureOr<JitImage> compile(ModuleOp module, const CompileOptions &options) {
  double start = seconds();
  std::string name = options.isa.empty() ? hostIsa() : options.isa;
  const Isa *isa = findIsa(name);
  if (!isa)
    return module.emitError("unknown instruction set '") << name << "'", failure();
  bool emulated = options.device == "emu";
  if (!emulated && options.device != "cpu")
    return module.emitError("unknown device '") << options.device
                                                << "'; there are cpu and emu, and "
                                                   "compileCuda for cards",
           failure();
  JitImage image;
  if (failed(optimiseGraph(module, options, image.stats)))
    return failure();
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  ProgramOptions program;
  if (emulated) {
    program = cuda::programOptions(module, options);
  } else {
    program.emit = emitter({isa->lanes});
    program.library = libraryOf(options.vendor == "auto" ? "onednn" : options.vendor);
  }
  FailureOr<rt::Program> built = buildProgram(module, *kernels, program);
  if (failed(built))
    return failure();
  image.stats.kernels = int64_t(built->kernels.size());
  image.stats.libraryCalls = int64_t(built->libraryCalls.size());
  image.program = std::make_shared<const rt::Program>(std::move(*built));
  double llvmStart = seconds();
  if (!image.program->kernels.empty() &&
      failed(emulated ? loadEmulated(*kernels, *isa, options.instrument, image)
                      : loadKernels(module, *kernels, *isa, image)))
    return failure();
  image.stats.llvmSeconds = seconds() - llvmStart;
  image.stats.seconds = seconds() - start;
  return image;
}

} // namespace sinter::codegen
