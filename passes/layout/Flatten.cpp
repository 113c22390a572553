// sinter-flatten: a channels-last image in front of a linear layer is flattened as it lies in
// memory, and the layer's weight is permuted instead.
//
// The order of elements is visible where images become rows of a matrix, so sinter-layout leaves a
// transpose of the whole image there, and one of its gradient. The weight is mostly much smaller.
#include "sinter/passes/Passes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

#define GEN_PASS_DEF_FLATTENPASS
#include "sinter/passes/Passes.h.inc"

namespace {

Value reshaped(OpBuilder &builder, Value value, const Dims &dims) {
  return ReshapeOp::create(builder, value.getLoc(), tensorType(dims, elementType(value)), value);
}

/// A permutation that keeps the first dimension in place, of the others alone.
std::optional<SmallVector<int64_t>> inner(ArrayRef<int64_t> permutation) {
  if (permutation.size() < 3 || permutation.front() != 0)
    return std::nullopt;
  return llvm::map_to_vector(permutation.drop_front(), [](int64_t dim) { return dim - 1; });
}

/// `matrix` with the numbers along `axis` in another order: the axis is `dims` flattened, and
/// becomes their `permutation` flattened.
Value permuteAxis(OpBuilder &builder, Value matrix, int64_t axis, ArrayRef<AffineExpr> dims,
                  ArrayRef<int64_t> permutation) {
  Dims plain = dimsOf(matrix), split;
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < int64_t(plain.size()); ++i) {
    if (i != axis) {
      order.push_back(int64_t(split.size()));
      split.push_back(plain[i]);
      continue;
    }
    int64_t first = int64_t(split.size());
    for (int64_t dim : permutation)
      order.push_back(first + dim);
    split.append(dims.begin(), dims.end());
  }
  Value parts = reshaped(builder, matrix, split);
  Value moved = TransposeOp::create(builder, matrix.getLoc(), parts, order);
  return reshaped(builder, moved, plain);
}

/// A matrix [rows, image] that is the transpose of `image`, flattened.
struct Flattened {
  Value image;
  SmallVector<int64_t> permutation; ///< of the image's dimensions but the first
  Dims dims;                        ///< the transpose's dimensions but the first
};

std::optional<Flattened> flattened(Value matrix) {
  auto reshape = matrix.getDefiningOp<ReshapeOp>();
  auto transpose = reshape ? reshape.getX().getDefiningOp<TransposeOp>() : TransposeOp();
  if (!transpose || tensorTypeOf(matrix).getRank() != 2)
    return std::nullopt;
  auto permutation = inner(transpose.getPermutation());
  Dims dims = dimsOf(transpose.getY());
  if (!permutation || dims.front() != dimsOf(matrix).front())
    return std::nullopt;
  return Flattened{transpose.getX(), *permutation, Dims(llvm::drop_begin(dims))};
}

/// A product with a flattened factor takes it as it lies; what meets its columns is permuted: the
/// other factor where they are summed over, else the result.
void takeAsItLies(MatmulOp op, unsigned side) {
  Value matrix = op->getOperand(side), other = op->getOperand(1 - side);
  auto flat = flattened(matrix);
  bool transposed[] = {op.getTransposeA(), op.getTransposeB()};
  if (!flat || tensorTypeOf(other).getRank() != 2)
    return;
  bool isSummed = (side == 0) != transposed[side];
  if (estimatedElements(isSummed ? other : op.getY()) >= estimatedElements(flat->image))
    return;
  OpBuilder builder(op);
  Value factors[2];
  factors[side] = reshaped(builder, flat->image, dimsOf(matrix));
  factors[1 - side] = other;
  if (isSummed) {
    int64_t axis = (side == 0) == transposed[1 - side]; // of the summed dimension in `other`
    factors[1 - side] =
        permuteAxis(builder, other, axis, flat->dims, invertPermutationVector(flat->permutation));
  }
  Value result =
      MatmulOp::create(builder, op.getLoc(), factors[0], factors[1], transposed[0], transposed[1]);
  if (!isSummed) {
    Dims lying(llvm::drop_begin(dimsOf(flat->image)));
    result = permuteAxis(builder, result, side, lying, flat->permutation);
  }
  op.getY().replaceAllUsesWith(result);
  op.erase();
}

/// A transposed image made by a product is made in that order by a permuted factor.
void makeAsItLies(TransposeOp op) {
  auto reshape = op.getX().getDefiningOp<ReshapeOp>();
  auto product = reshape ? reshape.getX().getDefiningOp<MatmulOp>() : MatmulOp();
  auto permutation = inner(op.getPermutation());
  if (!product || !permutation || !product->hasOneUse() || !reshape->hasOneUse() ||
      tensorTypeOf(product.getY()).getRank() != 2 ||
      dimsOf(product.getY()).front() != dimsOf(reshape.getY()).front() ||
      estimatedElements(product.getB()) >= estimatedElements(product.getY()))
    return;
  OpBuilder builder(product);
  Dims dims(llvm::drop_begin(dimsOf(reshape.getY())));
  Value factor =
      permuteAxis(builder, product.getB(), product.getTransposeB() ? 0 : 1, dims, *permutation);
  Value result = MatmulOp::create(builder, product.getLoc(), product.getA(), factor,
                                  product.getTransposeA(), product.getTransposeB());
  op.getY().replaceAllUsesWith(reshaped(builder, result, dimsOf(op.getY())));
}

struct FlattenPass : impl::FlattenPassBase<FlattenPass> {
  using FlattenPassBase::FlattenPassBase;
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      if (auto transpose = dyn_cast<TransposeOp>(op))
        makeAsItLies(transpose);
      else if (auto product = dyn_cast<MatmulOp>(op); product && flattened(product.getA()))
        takeAsItLies(product, 0);
      else if (product)
        takeAsItLies(product, 1);
    }
  }
};

} // namespace
} // namespace sinter::passes
