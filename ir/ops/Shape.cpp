#include "ops/Fold.h"
#include "ops/Verify.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace sinter::ir;

void FullOp::build(OpBuilder &, OperationState &state, RankedTensorType type, double value) {
  state.getOrAddProperties<Properties>().value = scalarAttr(value, type.getElementType());
  state.addTypes(type);
}

double FullOp::number() { return filledWith(getValueAttr())->toDouble(); }

LogicalResult FullOp::verify() {
  if (filledWith(getValueAttr()))
    return success();
  return emitError("the value ") << getValueAttr() << " is neither a float nor an integer";
}

OpFoldResult FullOp::fold(FoldAdaptor) {
  return scalarAttr(*filledWith(getValueAttr()), elementType(getY()));
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return canonicalConstant(getValue()); }

LogicalResult ConstantOp::canonicalize(ConstantOp op, PatternRewriter &rewriter) {
  auto value = dyn_cast<TypedAttr>(canonicalConstant(op.getValue()));
  if (!value || value == op.getValueAttr())
    return failure();
  rewriter.replaceOpWithNewOp<FullOp>(op, op.getType(), value);
  return success();
}

LogicalResult ArangeOp::verify() { return checkRank(getLoc(), "the result", getType(), 1); }

LogicalResult ExpandOp::verify() {
  Dims from = dimsOf(getX()), to = dimsOf(getY());
  bool fits = from.size() <= to.size();
  if (fits)
    for (auto [size, target] : llvm::zip(from, ArrayRef(to).take_back(from.size())))
      fits &= size == target || isOne(size);
  if (!fits)
    return emitError("") << shapeText(getX()) << " doesn't broadcast to " << shapeText(getY());
  return checkSameElement(getLoc(), getX(), getY());
}

/// Dimensions without leading ones, which broadcasting ignores.
static ArrayRef<AffineExpr> withoutLeadingOnes(ArrayRef<AffineExpr> dims) {
  return dims.drop_while(isOne);
}

OpFoldResult ExpandOp::fold(FoldAdaptor constants) {
  if (getX().getType() == getType())
    return getX();
  if (filledWith(constants.getX()))
    return constants.getX();
  if (auto inner = getX().getDefiningOp<ExpandOp>()) {
    getXMutable().assign(inner.getX());
    return getResult();
  }
  auto reshape = getX().getDefiningOp<ReshapeOp>();
  if (!reshape || rankOf(reshape.getX()) > rankOf(getY()))
    return {};
  Dims from = dimsOf(reshape.getX()), to = dimsOf(getX());
  if (withoutLeadingOnes(from) != withoutLeadingOnes(to))
    return {};
  getXMutable().assign(reshape.getX());
  return getResult();
}

LogicalResult ReshapeOp::verify() {
  if (product(dimsOf(getX()), getContext()) != product(dimsOf(getY()), getContext()))
    return emitError("numbers of elements differ: ")
           << shapeText(getX()) << " can't be seen as " << shapeText(getY());
  return checkSameElement(getLoc(), getX(), getY());
}

OpFoldResult ReshapeOp::fold(FoldAdaptor constants) {
  if (getX().getType() == getType())
    return getX();
  if (filledWith(constants.getX()))
    return constants.getX();
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(constants.getX()))
    return dense.reshape(getType());
  auto inner = getX().getDefiningOp<ReshapeOp>();
  if (!inner)
    return {};
  getXMutable().assign(inner.getX());
  return getResult();
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op, Types &types) {
  Dims dims = dimsOf(op.getX()), result;
  SmallVector<int64_t> sorted(op.getPermutation());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, dims.size())))
    return emitOptionalError(where, listText(op.getPermutation()),
                             " is not a permutation of the dimensions of ", shapeText(op.getX()));
  for (int64_t dim : op.getPermutation())
    result.push_back(dims[dim]);
  types.push_back(withDims(result, op.getX()));
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor constants) {
  if (llvm::is_sorted(getPermutation()))
    return getX();
  if (filledWith(constants.getX()))
    return constants.getX();
  auto inner = getX().getDefiningOp<TransposeOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> composed;
  for (int64_t dim : getPermutation())
    composed.push_back(inner.getPermutation()[dim]);
  setPermutation(composed);
  getXMutable().assign(inner.getX());
  return getResult();
}

LogicalResult TransposeOp::canonicalize(TransposeOp op, PatternRewriter &rewriter) {
  // Where only dimensions of size 1 change their places, the elements stay where they are.
  Dims dims = dimsOf(op.getX());
  SmallVector<int64_t> wide(op.getPermutation());
  llvm::erase_if(wide, [&](int64_t dim) { return isOne(dims[dim]); });
  if (llvm::is_sorted(wide)) {
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getX());
    return success();
  }
  // (A B)^T = B^T A^T, where nobody else wants A B.
  auto matmul = op.getX().getDefiningOp<MatmulOp>();
  if (!matmul || !matmul->hasOneUse() || !swapsLastTwo(op.getPermutation()))
    return failure();
  rewriter.replaceOpWithNewOp<MatmulOp>(op, op.getType(), matmul.getB(), matmul.getA(),
                                        !matmul.getTransposeB(), !matmul.getTransposeA());
  return success();
}

