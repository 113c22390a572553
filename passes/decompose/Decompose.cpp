#include "decompose/Parts.h"
#include "sinter/passes/Passes.h"

using namespace mlir;

namespace sinter::passes {

#define GEN_PASS_DEF_DECOMPOSEPASS
#include "sinter/passes/Passes.h.inc"

void replaceByParts(ir::DecomposableOpInterface op) {
  OpBuilder builder(op);
  op->replaceAllUsesWith(op.decompose(builder));
  op->erase();
}

namespace {
struct DecomposePass : impl::DecomposePassBase<DecomposePass> {
  void runOnOperation() override {
    // Parts may be decomposable too.
    for (bool changed = true; changed;) {
      SmallVector<ir::DecomposableOpInterface> composites;
      getOperation().walk([&](ir::DecomposableOpInterface op) { composites.push_back(op); });
      llvm::for_each(composites, replaceByParts);
      changed = !composites.empty();
    }
  }
};
} // namespace

} // namespace sinter::passes
