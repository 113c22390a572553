// Scatters: a thread owns one element of the result and looks through the whole index, in order, so
// that sums are reproducible.
#include "GroupKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen::cuda {
namespace {

constexpr int64_t kScatterThreads = 256;

SmallVector<Index> asIndices(ValueRange values) {
  return llvm::map_to_vector(values, [](Value value) { return Index{value, 0}; });
}

/// Whether an element of an index tensor is `place`, an index.
Value isAt(ThreadKernel &k, Value position, Value place) {
  Type type = position.getType();
  Value wanted = arith::IndexCastOp::create(k.b, k.loc, type, place);
  return arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::eq, position, wanted);
}

/// sum + value in the result's own precision where `condition` holds.
Value addIf(ThreadKernel &k, Value result, Value condition, Value sum, Value value) {
  ScalarExpr next = ScalarExpr{k.b, k.loc, sum} + ScalarExpr{k.b, k.loc, value};
  return k.select(condition, k.rounded(next.value, elementType(result)), sum);
}

Value embeddingGrad(ThreadKernel &k, EmbeddingGradOp op, ArrayRef<Value> place) {
  Value result = op->getResult(0);
  Dims indexDims = dimsOf(op.getIndex());
  return k
      .loop(k.index(0), k.dim(product(indexDims, op->getContext())), 1,
            ValueRange{k.number(0, elementType(result))},
            [&](Value i, ValueRange carried) {
              SmallVector<Index> at = asIndices(k.delinearize(i, indexDims));
              Value isHere = isAt(k, k.valueAt(op.getIndex(), at), place[0]);
              at.push_back({place[1], 0});
              return SmallVector<Value>{
                  addIf(k, result, isHere, carried[0], k.valueAt(op.getDy(), at))};
            })
      .front();
}

Value scatterAdd(ThreadKernel &k, ScatterAddOp op, ArrayRef<Value> place) {
  Value result = op->getResult(0), own = k.valueAt(op.getX(), asIndices(place));
  int64_t dim = op.getDim();
  Dims sourceDims = dimsOf(op.getSrc());
  // The source may be smaller than the result in the other dimensions.
  Value isInside = arith::ConstantIntOp::create(k.b, k.loc, 1, 1);
  for (auto [i, size] : llvm::enumerate(sourceDims))
    if (int64_t(i) != dim)
      isInside = k.both(isInside, k.less(place[i], k.dim(size)));
  Value count = k.select(isInside, k.dim(sourceDims[dim]), k.index(0));
  SmallVector<Value> from(place);
  return k
      .loop(k.index(0), count, 1, ValueRange{own},
            [&](Value i, ValueRange carried) {
              from[dim] = i;
              SmallVector<Index> at = asIndices(from);
              Value isHere = isAt(k, k.valueAt(op.getIndex(), at), place[dim]);
              return SmallVector<Value>{
                  addIf(k, result, isHere, carried[0], k.valueAt(op.getSrc(), at))};
            })
      .front();
}

} // namespace

GroupCode emitScatter(ModuleOp module, GroupOp group, StringRef name, const Target &target) {
  GroupKernels kernels{module, group, name.str(), target};
  Operation *op = &group.getBody().front().front();
  Value result = op->getResult(0);
  Dims dims = dimsOf(result);
  AffineExpr total = product(dims, kernels.context);
  ThreadKernel k =
      kernels.start("", total.ceilDiv(kScatterThreads), kScatterThreads, {}, kernels.results());
  Value element = k.add(k.mul(k.block(), k.index(kScatterThreads)), k.thread());
  k.when(k.less(element, k.dim(total)), [&] {
    SmallVector<Value> place = k.delinearize(element, dims);
    auto embedding = dyn_cast<EmbeddingGradOp>(op);
    Value value = embedding ? embeddingGrad(k, embedding, place)
                            : scatterAdd(k, cast<ScatterAddOp>(op), place);
    k.store(unsigned(group.getInputs().size()), result, asIndices(place), value);
  });
  k.finish();
  return std::move(kernels.code);
}

} // namespace sinter::codegen::cuda
