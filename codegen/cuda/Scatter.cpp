// Scatters. As a rule sums are in the order of the index, and so reproducible: embedding_grad has a
// file of its own; for scatter_add, whose index has an element for each of the source, a thread
// owns one element of the result and looks through its column of the index. Where order does not
// matter, a thread owns one element of the source and adds it where it belongs, by an atomic
// operation.
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

/// Whether memory adds to elements of this type by itself.
bool hasAtomicAdd(Type element) {
  return element.isF32() || element.isF64() || element.isInteger(32) || element.isInteger(64);
}

/// What is added where: the source's dimensions, and for an element of it the place and the value.
struct Addition {
  Dims source;
  std::function<std::pair<SmallVector<Value>, Value>(ThreadKernel &, ArrayRef<Value>)> at;
  int64_t dim; ///< of the result, that the position is along
};

Addition additionOf(Operation *op) {
  if (auto embedding = dyn_cast<EmbeddingGradOp>(op))
    return {dimsOf(embedding.getDy()),
            [embedding](ThreadKernel &k, ArrayRef<Value> from) mutable {
              Value position = k.valueAt(embedding.getIndex(), asIndices(from.drop_back()));
              return std::pair(SmallVector<Value>{position, from.back()},
                               k.valueAt(embedding.getDy(), asIndices(from)));
            },
            0};
  auto scatter = cast<ScatterAddOp>(op);
  int64_t dim = scatter.getDim();
  return {dimsOf(scatter.getSrc()),
          [scatter, dim](ThreadKernel &k, ArrayRef<Value> from) mutable {
            SmallVector<Value> place(from);
            place[dim] = k.valueAt(scatter.getIndex(), asIndices(from));
            return std::pair(place, k.valueAt(scatter.getSrc(), asIndices(from)));
          },
          dim};
}

/// The group's one thread an element of a space of `dims`.
void forEach(ThreadKernel &k, const Dims &dims, AffineExpr total,
             function_ref<void(ArrayRef<Value>)> body) {
  Value element = k.add(k.mul(k.block(), k.index(kScatterThreads)), k.thread());
  k.when(k.less(element, k.dim(total)), [&] { body(k.delinearize(element, dims)); });
  k.finish();
}

void emitByAtomics(GroupKernels &kernels, Operation *op) {
  Value result = op->getResult(0);
  unsigned output = kernels.inputs;
  Dims dims = dimsOf(result);
  AffineExpr total = product(dims, kernels.context);
  ThreadKernel start = kernels.start("_start", total.ceilDiv(kScatterThreads), kScatterThreads, {},
                                     kernels.results());
  forEach(start, dims, total, [&](ArrayRef<Value> place) {
    auto scatter = dyn_cast<ScatterAddOp>(op);
    start.store(output, result, asIndices(place),
                scatter ? start.valueAt(scatter.getX(), asIndices(place))
                        : start.number(0, elementType(result)));
  });
  Addition addition = additionOf(op);
  AffineExpr sources = product(addition.source, kernels.context);
  ThreadKernel add = kernels.start("_add", sources.ceilDiv(kScatterThreads), kScatterThreads, {},
                                   kernels.results());
  forEach(add, addition.source, sources, [&](ArrayRef<Value> from) {
    auto [place, value] = addition.at(add, from);
    Value &position = place[addition.dim];
    position = arith::IndexCastOp::create(add.b, add.loc, add.b.getIndexType(), position);
    Value isNegative = add.less(position, add.index(0));
    Value isInside =
        add.both(add.inverse(isNegative), add.less(position, add.dim(dims[addition.dim])));
    add.when(isInside, [&] { add.atomicAdd(output, result, asIndices(place), value); });
  });
}

void emitInOrder(GroupKernels &kernels, ScatterAddOp op) {
  Value result = op->getResult(0);
  Dims dims = dimsOf(result);
  AffineExpr total = product(dims, kernels.context);
  ThreadKernel k =
      kernels.start("", total.ceilDiv(kScatterThreads), kScatterThreads, {}, kernels.results());
  forEach(k, dims, total, [&](ArrayRef<Value> place) {
    k.store(kernels.inputs, result, asIndices(place), scatterAdd(k, op, place));
  });
}

} // namespace

GroupCode emitScatter(ModuleOp module, GroupOp group, StringRef name, const Target &target) {
  GroupKernels kernels{module, group, name.str(), target};
  Operation *op = &group.getBody().front().front();
  if (!target.deterministic && hasAtomicAdd(elementType(op->getResult(0))))
    emitByAtomics(kernels, op);
  else if (auto scatter = dyn_cast<ScatterAddOp>(op))
    emitInOrder(kernels, scatter);
  else
    emitEmbeddingGrad(kernels, op);
  return std::move(kernels.code);
}

} // namespace sinter::codegen::cuda
