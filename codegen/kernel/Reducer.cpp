#include "Reducer.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen {

ReductionLayout::ReductionLayout(GroupOp group)
    : yield(group.getBody().front().getTerminator()), context(group.getContext()) {
  classify(group);
  for (auto [i, size] : llvm::enumerate(domain)) {
    if (!llvm::is_contained(reduced, int64_t(i)))
      kept.push_back(int64_t(i));
    if (!isOne(size))
      lane = int64_t(i);
  }
  rows = lane < 0 || llvm::is_contained(reduced, lane);
}

/// Finds the levels of reductions and what each output waits for.
void ReductionLayout::classify(GroupOp group) {
  DenseMap<Value, size_t> depth;
  for (Operation &op : group.getBody().front().without_terminator()) {
    size_t needs = 0;
    for (Value operand : op.getOperands())
      needs = std::max(needs, depth.lookup(operand));
    if (auto reduction = dyn_cast<ReductionOpInterface>(op)) {
      domain = dimsOf(op.getOperand(0));
      reduced = llvm::to_vector(reduction.reducedDims());
      levels.resize(std::max(levels.size(), needs + 1));
      levels[needs].push_back(reduction);
      ++needs;
    }
    depth[op.getResult(0)] = needs;
  }
  domainOutputs.resize(levels.size() + 1);
  for (auto [i, value] : llvm::enumerate(yield->getOperands())) {
    if (dimsOf(value) == domain && !value.getDefiningOp<ReductionOpInterface>())
      domainOutputs[depth.lookup(value)].push_back(unsigned(i));
    else
      reducedOutputs.push_back(unsigned(i));
  }
}

Dims ReductionLayout::sizes(ArrayRef<int64_t> dims) const {
  Dims result;
  for (int64_t dim : dims)
    result.push_back(domain[dim]);
  return result;
}

int64_t ReductionLayout::outermostReduced() const {
  int64_t outermost = -1;
  for (int64_t dim : llvm::reverse(reduced))
    if (!isOne(domain[dim]))
      outermost = dim;
  return outermost;
}

AffineExpr ReductionLayout::chunks() const {
  return chunk ? simplify(domain[chunkDim].ceilDiv(chunk)) : constantDim(1, context);
}

//===-- indices -------------------------------------------------------------------------------===//

/// Index into a tensor that has the kept dimensions (and any of size 1), from the index in the
/// domain.
Reducer::At Reducer::keptIndex(Value tensor, ArrayRef<Index> at) {
  SmallVector<Index> result;
  SmallVector<int64_t> remaining;
  for (int64_t dim : layout.kept)
    if (!isOne(layout.domain[dim]))
      remaining.push_back(dim);
  size_t next = 0;
  for (AffineExpr size : dimsOf(tensor))
    result.push_back(isOne(size) || next == remaining.size() ? k.at(0) : at[remaining[next++]]);
  return result;
}

/// Linear position among the reduced dimensions, in every lane, for argmax.
Value Reducer::position(ArrayRef<Index> at) {
  Value linear = k.index(0);
  int64_t step = 0;
  for (int64_t dim : layout.reduced) {
    linear = k.add(k.mul(linear, k.dim(layout.domain[dim])), at[dim].base);
    step = isOne(layout.domain[dim]) ? step : at[dim].step;
  }
  return k.asInteger({linear, step});
}

//===-- accumulators --------------------------------------------------------------------------===//

Type Reducer::accumulatorType(ReductionOpInterface reduction) {
  return k.laneType(computeType(elementType(reduction->getOperand(0))));
}
Values Reducer::initial(Reductions reductions) {
  Values state;
  for (ReductionOpInterface reduction : reductions)
    llvm::append_range(state, reduction.initial(k.b, k.loc, accumulatorType(reduction)));
  return state;
}
Values Reducer::step(Reductions reductions, ArrayRef<unsigned> outputs, ArrayRef<Index> at,
                     ValueRange state) {
  Values next;
  for (ReductionOpInterface reduction : reductions) {
    unsigned size = reduction.stateSize();
    Value element = k.valueAt(reduction->getOperand(0), at);
    Values lifted = reduction.lift(k.b, k.loc, element, size > 1 ? position(at) : Value());
    llvm::append_range(next, reduction.combine(k.b, k.loc, state.slice(next.size(), size), lifted));
  }
  writeDomain(outputs, at);
  return next;
}
Values Reducer::combine(Reductions reductions, ValueRange a, ValueRange b) {
  Values result;
  for (ReductionOpInterface reduction : reductions) {
    unsigned size = reduction.stateSize(), from = unsigned(result.size());
    llvm::append_range(result,
                       reduction.combine(k.b, k.loc, a.slice(from, size), b.slice(from, size)));
  }
  return result;
}
void Reducer::defineResults(Reductions reductions, ValueRange state, bool isFirst) {
  Value count = k.dim(product(layout.sizes(layout.reduced), layout.context));
  unsigned from = 0;
  for (ReductionOpInterface reduction : reductions) {
    unsigned size = reduction.stateSize();
    Value result = reduction.finish(k.b, k.loc, state.slice(from, size), count);
    if (isFirst)
      k.defineFirst(reduction->getResult(0), result);
    else
      k.define(reduction->getResult(0), result);
    from += size;
  }
}
void Reducer::writeDomain(ArrayRef<unsigned> outputs, ArrayRef<Index> at) {
  Values values;
  for (unsigned output : outputs)
    values.push_back(k.valueAt(layout.yield->getOperand(output), at));
  for (auto [output, value] : llvm::zip(outputs, values))
    k.store(firstOutput + output, layout.yield->getOperand(output), at, value);
}
void Reducer::writeReduced(ArrayRef<Index> at) {
  for (unsigned output : layout.reducedOutputs) {
    Value tensor = layout.yield->getOperand(output);
    SmallVector<Index> index = keptIndex(tensor, at);
    k.store(firstOutput + output, tensor, index, k.valueAt(tensor, index));
  }
}

} // namespace sinter::codegen
