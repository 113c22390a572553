// Image layouts: which operands and results hold images, where channels last pays for itself, and
// the ops that work alike over permuted dimensions.
#include "sinter/ir/Dialect.h"

using namespace mlir;
using namespace sinter::ir;

/// Channels along vector lanes, and matrix products of all of them, win once there are a few;
/// depthwise filters have one.
static constexpr int64_t kFewestChannels = 8;

static bool manyChannels(Value weight, int64_t groups) {
  auto shape = tensorTypeOf(weight).getShape();
  return shape[0] / groups >= kFewestChannels;
}

bool Conv2dOp::isImageOperand(unsigned operand) { return operand == 0; }
bool Conv2dOp::isImageResult(unsigned) { return true; }
bool Conv2dOp::prefersChannelsLast() { return manyChannels(getWeight(), getGroups()); }

bool Conv2dInputGradOp::isImageOperand(unsigned operand) { return operand == 0; }
bool Conv2dInputGradOp::isImageResult(unsigned) { return true; }
bool Conv2dInputGradOp::prefersChannelsLast() { return manyChannels(getWeight(), getGroups()); }

bool Conv2dWeightGradOp::isImageOperand(unsigned) { return true; }
bool Conv2dWeightGradOp::isImageResult(unsigned) { return false; }
bool Conv2dWeightGradOp::prefersChannelsLast() { return manyChannels(getY(), getGroups()); }

// A pool works in the layout of what surrounds it. All its operands and results are images.
#define SINTER_POOL(OP)                                                                            \
  bool OP::isImageOperand(unsigned) { return true; }                                               \
  bool OP::isImageResult(unsigned) { return true; }                                                \
  bool OP::prefersChannelsLast() { return false; }
SINTER_POOL(MaxPool2dOp)
SINTER_POOL(MaxPool2dIndexOp)
SINTER_POOL(PoolGatherOp)
SINTER_POOL(PoolScatterOp)
SINTER_POOL(AvgPool2dOp)
SINTER_POOL(AvgPool2dGradOp)
#undef SINTER_POOL

#define SINTER_LAYOUT(OP)                                                                          \
  bool OP::isChannelsLast() { return getChannelsLast(); }                                          \
  void OP::setChannelsLastLayout(bool last) { setChannelsLast(last); }
SINTER_LAYOUT(Conv2dOp)
SINTER_LAYOUT(Conv2dInputGradOp)
SINTER_LAYOUT(Conv2dWeightGradOp)
SINTER_LAYOUT(MaxPool2dOp)
SINTER_LAYOUT(MaxPool2dIndexOp)
SINTER_LAYOUT(PoolGatherOp)
SINTER_LAYOUT(PoolScatterOp)
SINTER_LAYOUT(AvgPool2dOp)
SINTER_LAYOUT(AvgPool2dGradOp)
#undef SINTER_LAYOUT

static SmallVector<int64_t> permuted(ArrayRef<int64_t> values, ArrayRef<int64_t> permutation) {
  return llvm::map_to_vector(permutation, [&](int64_t dim) { return values[dim]; });
}

/// A copy of `op` over other operands whose result has its dimensions permuted.
template <class OpTy>
static OpTy permutedCopy(OpTy op, OpBuilder &builder, ValueRange operands,
                         ArrayRef<int64_t> permutation) {
  auto copy = cast<OpTy>(builder.clone(*op));
  copy->setOperands(operands);
  Dims dims = dimsOf(op.getResult());
  auto sizes = llvm::map_to_vector(permutation, [&](int64_t dim) { return dims[dim]; });
  copy.getResult().setType(tensorType(sizes, elementType(op.getResult())));
  return copy;
}

Operation *ExpandOp::buildPermuted(OpBuilder &builder, ValueRange operands,
                                   ArrayRef<int64_t> permutation,
                                   SmallVectorImpl<int64_t> &resultPermutation) {
  resultPermutation.assign(permutation.begin(), permutation.end());
  return permutedCopy(*this, builder, operands, permutation);
}

Operation *SliceOp::buildPermuted(OpBuilder &builder, ValueRange operands,
                                  ArrayRef<int64_t> permutation,
                                  SmallVectorImpl<int64_t> &resultPermutation) {
  resultPermutation.assign(permutation.begin(), permutation.end());
  auto copy = permutedCopy(*this, builder, operands, permutation);
  copy.setStarts(permuted(getStarts(), permutation));
  copy.setStrides(permuted(getStrides(), permutation));
  return copy;
}

Operation *PadOp::buildPermuted(OpBuilder &builder, ValueRange operands,
                                ArrayRef<int64_t> permutation,
                                SmallVectorImpl<int64_t> &resultPermutation) {
  resultPermutation.assign(permutation.begin(), permutation.end());
  auto copy = permutedCopy(*this, builder, operands, permutation);
  copy.setLow(permuted(getLow(), permutation));
  copy.setHigh(permuted(getHigh(), permutation));
  copy.setInterior(permuted(getInterior(), permutation));
  return copy;
}

Operation *ConcatOp::buildPermuted(OpBuilder &builder, ValueRange operands,
                                   ArrayRef<int64_t> permutation,
                                   SmallVectorImpl<int64_t> &resultPermutation) {
  resultPermutation.assign(permutation.begin(), permutation.end());
  auto copy = permutedCopy(*this, builder, operands, permutation);
  copy.setDim(llvm::find(permutation, int64_t(getDim())) - permutation.begin());
  return copy;
}

template <class OpTy>
static Operation *permuteReduction(OpTy op, OpBuilder &builder, ValueRange operands,
                                   ArrayRef<int64_t> permutation,
                                   SmallVectorImpl<int64_t> &resultPermutation) {
  ArrayRef<int64_t> reduced = op.getDims();
  SmallVector<int64_t> dims, former;
  for (auto [i, from] : llvm::enumerate(permutation)) {
    if (llvm::is_contained(reduced, from)) {
      dims.push_back(int64_t(i));
      former.push_back(from);
    }
    if (op.getKeepdim())
      resultPermutation.push_back(from);
    else if (!llvm::is_contained(reduced, from))
      resultPermutation.push_back(from -
                                  llvm::count_if(reduced, [&](int64_t dim) { return dim < from; }));
  }
  // A position among the reduced dimensions means the same only where they keep their order.
  if (op.stateSize() > 1 && !llvm::is_sorted(former))
    return nullptr;
  auto copy = permutedCopy(op, builder, operands, resultPermutation);
  copy.setDims(dims);
  return copy;
}

#define SINTER_REDUCTION(OP)                                                                       \
  Operation *OP::buildPermuted(OpBuilder &builder, ValueRange operands,                            \
                               ArrayRef<int64_t> permutation,                                      \
                               SmallVectorImpl<int64_t> &resultPermutation) {                      \
    return permuteReduction(*this, builder, operands, permutation, resultPermutation);             \
  }
SINTER_REDUCTION(SumOp)
SINTER_REDUCTION(MeanOp)
SINTER_REDUCTION(ProdOp)
SINTER_REDUCTION(MaxOp)
SINTER_REDUCTION(MinOp)
SINTER_REDUCTION(ArgmaxOp)
SINTER_REDUCTION(ArgminOp)
#undef SINTER_REDUCTION
