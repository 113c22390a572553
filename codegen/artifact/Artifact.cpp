#include "Artifact.h"

#include "Pipeline.h"

#include "program/ProgramBuilder.h"

using namespace mlir;

namespace sinter::codegen {

FailureOr<ArtifactObjects> compileArtifact(ModuleOp module, const ArtifactOptions &options) {
  ArtifactObjects result;
  if (failed(optimiseGraph(module, options.compile, result.stats)))
    return failure();
  SmallVector<const Isa *> isas;
  std::vector<std::vector<std::string>> symbols;
  for (const std::string &name : options.isas) {
    const Isa *isa = findIsa(name);
    if (!isa)
      return module.emitError("unknown instruction set '") << name << "'", failure();
    // Every variant has the same program: schedules depend on shapes and lanes, and lanes are the same for all.
    OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
    ProgramOptions program;
    program.target.lanes = isa->lanes;
    program.vendor = options.compile.vendor == "onednn";
    FailureOr<rt::Program> built = buildProgram(module, *kernels, program);
    if (failed(built))
      return failure();
    std::string suffix = "_" + options.name + "_" + std::to_string(isas.size());
    auto &names = symbols.emplace_back();
    for (const rt::Kernel &kernel : built->kernels)
      names.push_back(kernel.symbol + suffix);
    kernels->walk([&](func::FuncOp function) { function.setName((function.getName() + suffix).str()); });
    isas.push_back(isa);
    if (!names.empty()) {
      if (failed(lowerKernels(*kernels)))
        return failure();
      auto object = compileToObject(*kernels, *isa, /*exported=*/false);
      if (failed(object))
        return failure();
      result.objects.push_back(std::move(*object));
    }
    if (isas.size() == 1)
      result.program = std::move(*built);
  }
  std::vector<std::byte> program = rt::serialize(result.program);
  auto image = emitImage(options, program, isas, symbols);
  if (failed(image))
    return failure();
  result.objects.push_back(std::move(*image));
  return result;
}

} // namespace sinter::codegen
