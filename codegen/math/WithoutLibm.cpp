#include "WithoutLibm.h"

#include "Arithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include <limits>
#include <numbers>

using namespace mlir;
using sinter::ir::ScalarExpr;

// Coefficients named Cephes are of Moshier's library (exp.c, ndtr.c, atan.c), those named fdlibm of
// Sun's (e_log.c, k_sin.c, k_cos.c).
namespace sinter::codegen {
namespace doubles {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Type wide(const ScalarExpr &x) { return x.builder.getF64Type(); }
Type bits(const ScalarExpr &x) { return x.builder.getI64Type(); }

ScalarExpr isNan(const ScalarExpr &x) { return ne(x, x); }
/// 2^k for a whole number k (i64) of a normal power, by its bits.
ScalarExpr powerOfTwo(const ScalarExpr &k) {
  ScalarExpr exponent = k + k.constant(1023);
  Value shifted = arith::ShLIOp::create(k.builder, k.loc, exponent.value, k.constant(52).value);
  return convert<arith::BitcastOp>(k.with(shifted), wide(k));
}

/// Cephes: a rational function of x less the nearest multiple of ln(2), then the power of two, as
/// two factors, so that results below the least normal number are rounded once.
ScalarExpr exponential(const ScalarExpr &x) {
  ScalarExpr low = select(x < -760.0, x.constant(-760), x); // NaN stays
  ScalarExpr near = select(low > 720.0, x.constant(720), low);
  ScalarExpr n = round(near * std::numbers::log2e);
  ScalarExpr r = fma(n, -1.42860682030941723212e-6, fma(n, -6.93145751953125e-1, near));
  ScalarExpr square = r * r;
  ScalarExpr p = r * polynomial(square, {1.26177193074810590878e-4, 3.02994407707441961300e-2,
                                         9.99999999999999999910e-1});
  ScalarExpr q = polynomial(square, {3.00198505138664455042e-6, 2.52448340349684104192e-3,
                                     2.27265548208155028766e-1, 2.00000000000000000009e0});
  ScalarExpr power = 1.0 + 2.0 * (p / (q - p));
  ScalarExpr whole = convert<arith::FPToSIOp>(select(isNan(n), x.constant(0), n), bits(x));
  ScalarExpr half =
      whole.with(arith::ShRSIOp::create(x.builder, x.loc, whole.value, whole.constant(1).value));
  return power * powerOfTwo(half) * powerOfTwo(whole - half);
}

/// The logarithm as a sum of two numbers, the second small beside the first.
std::pair<ScalarExpr, ScalarExpr> logarithmInTwo(const ScalarExpr &x) {
  // x = 2^k m, m between sqrt(1/2) and sqrt(2).
  ScalarExpr isSmall = x < 0x1p-1022, scaled = select(isSmall, x * 0x1p54, x);
  ScalarExpr word = convert<arith::BitcastOp>(scaled, bits(x));
  // The bits of sqrt(1/2); as an integer, too long for a double.
  ScalarExpr offset = word.constant(0x3fe6a09e * 0x1p32) + word.constant(0x667f3bcd);
  ScalarExpr above = word - offset;
  ScalarExpr k =
      above.with(arith::ShRSIOp::create(x.builder, x.loc, above.value, above.constant(52).value));
  Value shifted = arith::ShLIOp::create(x.builder, x.loc, k.value, k.constant(52).value);
  ScalarExpr m = convert<arith::BitcastOp>(word - k.with(shifted), wide(x));
  ScalarExpr exponent = convert<arith::SIToFPOp>(k, wide(x));
  ScalarExpr power = select(isSmall, exponent - 54.0, exponent);
  // fdlibm.
  ScalarExpr f = m - 1.0, s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
  ScalarExpr r = z * polynomial(z, {1.479819860511658591e-01, 1.531383769920937332e-01,
                                    1.818357216161805012e-01, 2.222219843214978396e-01,
                                    2.857142874366239149e-01, 3.999999999940941908e-01,
                                    6.666666666666735130e-01});
  ScalarExpr rest = fma(power, 1.90821492927058770002e-10, s * (half + r) - half);
  ScalarExpr high = fma(power, 6.93147180369123816490e-01, f);
  // What `high` lost: f is smaller than the multiple of ln(2) unless that is 0.
  ScalarExpr lost = f - (high - power * 6.93147180369123816490e-01);
  ScalarExpr sum = high + (rest + lost);
  return {sum, (rest + lost) - (sum - high)};
}

ScalarExpr logarithm(const ScalarExpr &x) {
  ScalarExpr value = logarithmInTwo(x).first;
  ScalarExpr atZero = select(eq(x, 0.0), x.constant(-kInfinity), value);
  ScalarExpr atEnd = select(eq(x, kInfinity), x, atZero);
  return select((x < 0.0) | isNan(x), x.constant(std::numeric_limits<double>::quiet_NaN()), atEnd);
}

/// sin or cos, by fdlibm's polynomials between -pi/4 and pi/4.
ScalarExpr sineOrCosine(const ScalarExpr &x, bool isCosine) {
  ScalarExpr n = round(x * (2 / std::numbers::pi));
  // pi/2 in three parts.
  ScalarExpr first = fma(n, -1.5707963267948966, x);
  ScalarExpr r = fma(n, -6.123233995736766e-17, first);
  ScalarExpr lost = fma(n, 1.4973849048591833e-33, fma(n, -6.123233995736766e-17, first - r));
  ScalarExpr z = r * r;
  ScalarExpr sine =
      r + (lost + r * z *
                      polynomial(z, {1.58969099521155010221e-10, -2.50507602534068634195e-08,
                                     2.75573137070700676789e-06, -1.98412698298579493134e-04,
                                     8.33333333332248946124e-03, -1.66666666666666324348e-01}));
  ScalarExpr half = 0.5 * z, w = 1.0 - half;
  ScalarExpr cosine =
      w + (((1.0 - w) - half) +
           (z * z *
                polynomial(z, {-1.13596475577881948265e-11, 2.08757232129817482790e-09,
                               -2.75573143513906633035e-07, 2.48015872894767294178e-05,
                               -1.38888888888741095749e-03, 4.16666666666666019037e-02}) -
            r * lost));
  ScalarExpr turns = isCosine ? n + 1.0 : n;
  ScalarExpr quadrant = turns - 4.0 * floor(turns * 0.25);
  ScalarExpr isOdd = eq(quadrant, 1.0) | eq(quadrant, 3.0);
  ScalarExpr size = select(isOdd, cosine, sine);
  ScalarExpr value = select(quadrant >= 2.0, -size, size);
  // 0 keeps its sign, and infinities have no sine.
  ScalarExpr plain = isCosine ? value : select(eq(x, 0.0), x, value);
  return select(eq(abs(x), kInfinity), x - x, plain);
}
ScalarExpr tangent(const ScalarExpr &x) { return sineOrCosine(x, false) / sineOrCosine(x, true); }

/// exp(x) - 1, by what rounding exp(x) does to the argument (Kahan; see Higham, "Accuracy and
/// Stability of Numerical Algorithms", 1.14.1).
ScalarExpr expMinus1(const ScalarExpr &x) {
  ScalarExpr u = exponential(x), change = u - 1.0;
  ScalarExpr isExact = eq(change, -1.0) | eq(u, kInfinity);
  return select(eq(change, 0.0), x, select(isExact, change, change * (x / logarithm(u))));
}
ScalarExpr logPlus1(const ScalarExpr &x) {
  ScalarExpr u = 1.0 + x, change = u - 1.0;
  ScalarExpr far = logarithm(u);
  return select(eq(change, 0.0), x, select(eq(u, kInfinity), u, far * (x / change)));
}

ScalarExpr hyperbolicTangent(const ScalarExpr &x) {
  ScalarExpr size = min(abs(x), 22.0), t = expMinus1(2.0 * size);
  return select(isNan(x), x, copySign(t / (t + 2.0), x));
}

/// Cephes: x T(x^2) / U(x^2) below 1, 1 - exp(-x^2) P(x) / Q(x) above.
ScalarExpr errorFunction(const ScalarExpr &x) {
  ScalarExpr z = x * x, size = min(abs(x), 6.5);
  ScalarExpr near =
      x *
      polynomial(z, {9.60497373987051638749e0, 9.00260197203842689217e1, 2.23200534594684319226e3,
                     7.00332514112805075473e3, 5.55923013010394962768e4}) /
      polynomial(z, {1.0, 3.35617141647503099647e1, 5.21357949780152679795e2,
                     4.59432382970980127987e3, 2.26290000613890934246e4, 4.92673942608635921086e4});
  ScalarExpr tail =
      exponential(-(size * size)) *
      (polynomial(size,
                  {2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0,
                   4.86371970985681366614e1, 1.96520832956077098242e2, 5.26445194995477358631e2,
                   9.34528527171957607540e2, 1.02755188689515710272e3, 5.57535335369399327526e2}) /
       polynomial(size,
                  {1.0, 1.32281951154744992508e1, 8.67072140885989742329e1,
                   3.54937778887819891062e2, 9.75708501743205489753e2, 1.82390916687909736289e3,
                   2.24633760818710981792e3, 1.65666309194161350182e3, 5.57535340817727675546e2}));
  return select(abs(x) <= 1.0, near, select(isNan(x), x, copySign(1.0 - tail, x)));
}

/// The angle below pi/4 of the smaller coordinate over the larger, by Cephes' rational function for
/// arctangents below tan(pi/8), then mirrored into its octant.
ScalarExpr arctangent2(const ScalarExpr &y, const ScalarExpr &x) {
  ScalarExpr a = abs(y), b = abs(x), zero = x.constant(0);
  // Quarters of huge coordinates have the same quotient, and a sum.
  ScalarExpr scale = select(max(a, b) > 0x1p1022, x.constant(0.25), x.constant(1));
  ScalarExpr low = min(a, b) * scale, high = max(a, b) * scale;
  ScalarExpr isSteep = low > high * 0.41421356237309503;
  ScalarExpr quotient = select(isSteep, low - high, low) / select(isSteep, low + high, high);
  ScalarExpr t = select(eq(a, b), zero, quotient), z = t * t; // 0/0 and infinities too
  ScalarExpr below = t + t * z *
                             polynomial(z, {-8.750608600031904122785e-1, -1.615753718733365076637e1,
                                            -7.500855792314704667340e1, -1.228866684490136173410e2,
                                            -6.485021904942025371773e1}) /
                             polynomial(z, {1.0, 2.485846490142306297962e1,
                                            1.650270098316988542046e2, 4.328810604912902668951e2,
                                            4.853903996359136964868e2, 1.945506571482613964425e2});
  ScalarExpr isDiagonal = isSteep | (eq(a, b) & (a > 0.0));
  ScalarExpr octant = select(isDiagonal, below + std::numbers::pi / 4, below);
  ScalarExpr quadrant = select(a > b, std::numbers::pi / 2 - octant, octant);
  ScalarExpr half = select(copySign(x.constant(1), x) < 0.0, std::numbers::pi - quadrant, quadrant);
  return copySign(half, y);
}

/// exp(y log |x|), the product in two parts; then the cases that C's pow names.
ScalarExpr power(const ScalarExpr &x, const ScalarExpr &y) {
  ScalarExpr size = abs(x), one = x.constant(1);
  auto [high, low] = logarithmInTwo(size);
  ScalarExpr isPlain = (size > 0.0) & (size < kInfinity);
  ScalarExpr log = select(isPlain, high, logarithm(size));
  ScalarExpr product = y * log;
  ScalarExpr rest = fma(y, log, -product) + y * low;
  ScalarExpr isFinite = isPlain & (abs(product) < 700.0);
  ScalarExpr plain = exponential(product);
  ScalarExpr magnitude = select(isFinite, fma(plain, rest, plain), plain);
  ScalarExpr isWhole = eq(floor(y), y), halfway = y * 0.5;
  ScalarExpr isOdd = isWhole & ne(floor(halfway), halfway) & (abs(y) < 0x1p53);
  ScalarExpr isMinus = copySign(one, x) < 0.0;
  ScalarExpr isNone = (x < 0.0) & (size < kInfinity) & !isWhole & (abs(y) < kInfinity);
  ScalarExpr value = select(isNone, x.constant(std::numeric_limits<double>::quiet_NaN()),
                            select(isMinus & isOdd, -magnitude, magnitude));
  ScalarExpr known = select(isNan(x) | isNan(y), x + y, value);
  ScalarExpr isOne = eq(y, 0.0) | eq(x, 1.0) | (eq(x, -1.0) & eq(abs(y), kInfinity));
  return select(isOne, one, known);
}

ScalarExpr evaluate(Operation *op, const ScalarExpr &x, const ScalarExpr &y) {
  if (isa<math::ExpOp>(op))
    return exponential(x);
  if (isa<math::ExpM1Op>(op))
    return expMinus1(x);
  if (isa<math::LogOp>(op))
    return logarithm(x);
  if (isa<math::Log1pOp>(op))
    return logPlus1(x);
  if (isa<math::SinOp, math::CosOp>(op))
    return sineOrCosine(x, isa<math::CosOp>(op));
  if (isa<math::TanOp>(op))
    return tangent(x);
  if (isa<math::TanhOp>(op))
    return hyperbolicTangent(x);
  if (isa<math::ErfOp>(op))
    return errorFunction(x);
  if (isa<math::Atan2Op>(op))
    return arctangent2(x, y);
  return power(x, y);
}

} // namespace
} // namespace doubles

Value expandWithoutLibm(Operation *op) {
  if (op->getNumResults() != 1)
    return {};
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  bool isSingle = element.isF32() && isa<math::TanOp, math::PowFOp>(op);
  bool isDouble =
      element.isF64() &&
      isa<math::ExpOp, math::ExpM1Op, math::LogOp, math::Log1pOp, math::SinOp, math::CosOp,
          math::TanOp, math::TanhOp, math::ErfOp, math::Atan2Op, math::PowFOp>(op);
  if (!isSingle && !isDouble)
    return {};
  OpBuilder builder(op);
  auto operand = [&](unsigned i) {
    ScalarExpr value(builder, op->getLoc(), op->getOperand(std::min(i, op->getNumOperands() - 1)));
    return isSingle ? convert<arith::ExtFOp>(value, builder.getF64Type()) : value;
  };
  ScalarExpr result = doubles::evaluate(op, operand(0), operand(1));
  return isSingle ? convert<arith::TruncFOp>(result, element).value : result.value;
}

} // namespace sinter::codegen