LogicalResult SliceOp::verify() {
  Dims from = dimsOf(getX()), to = dimsOf(getY());
  if (from.size() != to.size())
    return emitError("") << shapeText(getX()) << " and its slice " << shapeText(getY())
                         << " differ in rank";
  if (failed(checkSameElement(getLoc(), getX(), getY())) ||
      failed(checkCount(getLoc(), "starts", getStarts(), from.size())) ||
      failed(checkCount(getLoc(), "strides", getStrides(), from.size())))
    return failure();
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t start = getStarts()[i], stride = getStrides()[i];
    if (start < 0 || stride < 1)
      return emitError("starts ") << listText(getStarts()) << " must be 0 or more, strides "
                                  << listText(getStrides()) << " 1 or more";
    // Elements left of the dimension beyond the last one taken; an empty slice takes none.
    AffineExpr left = from[i] - 1 - start - (to[i] - 1) * stride;
    if (constantSize(to[i]) != 0 && lowerBound(left, *this).value_or(-1) < 0)
      return emitError("") << sizeText(to[i]) << " elements from " << start << " on, " << stride
                           << " apart, run past the end of dimension " << i << " of "
                           << shapeText(getX());
  }
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor constants) {
  if (getX().getType() == getType())
    return getX();
  if (filledWith(constants.getX()))
    return constants.getX();
  auto inner = getX().getDefiningOp<SliceOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> starts, strides;
  for (auto [start, stride, innerStart, innerStride] :
       llvm::zip(getStarts(), getStrides(), inner.getStarts(), inner.getStrides())) {
    starts.push_back(innerStart + start * innerStride);
    strides.push_back(stride * innerStride);
  }
  setStarts(starts);
  setStrides(strides);
  getXMutable().assign(inner.getX());
  return getResult();
}

LogicalResult SliceOp::canonicalize(SliceOp op, PatternRewriter &rewriter) {
  // A slice that lies within one input of a concatenation is taken from there.
  auto concat = op.getX().getDefiningOp<ConcatOp>();
  if (!concat)
    return failure();
  int64_t dim = concat.getDim(), start = op.getStarts()[dim];
  auto count = constantSize(dimsOf(op.getY())[dim]);
  if (!count || *count < 1)
    return failure();
  int64_t last = start + (*count - 1) * op.getStrides()[dim], offset = 0;
  for (Value input : concat.getInputs()) {
    auto size = constantSize(dimsOf(input)[dim]);
    if (!size || start < offset)
      return failure();
    if (last < offset + *size) {
      SmallVector<int64_t> starts(op.getStarts());
      starts[dim] -= offset;
      rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), input, starts, op.getStrides());
      return success();
    }
    offset += *size;
  }
  return failure();
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op, Types &types) {
  Dims dims = dimsOf(op.getX());
  if (failed(checkCount(where, "low", op.getLow(), dims.size())) ||
      failed(checkCount(where, "high", op.getHigh(), dims.size())) ||
      failed(checkCount(where, "interior", op.getInterior(), dims.size())))
    return failure();
  for (ArrayRef<int64_t> list : {op.getLow(), op.getHigh(), op.getInterior()})
    if (llvm::any_of(list, [](int64_t count) { return count < 0; }))
      return emitOptionalError(where, "padding ", listText(list), " of ", shapeText(op.getX()),
                               " must not be negative; slice to crop");
  for (auto [i, dim] : llvm::enumerate(dims)) {
    bool isEmpty = constantSize(dim) == 0;
    dim = dim + (isEmpty ? dim : (dim - 1) * op.getInterior()[i]) +
          (op.getLow()[i] + op.getHigh()[i]);
  }
  types.push_back(withDims(dims, op.getX()));
  return success();
}

OpFoldResult PadOp::fold(FoldAdaptor constants) {
  auto isNone = [](ArrayRef<int64_t> list) {
    return llvm::all_of(list, [](int64_t count) { return count == 0; });
  };
  if (isNone(getLow()) && isNone(getHigh()) && isNone(getInterior()))
    return getX();
  return isFilledWith(constants.getX(), d(getValue())) ? constants.getX() : Attribute();
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op, Types &types) {
  if (op.getInputs().empty())
    return emitOptionalError(where, "there is nothing to join");
  Value first = op.getInputs().front();
  int64_t dim = op.getDim();
  if (failed(checkDim(where, dim, first.getType())))
    return failure();
  Dims dims = dimsOf(first);
  for (Value input : op.getInputs().drop_front()) {
    if (failed(checkSameElement(where, first, input)))
      return failure();
    Dims other = dimsOf(input);
    bool fits = other.size() == dims.size();
    for (size_t i = 0; fits && i < dims.size(); ++i)
      fits = int64_t(i) == dim || dims[i] == other[i];
    if (!fits)
      return emitOptionalError(where, "shapes differ outside dimension ", dim, ": ",
                               shapeText(first), " and ", shapeText(input));
    dims[dim] = dims[dim] + other[dim];
  }
  types.push_back(withDims(dims, first));
  return success();
}

OpFoldResult ConcatOp::fold(FoldAdaptor constants) {
  if (getInputs().size() == 1)
    return getInputs().front();
  Attribute first = constants.getInputs().front();
  return filledWith(first) && llvm::all_equal(constants.getInputs()) ? first : Attribute();
}

LogicalResult ConcatOp::canonicalize(ConcatOp op, PatternRewriter &rewriter) {
  // Concatenations along one dimension are one; empty inputs add nothing.
  SmallVector<Value> inputs;
  for (Value input : op.getInputs()) {
    auto inner = input.getDefiningOp<ConcatOp>();
    if (inner && inner.getDim() == op.getDim())
      llvm::append_range(inputs, inner.getInputs());
    else if (constantSize(dimsOf(input)[op.getDim()]) != 0)
      inputs.push_back(input);
  }
  if (inputs.empty() || ValueRange(inputs) == op.getInputs())
    return failure();
  rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), inputs, op.getDim());
  return success();
}
