#include "sinter/passes/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace sinter::passes {

#define GEN_PASS_DEF_SIMPLIFYPASS
#include "sinter/passes/Passes.h.inc"

/// Whether `permutation` swaps the last two dimensions and nothing else.
static bool swapsLastTwo(ArrayRef<int64_t> permutation) {
  auto rank = int64_t(permutation.size());
  for (int64_t i = 0; i + 2 < rank; ++i)
    if (permutation[i] != i)
      return false;
  return rank >= 2 && permutation[rank - 1] == rank - 2;
}

/// The operand of a transpose of matrices.
static Value untransposed(Value value) {
  auto transpose = value.getDefiningOp<ir::TransposeOp>();
  return transpose && swapsLastTwo(transpose.getPermutation()) ? transpose.getX() : Value();
}

namespace {

struct ReadTransposed : OpRewritePattern<ir::MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::MatmulOp op, PatternRewriter &rewriter) const override {
    Value a = untransposed(op.getA()), b = untransposed(op.getB());
    if (!a && !b)
      return failure();
    rewriter.replaceOpWithNewOp<ir::MatmulOp>(op, op.getType(), a ? a : op.getA(),
                                              b ? b : op.getB(), op.getTransposeA() != bool(a),
                                              op.getTransposeB() != bool(b));
    return success();
  }
};

/// (A B)^T = B^T A^T, where nobody else wants A B.
struct TransposedProduct : OpRewritePattern<ir::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::TransposeOp op, PatternRewriter &rewriter) const override {
    auto matmul = op.getX().getDefiningOp<ir::MatmulOp>();
    if (!matmul || !matmul->hasOneUse() || !swapsLastTwo(op.getPermutation()))
      return failure();
    rewriter.replaceOpWithNewOp<ir::MatmulOp>(op, op.getType(), matmul.getB(), matmul.getA(),
                                              !matmul.getTransposeB(), !matmul.getTransposeA());
    return success();
  }
};

/// A transpose that moves dimensions of size 1 only leaves the elements where they are.
struct TransposeOfUnits : OpRewritePattern<ir::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::TransposeOp op, PatternRewriter &rewriter) const override {
    ir::Dims dims = ir::dimsOf(op.getX());
    SmallVector<int64_t> moved;
    for (int64_t dim : op.getPermutation())
      if (!ir::isOne(dims[dim]))
        moved.push_back(dim);
    if (!llvm::is_sorted(moved))
      return failure();
    rewriter.replaceOpWithNewOp<ir::ReshapeOp>(op, op.getType(), op.getX());
    return success();
  }
};

struct SimplifyPass : impl::SimplifyPassBase<SimplifyPass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    for (Dialect *dialect : context->getLoadedDialects())
      dialect->getCanonicalizationPatterns(set);
    for (RegisteredOperationName name : context->getRegisteredOperationsByDialect("sinter"))
      name.getCanonicalizationPatterns(set, context);
    set.add<ReadTransposed, TransposedProduct, TransposeOfUnits>(context);
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
