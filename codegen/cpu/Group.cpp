#include "Emitters.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen {

int64_t grainElements(GroupOp group) {
  // About 5 to 10 microseconds: far above the cost of a hand-over, far below that of an idle core.
  constexpr int64_t kInstructions = 131072, kFewest = 512;
  return llvm::alignTo(std::max(kFewest, kInstructions / (groupCost(group) + 3)), 64);
}

int64_t lanesFor(AffineExpr size, const TargetInfo &target) {
  auto constant = constantSize(size);
  if (!constant || *constant >= target.lanes)
    return target.lanes;
  return *constant <= 1 ? 1 : int64_t(llvm::bit_floor(uint64_t(*constant)));
}

EmitGroup emitter(TargetInfo target) {
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

} // namespace sinter::codegen
