#include "sinter/ir/Dialect.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace sinter::ir {

AffineExpr simplify(AffineExpr expr) { return simplifyAffineExpr(expr, 0, kMaxSymbols); }

AffineExpr constantDim(int64_t size, MLIRContext *context) { return getAffineConstantExpr(size, context); }

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

AffineExpr windowSize(AffineExpr size, int64_t kernel, int64_t stride, int64_t low, int64_t high, int64_t dilation) {
  return simplify((size + (low + high - dilation * (kernel - 1) - 1)).floorDiv(stride) + 1);
}

SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

} // namespace sinter::ir
