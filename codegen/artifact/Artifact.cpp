#include "Artifact.h"

#include "Pipeline.h"

#include "cpu/Emitters.h"
#include "cuda/Emitters.h"
#include "cuda/Emulated.h"
#include "kernel/Lower.h"
#include "program/ProgramBuilder.h"
#include "sinter/abi/emu.h"

using namespace mlir;

namespace sinter::codegen {

/// The command list of `module` (consumed), and its kernels. Every variant has the same: schedules
/// depend on shapes and on lanes, and all instruction sets have the same lanes.
static FailureOr<rt::Program> plan(ModuleOp module, ModuleOp kernels, const CompileOptions &options,
                                   CompileStats &stats) {
  if (failed(optimiseGraph(module, options, stats)))
    return failure();
  ProgramOptions program;
  program.emit = emitter({allIsas()[0].lanes});
  program.library = libraryOf(options.vendor);
  return buildProgram(module, kernels, program);
}

FailureOr<rt::Program> planArtifact(ModuleOp module, const CompileOptions &options) {
  CompileStats stats;
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  return plan(module, *kernels, options, stats);
}

static void rename(ModuleOp kernels, ArrayRef<std::string> from, ArrayRef<std::string> to) {
  for (auto [before, after] : llvm::zip(from, to))
    SymbolTable::setSymbolName(kernels.lookupSymbol(before), after);
}

static std::vector<std::string> kernelNames(const rt::Program &program) {
  std::vector<std::string> names;
  for (const rt::Kernel &kernel : program.kernels)
    names.push_back(kernel.symbol);
  return names;
}

/// Names of one variant of this artifact, since object files of several may be linked together.
static std::vector<std::string> variantNames(ArrayRef<std::string> kernels,
                                             const ArtifactOptions &options, size_t variant) {
  std::vector<std::string> names;
  for (const std::string &kernel : kernels)
    names.push_back(kernel + "_" + options.name + "_" + std::to_string(variant));
  return names;
}

static LogicalResult compileForCpu(ModuleOp module, const ArtifactOptions &options,
                                   ArtifactObjects &result, ImageParts &parts) {
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  FailureOr<rt::Program> planned = plan(module, *kernels, options.compile, result.stats);
  if (failed(planned) || failed(lowerKernels(*kernels, /*libm=*/true)))
    return failure();
  result.program = std::move(*planned);
  std::vector<std::string> plain = kernelNames(result.program);
  for (const std::string &name : options.isas) {
    const Isa *isa = findIsa(name);
    if (!isa)
      return module.emitError("unknown instruction set '") << name << "'", failure();
    std::vector<std::string> names = variantNames(plain, options, parts.isas.size());
    rename(*kernels, parts.isas.empty() ? plain : parts.symbols.back(), names);
    parts.isas.push_back(isa);
    parts.symbols.push_back(std::move(names));
    if (plain.empty())
      continue;
    auto object = compileToObject(*kernels, *isa, /*exported=*/false);
    if (failed(object))
      return failure();
    result.objects.push_back(std::move(*object));
  }
  return success();
}

static LogicalResult compileForCards(ModuleOp module, const ArtifactOptions &options,
                                     ArtifactObjects &result, ImageParts &parts) {
  auto image = compileCuda(
      module,
      {.architectures = options.architectures, .ptxas = options.ptxas, .compile = options.compile});
  if (failed(image))
    return failure();
  result.program = std::move(image->program);
  result.stats = image->stats;
  result.cuda = std::move(image->code);
  parts.cuda = result.cuda;
  return success();
}

static LogicalResult compileForEmulator(ModuleOp module, const ArtifactOptions &options,
                                        ArtifactObjects &result, ImageParts &parts) {
  if (failed(optimiseGraph(module, options.compile, result.stats)))
    return failure();
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  FailureOr<rt::Program> built =
      buildProgram(module, *kernels, cuda::programOptions(module, options.compile));
  if (failed(built))
    return failure();
  result.program = std::move(*built);
  std::vector<std::string> plain = kernelNames(result.program);
  if (plain.empty())
    return success();
  std::vector<std::string> names = variantNames(plain, options, 0);
  rename(*kernels, plain, names);
  auto object = emulatedObject(*kernels, allIsas()[0], /*instrument=*/false);
  if (failed(object))
    return failure();
  result.objects.push_back(std::move(*object));
  for (const std::string &name : names)
    parts.emulated.push_back(SINTER_EMU_PREFIX + name);
  return success();
}

FailureOr<ArtifactObjects> compileArtifact(ModuleOp module, const ArtifactOptions &options) {
  ArtifactObjects result;
  ImageParts parts(result.program);
  auto compile = options.target == "cuda"  ? compileForCards
                 : options.target == "emu" ? compileForEmulator
                                           : compileForCpu;
  if (failed(compile(module, options, result, parts)))
    return failure();
  if (options.traffic && options.traffic->kernels.size() != result.program.kernels.size())
    return module.emitError("traffic was counted of ")
               << options.traffic->kernels.size() << " kernels, the program has "
               << result.program.kernels.size(),
           failure();
  auto image = emitImage(options, parts);
  if (failed(image))
    return failure();
  result.objects.push_back(std::move(*image));
  return result;
}

} // namespace sinter::codegen
