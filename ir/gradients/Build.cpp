#include "gradients/Build.h"

using namespace mlir;

namespace sinter::ir {

TensorExpr filled(const TensorExpr &like, double number) { return like.constant(number); }

TensorExpr filled(const TensorExpr &at, RankedTensorType type, double number) {
  return at.with(FullOp::create(at.builder, at.loc, type, number));
}

TensorExpr positions(const TensorExpr &at, ArrayRef<AffineExpr> dims, int64_t dim, Type element,
                     int64_t start, int64_t step) {
  auto line = ArangeOp::create(at.builder, at.loc, tensorType(dims[dim], element),
                               APFloat(double(start)), APFloat(double(step)));
  Dims kept(dims.size(), constantDim(1, element.getContext()));
  kept[dim] = dims[dim];
  return expanded(reshaped(at.with(line), kept), dims);
}

TensorExpr reshaped(const TensorExpr &x, ArrayRef<AffineExpr> dims) {
  auto type = tensorType(dims, elementType(x.value));
  return type == x.value.getType()
             ? x
             : x.with(x.builder.createOrFold<ReshapeOp>(x.loc, type, x.value));
}

TensorExpr expanded(const TensorExpr &x, ArrayRef<AffineExpr> dims) {
  auto type = tensorType(dims, elementType(x.value));
  return type == x.value.getType() ? x
                                   : x.with(x.builder.createOrFold<ExpandOp>(x.loc, type, x.value));
}

TensorExpr converted(const TensorExpr &x, Type element) {
  if (elementType(x.value) == element)
    return x;
  return x.with(
      x.builder.createOrFold<CastOp>(x.loc, tensorType(dimsOf(x.value), element), x.value));
}

TensorExpr widened(const TensorExpr &x) {
  Type element = elementType(x.value);
  return element.isF16() || element.isBF16()
             ? converted(x, Float32Type::get(x.builder.getContext()))
             : x;
}

TensorExpr summed(const TensorExpr &x, ArrayRef<int64_t> dims) {
  return x.with(SumOp::create(x.builder, x.loc, x.value, dims, /*keepdim=*/true));
}

TensorExpr averaged(const TensorExpr &x, ArrayRef<int64_t> dims) {
  return x.with(MeanOp::create(x.builder, x.loc, x.value, dims, /*keepdim=*/true));
}

TensorExpr largest(const TensorExpr &x, ArrayRef<int64_t> dims) {
  return x.with(MaxOp::create(x.builder, x.loc, x.value, dims, /*keepdim=*/true));
}

TensorExpr summedTo(const TensorExpr &x, ArrayRef<AffineExpr> dims) {
  Dims from = dimsOf(x.value);
  SmallVector<int64_t> repeated;
  for (size_t i = 0, added = from.size() - dims.size(); i < from.size(); ++i)
    if (!isOne(from[i]) && (i < added || isOne(dims[i - added])))
      repeated.push_back(int64_t(i));
  return reshaped(repeated.empty() ? x : summed(x, repeated), dims);
}

TensorExpr dividedBy(const TensorExpr &x, AffineExpr size) {
  if (auto number = constantSize(size); number && *number > 0)
    return x *
           (1.0 /
            double(
                *number)); // broadcasts may compute this once an element, where a division is dear
  return x / sizeOf(x, size, tensorTypeOf(x.value));
}

TensorExpr sizeOf(const TensorExpr &at, AffineExpr size, RankedTensorType type) {
  if (auto number = constantSize(size))
    return filled(at, type, double(*number));
  auto ones = filled(at, tensorType(size, type.getElementType()), 1);
  auto total = SumOp::create(at.builder, at.loc, ones.value, ArrayRef<int64_t>{0});
  return expanded(at.with(total), dimsOf(type));
}

AffineExpr extent(ArrayRef<AffineExpr> dims, ArrayRef<int64_t> along) {
  auto sizes = llvm::map_to_vector(along, [&](int64_t dim) { return dims[dim]; });
  return product(sizes, dims.front().getContext());
}

Dims keptDims(ArrayRef<AffineExpr> dims, ArrayRef<int64_t> reduced) {
  Dims kept(dims);
  for (int64_t dim : reduced)
    kept[dim] = constantDim(1, kept[dim].getContext());
  return kept;
}

SmallVector<int64_t> allBut(int64_t rank, int64_t dim) {
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  dims.erase(dims.begin() + dim);
  return dims;
}

} // namespace sinter::ir
