#include "sinter/passes/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace sinter::passes {

#define GEN_PASS_DEF_SIMPLIFYPASS
#include "sinter/passes/Passes.h.inc"

namespace {

struct SimplifyPass : impl::SimplifyPassBase<SimplifyPass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    for (Dialect *dialect : context->getLoadedDialects())
      dialect->getCanonicalizationPatterns(set);
    for (RegisteredOperationName name : context->getRegisteredOperationsByDialect("sinter"))
      name.getCanonicalizationPatterns(set, context);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    IRRewriter rewriter(&getContext());
    // Each may make work for the other; a value merged by CSE is what lets a pattern see one use.
    for (bool changed = true; changed;) {
      if (failed(applyPatternsGreedily(getOperation(), patterns, config)))
        return signalPassFailure();
      DominanceInfo dominance(getOperation());
      eliminateCommonSubExpressions(rewriter, dominance, getOperation(), &changed);
    }
  }

  FrozenRewritePatternSet patterns;
};

} // namespace

} // namespace sinter::passes
