#include "sinter/ir/Dialect.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <numeric>

using namespace mlir;

namespace sinter::ir {

namespace {

/// Order of factors that no pointer decides: symbols by number, then quotients by their text.
bool precedes(AffineExpr a, AffineExpr b) {
  auto left = dyn_cast<AffineSymbolExpr>(a), right = dyn_cast<AffineSymbolExpr>(b);
  if (left && right)
    return left.getPosition() < right.getPosition();
  return left || right ? bool(left) : toString(a) < toString(b);
}

using Product = SmallVector<AffineExpr, 2>;

/// Lexicographic, a product before its prefixes, so that the constant comes last.
struct ProductOrder {
  bool operator()(const Product &a, const Product &b) const {
    for (auto [left, right] : llvm::zip(a, b))
      if (left != right)
        return precedes(left, right);
    return a.size() > b.size();
  }
};

/// A size as a sum of products of sorted factors, each with its coefficient, so that equal sums are
/// equal expressions. Factors are symbols and quotients; remainders and quotients rounded up are
/// written with quotients rounded down.
class Polynomial {
public:
  explicit Polynomial(AffineExpr expr) : context(expr.getContext()) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (auto constant = constantSize(expr))
      add({}, *constant);
    else if (!binary)
      add({expr}, 1);
    if (!binary)
      return;
    Polynomial a(binary.getLHS()), b(binary.getRHS());
    switch (binary.getKind()) {
    case AffineExprKind::Add:
      add(a, {}, 1);
      add(b, {}, 1);
      return;
    case AffineExprKind::Mul:
      for (auto &[factors, coefficient] : b.terms)
        add(a, factors, coefficient);
      return;
    default:
      addQuotient(binary.getKind(), a, b);
    }
  }

  AffineExpr expr() const {
    AffineExpr sum = constantDim(0, context);
    for (auto &[factors, coefficient] : terms) {
      AffineExpr product = constantDim(1, context);
      for (AffineExpr factor : factors)
        product = product * factor;
      sum = sum + product * coefficient;
    }
    return sum;
  }

private:
  void add(Product factors, int64_t coefficient) {
    llvm::sort(factors, precedes);
    if ((terms[factors] += coefficient) == 0)
      terms.erase(factors);
  }
  void add(const Polynomial &other, ArrayRef<AffineExpr> factors, int64_t coefficient) {
    for (auto &[otherFactors, otherCoefficient] : other.terms) {
      Product all(otherFactors);
      llvm::append_range(all, factors);
      add(all, otherCoefficient * coefficient);
    }
  }

  void addQuotient(AffineExprKind kind, const Polynomial &a, const Polynomial &b) {
    auto divisor = constantSize(b.expr());
    if (!divisor || *divisor <= 0)
      return add({getAffineBinaryOpExpr(kind, a.expr(), b.expr())}, 1);
    Polynomial dividend = a;
    if (kind == AffineExprKind::CeilDiv)
      dividend.add({}, *divisor - 1);
    Polynomial quotient = dividend.dividedBy(*divisor);
    if (kind != AffineExprKind::Mod)
      return add(quotient, {}, 1);
    add(a, {}, 1);
    add(quotient, {}, -*divisor);
  }

  /// Rounded down: multiples of the divisor leave the quotient, then common factors.
  Polynomial dividedBy(int64_t divisor) const {
    Polynomial result(constantDim(0, context)), rest(constantDim(0, context));
    int64_t common = divisor;
    for (auto &[factors, coefficient] : terms) {
      int64_t quotient = llvm::divideFloorSigned(coefficient, divisor),
              remainder = coefficient - quotient * divisor;
      result.add(factors, quotient);
      rest.add(factors, remainder);
      if (!factors.empty())
        common = std::gcd(common, remainder);
    }
    Polynomial reduced(constantDim(0, context));
    for (auto &[factors, coefficient] : rest.terms)
      reduced.add(factors, coefficient / common);
    if (common != divisor) // else the rest is a constant below the divisor
      result.add({reduced.expr().floorDiv(divisor / common)}, 1);
    return result;
  }

  MLIRContext *context;
  std::map<Product, int64_t, ProductOrder> terms;
};

} // namespace

AffineExpr simplify(AffineExpr expr) {
  return isa<AffineBinaryOpExpr>(expr) ? Polynomial(expr).expr() : expr;
}

AffineExpr constantDim(int64_t size, MLIRContext *context) {
  return getAffineConstantExpr(size, context);
}

bool hasKnownSizes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.hasStaticShape() ? !tensor.getEncoding()
                                 : isa_and_nonnull<DimsAttr>(tensor.getEncoding());
}

Dims dimsOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (auto encoding = dyn_cast_or_null<DimsAttr>(tensor.getEncoding()))
    return Dims(encoding.getSizes());
  Dims dims;
  for (int64_t size : tensor.getShape())
    dims.push_back(constantDim(size, type.getContext()));
  return dims;
}

RankedTensorType tensorType(ArrayRef<AffineExpr> dims, Type element) {
  SmallVector<int64_t> shape;
  Dims canonical;
  bool isStatic = true;
  for (AffineExpr dim : dims) {
    canonical.push_back(simplify(dim));
    auto size = constantSize(canonical.back());
    isStatic &= size.has_value();
    shape.push_back(size.value_or(ShapedType::kDynamic));
  }
  if (isStatic)
    return RankedTensorType::get(shape, element);
  return RankedTensorType::get(shape, element, DimsAttr::get(element.getContext(), canonical));
}

AffineExpr product(ArrayRef<AffineExpr> dims, MLIRContext *context) {
  AffineExpr result = constantDim(1, context);
  for (AffineExpr dim : dims)
    result = result * dim;
  return simplify(result);
}

std::optional<int64_t> constantSize(AffineExpr dim) {
  if (auto constant = dyn_cast<AffineConstantExpr>(dim))
    return constant.getValue();
  return std::nullopt;
}

int64_t estimatedElements(ArrayRef<AffineExpr> dims) {
  constexpr int64_t kSymbolic = 256;
  int64_t count = 1;
  for (AffineExpr dim : dims)
    count *= constantSize(dim).value_or(kSymbolic);
  return count;
}

bool isOne(AffineExpr dim) { return constantSize(dim) == 1; }

std::string toString(ArrayRef<AffineExpr> dims) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << '[';
  llvm::interleaveComma(dims, stream, [&](AffineExpr dim) { dim.print(stream); });
  stream << ']';
  return text;
}

Type elementType(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

AffineExpr windowSize(AffineExpr size, int64_t kernel, int64_t stride, int64_t low, int64_t high,
                      int64_t dilation) {
  return simplify((size + (low + high - dilation * (kernel - 1) - 1)).floorDiv(stride) + 1);
}

SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

} // namespace sinter::ir
