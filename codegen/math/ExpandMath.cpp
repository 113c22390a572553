#include "ExpandMath.h"

#include "Arithmetic.h"
#include "WithoutLibm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <numbers>

using namespace mlir;
using sinter::ir::ScalarExpr;

namespace sinter::codegen {
namespace {

/// 2^k for a whole number k of a normal power, by its bits.
ScalarExpr powerOfTwo(const ScalarExpr &k, Type single) {
  ScalarExpr exponent = k + k.constant(127);
  Value bits = arith::ShLIOp::create(k.builder, k.loc, exponent.value, k.constant(23).value);
  return convert<arith::BitcastOp>(k.with(bits), single);
}

/// f32: e^x = 2^n e^r with r below ln(2)/2, by Cephes' polynomial; 2^n as two factors, so that
/// results below the least normal number are rounded, not lost.
ScalarExpr exponential(const ScalarExpr &x) {
  Type single = x.builder.getF32Type(), integer = x.builder.getI32Type();
  ScalarExpr low = select(x < -105.0, x.constant(-105), x); // NaN stays
  ScalarExpr near = select(low > 89.0, x.constant(89), low);
  ScalarExpr n = round(near * std::numbers::log2e);
  ScalarExpr r = fma(n, 2.12194440e-4, fma(n, -0.693359375, near));
  ScalarExpr p = polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2,
                                1.6666665459e-1, 5.0000001201e-1});
  ScalarExpr power = p * (r * r) + r + 1.0;
  ScalarExpr whole = convert<arith::FPToSIOp>(select(eq(n, n), n, x.constant(0)), integer);
  ScalarExpr half =
      whole.with(arith::ShRSIOp::create(x.builder, x.loc, whole.value, whole.constant(1).value));
  return power * powerOfTwo(half, single) * powerOfTwo(whole - half, single);
}

/// f32: numbers below the least normal one are scaled into the range that the expansion of log
/// knows.
ScalarExpr logOfSmall(const ScalarExpr &x) {
  ScalarExpr isSmall = x < 0x1p-126;
  ScalarExpr zero = x.constant(0);
  return log(select(isSmall, x * 0x1p24, x)) -
         select(isSmall, x.constant(24 * std::numbers::ln2), zero);
}

// f64: what rounding 1 + x (or exp(x)) does to the argument is undone by the quotient (Kahan; see
// Higham, "Accuracy and Stability of Numerical Algorithms", 1.14.1).
ScalarExpr accurateLog1p(const ScalarExpr &x) {
  ScalarExpr u = 1.0 + x, change = u - 1.0;
  ScalarExpr isPlain = eq(change, 0.0), isInfinite = eq(u, std::numeric_limits<double>::infinity());
  return select(isPlain, x, select(isInfinite, u, log(u) * (x / change)));
}
ScalarExpr accurateExpm1(const ScalarExpr &x) {
  ScalarExpr u = exp(x), change = u - 1.0;
  ScalarExpr isPlain = eq(change, 0.0),
             isExact = eq(change, -1.0) | eq(u, std::numeric_limits<double>::infinity());
  return select(isPlain, x, select(isExact, change, change * (x / log(u))));
}

/// f32: x less the nearest multiple of pi/2, found in f64, then the polynomials of Cephes (Moshier)
/// for sine and cosine between -pi/4 and pi/4. Accurate while the multiple is below 2^52.
ScalarExpr sineOrCosine(const ScalarExpr &x, bool isCosine) {
  Type single = x.builder.getF32Type(), wide = x.builder.getF64Type();
  ScalarExpr far = convert<arith::ExtFOp>(x, wide);
  ScalarExpr multiple = round(far * (2 / std::numbers::pi));
  ScalarExpr rest =
      fma(multiple, -6.123233995736766e-17, fma(multiple, -std::numbers::pi / 2, far));
  ScalarExpr turns = isCosine ? multiple + 1.0 : multiple;
  ScalarExpr quadrant = turns - 4.0 * floor(turns * 0.25);
  ScalarExpr r = convert<arith::TruncFOp>(max(min(rest, 1.0), -1.0), single), square = r * r;
  ScalarExpr sine =
      r + r * square * polynomial(square, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1});
  ScalarExpr cosine =
      fma(square, -0.5, square.constant(1)) +
      square * square *
          polynomial(square, {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2});
  ScalarExpr isOdd = eq(quadrant, 1.0) | eq(quadrant, 3.0);
  ScalarExpr size = select(isOdd, cosine, sine);
  return select(quadrant >= 2.0, -size, size);
}

