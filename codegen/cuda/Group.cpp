#include "GroupKernels.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen::cuda {

int64_t vectorWidth(GroupOp group) {
  constexpr int64_t kAccessBits = 128, kMost = 8;
  int64_t widest = 8;
  auto widen = [&](Value value) {
    widest = std::max<int64_t>(widest, storageType(elementType(value)).getIntOrFloatBitWidth());
  };
  llvm::for_each(group->getOperands(), widen);
  llvm::for_each(group->getResults(), widen);
  return std::min(kMost, kAccessBits / widest);
}

int64_t dividingLanes(AffineExpr size, int64_t most) {
  int64_t lanes = most;
  while (lanes > 1 && !size.isMultipleOf(lanes))
    lanes /= 2;
  return lanes;
}

ThreadKernel GroupKernels::start(StringRef suffix, AffineExpr blocks, int64_t threads,
                                 ArrayRef<unsigned> read, ArrayRef<unsigned> written) {
  SmallVector<unsigned> operands = llvm::to_vector(llvm::seq<unsigned>(0, inputs));
  llvm::append_range(operands, read);
  llvm::append_range(operands, written);
  std::string symbol = name + suffix.str();
  code.kernels.push_back(
      {symbol, simplify(blocks), 0, operands, unsigned(written.size()), threads});
  return ThreadKernel(module, symbol, group.getLoc(), group.getBody().getArguments(),
                      unsigned(read.size() + written.size()), target.symbols, threads);
}

SmallVector<unsigned> GroupKernels::results() const {
  return llvm::to_vector(llvm::seq<unsigned>(inputs, inputs + outputs));
}

Target targetOf(ModuleOp module, const CompileOptions &options) {
  Target target;
  target.deterministic = options.deterministic;
  if (auto symbols = module->getAttrOfType<ArrayAttr>(kSymbolsAttr))
    target.symbols = unsigned(symbols.size());
  return target;
}

ProgramOptions programOptions(ModuleOp module, const CompileOptions &options) {
  Target target = targetOf(module, options);
  ProgramOptions program;
  program.emit = emitter(target);
  if (options.fuse)
    program.emitForeach = [target](ModuleOp kernels, ArrayRef<GroupOp> groups, StringRef name) {
      return emitForeach(kernels, groups, name, target);
    };
  program.library = libraryOf(options.vendor);
  return program;
}

EmitGroup emitter(Target target) {
  return [target](ModuleOp module, GroupOp group, StringRef name) {
    StringRef kind = group.getKind();
    if (kind == "pointwise")
      return emitPointwise(module, group, name, target);
    if (kind == "reduction")
      return emitReduction(module, group, name, target);
    if (kind == "scatter")
      return emitScatter(module, group, name, target);
    return emitContraction(module, group, name, target);
  };
}

} // namespace sinter::codegen::cuda
