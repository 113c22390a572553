#include "sinter/codegen/Cuda.h"

#include "Assembler.h"
#include "Emitters.h"
#include "Nvptx.h"
#include "Pipeline.h"

#include "program/ProgramBuilder.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace sinter::codegen {

static FailureOr<CudaCode> compileFor(const cuda::Architecture &architecture, ModuleOp kernels,
                                      StringRef ptxas) {
  CudaCode code;
  code.architecture = architecture.name;
  OwningOpRef<ModuleOp> own = kernels.clone();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = cuda::translate(*own, context, architecture);
  if (!module)
    return failure();
  llvm::raw_string_ostream(code.ir) << *module;
  FailureOr<std::string> ptx = cuda::emitPtx(*module, architecture, kernels.getLoc());
  if (failed(ptx))
    return failure();
  code.ptx = *std::move(ptx);
  if (ptxas.empty())
    return code;
  llvm::Expected<cuda::Assembly> assembly = cuda::assemble(ptxas, code.ptx, architecture.name);
  if (!assembly)
    return kernels.emitError(llvm::toString(assembly.takeError())), failure();
  code.cubin = std::move(assembly->cubin);
  code.toolkit = assembly->toolkit;
  code.usage = std::move(assembly->kernels);
  return code;
}

FailureOr<CudaImage> compileCuda(ModuleOp module, const CudaOptions &options) {
  CudaImage image;
  Location loc = module.getLoc();
  SmallVector<const cuda::Architecture *> architectures;
  for (const std::string &name : options.architectures) {
    const cuda::Architecture *found = cuda::findArchitecture(name);
    if (!found) {
      auto names = llvm::map_range(cuda::allArchitectures(),
                                   [](const cuda::Architecture &known) { return known.name; });
      return emitError(loc) << "no CUDA architecture '" << name << "'; there are "
                            << llvm::join(names, ", "),
             failure();
    }
    architectures.push_back(found);
  }
  std::string ptxas = options.assemble ? cuda::findPtxas(options.ptxas) : "";
  if (options.assemble && ptxas.empty() && !options.ptxas.empty())
    return emitError(loc) << options.ptxas << " is no program; name the CUDA toolkit's ptxas",
           failure();
  if (failed(optimiseGraph(module, options.compile, image.stats)))
    return failure();
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(loc);
  ProgramOptions program = cuda::programOptions(module, options.compile);
  FailureOr<rt::Program> built = buildProgram(module, *kernels, program);
  if (failed(built))
    return failure();
  image.program = *std::move(built);
  image.stats.kernels = int64_t(image.program.kernels.size());
  image.stats.libraryCalls = int64_t(image.program.libraryCalls.size());
  for (const cuda::Architecture *architecture : architectures) {
    FailureOr<CudaCode> code = compileFor(*architecture, *kernels, ptxas);
    if (failed(code))
      return failure();
    image.code.push_back(*std::move(code));
  }
  return image;
}

} // namespace sinter::codegen