/// f32: the angle below pi/4 of the smaller coordinate over the larger, by Cephes' polynomial for
/// arctangents below tan(pi/8), then mirrored into its octant.
ScalarExpr arctangent2(const ScalarExpr &y, const ScalarExpr &x) {
  ScalarExpr a = abs(y), b = abs(x), zero = x.constant(0);
  // Halves and quarters of huge coordinates have the same quotient, and a sum.
  ScalarExpr scale = select(max(a, b) > 0x1p126, x.constant(0.25), x.constant(1));
  ScalarExpr low = min(a, b) * scale, high = max(a, b) * scale;
  ScalarExpr isSteep = low > high * 0.41421356237;
  ScalarExpr quotient = select(isSteep, low - high, low) / select(isSteep, low + high, high);
  ScalarExpr t = select(eq(a, b), zero, quotient), square = t * t; // 0/0 and infinities too
  ScalarExpr below = t + t * square *
                             polynomial(square, {8.05374449538e-2, -1.38776856032e-1,
                                                 1.99777106478e-1, -3.33329491539e-1});
  ScalarExpr isDiagonal = isSteep | (eq(a, b) & (a > 0.0));
  ScalarExpr octant = select(isDiagonal, below + std::numbers::pi / 4, below);
  ScalarExpr quadrant = select(a > b, std::numbers::pi / 2 - octant, octant);
  ScalarExpr half = select(copySign(x.constant(1), x) < 0.0, std::numbers::pi - quadrant, quadrant);
  return copySign(half, y);
}

/// The replacement of an op that the general expansions leave inaccurate; null for others.
Value accurate(Operation *op) {
  if (op->getNumResults() != 1)
    return {};
  OpBuilder builder(op);
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  auto operand = [&](unsigned i) { return ScalarExpr(builder, op->getLoc(), op->getOperand(i)); };
  if (element.isF64() && isa<math::Log1pOp>(op))
    return accurateLog1p(operand(0)).value;
  if (element.isF64() && isa<math::ExpM1Op>(op))
    return accurateExpm1(operand(0)).value;
  if (!element.isF32())
    return {};
  if (isa<math::ExpOp>(op))
    return exponential(operand(0)).value;
  if (isa<math::LogOp>(op))
    return logOfSmall(operand(0)).value;
  if (isa<math::SinOp, math::CosOp>(op))
    return sineOrCosine(operand(0), isa<math::CosOp>(op)).value;
  return isa<math::Atan2Op>(op) ? arctangent2(operand(0), operand(1)).value : Value();
}

struct ExpandMathPass : PassWrapper<ExpandMathPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMathPass)
  explicit ExpandMathPass(bool libm) : libm(libm) {}
  StringRef getArgument() const override { return "sinter-expand-math"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    if (!libm)
      replace(expandWithoutLibm);
    replace(accurate);
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }

private:
  void replace(Value (*expand)(Operation *)) {
    // Collected first: replacements may contain ops of the same kind.
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<math::MathDialect>(op->getDialect()))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (Value replacement = expand(op)) {
        op->getResult(0).replaceAllUsesWith(replacement);
        op->erase();
      }
  }

  bool libm;
};

} // namespace

std::unique_ptr<Pass> createExpandMathPass(bool libm) {
  return std::make_unique<ExpandMathPass>(libm);
}

} // namespace sinter::codegen
