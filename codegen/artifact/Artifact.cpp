#include "Artifact.h"

#include "Pipeline.h"

#include "cpu/Emitters.h"
#include "kernel/Lower.h"
#include "program/ProgramBuilder.h"

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
  program.vendor = options.vendor == "onednn";
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

FailureOr<ArtifactObjects> compileArtifact(ModuleOp module, const ArtifactOptions &options) {
  ArtifactObjects result;
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  FailureOr<rt::Program> planned = plan(module, *kernels, options.compile, result.stats);
  if (failed(planned) || failed(lowerKernels(*kernels, /*libm=*/true)))
    return failure();
  result.program = std::move(*planned);
  std::vector<std::string> kernelNames;
  for (const rt::Kernel &kernel : result.program.kernels)
    kernelNames.push_back(kernel.symbol);
  SmallVector<const Isa *> isas;
  std::vector<std::vector<std::string>> symbols;
  for (const std::string &name : options.isas) {
    const Isa *isa = findIsa(name);
    if (!isa)
      return module.emitError("unknown instruction set '") << name << "'", failure();
    // Names of this artifact's variant, since object files of several may be linked together.
    std::vector<std::string> names;
    for (const std::string &kernel : kernelNames)
      names.push_back(kernel + "_" + options.name + "_" + std::to_string(isas.size()));
    rename(*kernels, isas.empty() ? kernelNames : symbols.back(), names);
    isas.push_back(isa);
    symbols.push_back(std::move(names));
    if (kernelNames.empty())
      continue;
    auto object = compileToObject(*kernels, *isa, /*exported=*/false);
    if (failed(object))
      return failure();
    result.objects.push_back(std::move(*object));
  }
  auto image = emitImage(options, rt::serialize(result.program), isas, symbols);
  if (failed(image))
    return failure();
  result.objects.push_back(std::move(*image));
  return result;
}

} // namespace sinter::codegen
