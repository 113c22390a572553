#include "ReductionPasses.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen {

/// Independent vectors a reduction, to cover the adder's latency.
constexpr int64_t kAccumulators = 4;

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
  cutIntoChunks(group);
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

/// Cuts the reduced space where what is kept gives the threads too little to share.
void ReductionLayout::cutIntoChunks(GroupOp group) {
  bool single = levels.size() == 1 && domainOutputs[1].empty();
  constexpr int64_t kManyTasks = 8, kMostChunks = 64;
  int64_t grain = grainElements(group), work = estimatedElements(domain),
          rest = estimatedElements(sizes(kept));
  int64_t tasks = rows ? rest : std::max<int64_t>(1, rest / 64);
  if (!single || tasks >= kManyTasks || work <= 2 * grain)
    return;
  for (int64_t dim : llvm::reverse(reduced)) // the outermost that is larger than 1
    if (!isOne(domain[dim]))
      chunkDim = dim;
  int64_t extent = estimatedElements({domain[chunkDim]}),
          perIndex = std::max<int64_t>(1, work / std::max<int64_t>(1, extent));
  chunk = std::max<int64_t>({1, int64_t(llvm::divideCeil(extent, kMostChunks)), grain / perIndex});
  if (auto size = constantSize(domain[chunkDim]); size && chunk >= *size)
    chunk = 0;
}

Dims ReductionLayout::sizes(ArrayRef<int64_t> dims) const {
  Dims result;
  for (int64_t dim : dims)
    result.push_back(domain[dim]);
  return result;
}

AffineExpr ReductionLayout::chunks() const {
  return chunk ? simplify(domain[chunkDim].ceilDiv(chunk)) : constantDim(1, context);
}

//===-- indices -------------------------------------------------------------------------------===//

/// Index into a tensor that has the kept dimensions (and any of size 1), from the index in the
/// domain.
ReductionEmitter::At ReductionEmitter::keptIndex(Value tensor, ArrayRef<Index> at) {
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
Value ReductionEmitter::position(ArrayRef<Index> at) {
  Value linear = k.index(0);
  int64_t step = 0;
  for (int64_t dim : layout.reduced) {
    linear = k.add(k.mul(linear, k.dim(layout.domain[dim])), at[dim].base);
    step = isOne(layout.domain[dim]) ? step : at[dim].step;
  }
  return k.asInteger({linear, step});
}

//===-- accumulators --------------------------------------------------------------------------===//

Type ReductionEmitter::accumulatorType(ReductionOpInterface reduction) {
  return k.laneType(computeType(elementType(reduction->getOperand(0))));
}
Values ReductionEmitter::initial(Reductions reductions) {
  Values state;
  for (ReductionOpInterface reduction : reductions)
    llvm::append_range(state, reduction.initial(k.b, k.loc, accumulatorType(reduction)));
  return state;
}
/// `state` combined with the elements at `at`; also writes the domain outputs of this pass.
Values ReductionEmitter::step(Reductions reductions, ArrayRef<unsigned> outputs, ArrayRef<Index> at,
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
Values ReductionEmitter::combine(Reductions reductions, ValueRange a, ValueRange b) {
  Values result;
  for (ReductionOpInterface reduction : reductions) {
    unsigned size = reduction.stateSize(), from = unsigned(result.size());
    llvm::append_range(result,
                       reduction.combine(k.b, k.loc, a.slice(from, size), b.slice(from, size)));
  }
  return result;
}
void ReductionEmitter::defineResults(Reductions reductions, ValueRange state) {
  Value count = k.dim(product(layout.sizes(layout.reduced), layout.context));
  unsigned from = 0;
  for (ReductionOpInterface reduction : reductions) {
    unsigned size = reduction.stateSize();
    k.define(reduction->getResult(0), reduction.finish(k.b, k.loc, state.slice(from, size), count));
    from += size;
  }
}
void ReductionEmitter::writeDomain(ArrayRef<unsigned> outputs, ArrayRef<Index> at) {
  Values values;
  for (unsigned output : outputs)
    values.push_back(k.valueAt(layout.yield->getOperand(output), at));
  for (auto [output, value] : llvm::zip(outputs, values))
    k.store(firstOutput + output, layout.yield->getOperand(output), at, value);
}
void ReductionEmitter::writeReduced(ArrayRef<Index> at) {
  for (unsigned output : layout.reducedOutputs) {
    Value tensor = layout.yield->getOperand(output);
    SmallVector<Index> index = keptIndex(tensor, at);
    k.store(firstOutput + output, tensor, index, k.valueAt(tensor, index));
  }
}

//===-- loops ---------------------------------------------------------------------------------===//

/// Loops over `dims` of the domain, the chunked one over [from, to), carrying `state`.
Values ReductionEmitter::nest(ArrayRef<int64_t> dims, At &at, Value from, Value to,
                              ValueRange state, Body body) {
  if (dims.empty())
    return body(at, state);
  int64_t dim = dims.front();
  bool chunked = dim == layout.chunkDim && layout.chunk;
  return k.loop(chunked ? from : k.index(0), chunked ? to : k.dim(layout.domain[dim]), 1, state,
                [&](Value i, ValueRange carried) {
                  at[dim] = {i, 0};
                  return nest(dims.drop_front(), at, from, to, carried, body);
                });
}

/// Lanes in which all of `reductions` and `outputs` can run along the lane dimension.
int64_t ReductionEmitter::lanesOf(Reductions reductions, ArrayRef<unsigned> outputs) {
  bool possible = true;
  for (ReductionOpInterface reduction : reductions)
    possible &= lanesPossible(reduction->getOperand(0), layout.lane);
  for (unsigned output : outputs)
    possible &= lanesPossible(layout.yield->getOperand(output), layout.lane);
  return possible ? lanesFor(layout.domain[layout.lane], target) : 1;
}

/// The loops along one row: several vectors a turn, then single ones, then single elements. The
/// state they carry is `unroll` vector accumulators, then (with vectors) a scalar one.
struct ReductionEmitter::RowPass {
  ReductionEmitter &emitter;
  Reductions reductions;
  ArrayRef<unsigned> outputs;
  int64_t lanes, unroll;
  Value low, high;
  size_t one = 0; ///< values of one accumulator

  Values initial() {
    Values state;
    emitter.k.withLanes(lanes, [&] {
      for (int64_t u = 0; u < unroll; ++u)
        llvm::append_range(state, emitter.initial(reductions));
    });
    one = state.size() / unroll;
    if (lanes > 1)
      llvm::append_range(state, emitter.initial(reductions));
    return state;
  }

  Value advance(At &at, Values &now, Value begin, int64_t width, int64_t vectors, size_t first) {
    KernelEmitter &k = emitter.k;
    int64_t stride = width * vectors;
    Value stop = k.add(begin, k.mul(k.wholeLanes(k.sub(high, begin), stride), k.index(stride)));
    Values some(ValueRange(now).slice(first, one * vectors));
    some = k.loop(begin, stop, stride, some, [&](Value i, ValueRange state) {
      Values next;
      for (int64_t v = 0; v < vectors; ++v) {
        at[emitter.layout.lane] = {k.add(i, k.index(v * width)), width > 1 ? 1 : 0};
        k.withLanes(width, [&] {
          llvm::append_range(next,
                             emitter.step(reductions, outputs, at, state.slice(v * one, one)));
        });
      }
      return next;
    });
    llvm::copy(some, now.begin() + first);
    return stop;
  }

  Values row(At &at, ValueRange carried) {
    Values now(carried);
    Value done = low;
    if (lanes > 1 && unroll > 1)
      done = advance(at, now, done, lanes, unroll, 0);
    if (lanes > 1)
      done = advance(at, now, done, lanes, 1, 0);
    advance(at, now, done, 1, 1, lanes > 1 ? one * unroll : 0);
    return now;
  }
};

Values ReductionEmitter::rowPass(Reductions reductions, ArrayRef<unsigned> outputs, At at,
                                 Value from, Value to) {
  SmallVector<int64_t> outer;
  for (int64_t dim : layout.reduced)
    if (dim != layout.lane)
      outer.push_back(dim);
  if (layout.lane < 0)
    return nest(outer, at, from, to, initial(reductions),
                [&](At &at, ValueRange state) { return step(reductions, outputs, at, state); });
  AffineExpr length = layout.domain[layout.lane];
  int64_t lanes = lanesOf(reductions, outputs);
  auto size = constantSize(length);
  bool isShort = reductions.empty() || lanes == 1 || (size && *size < 2 * lanes);
  bool chunked = layout.lane == layout.chunkDim && layout.chunk;
  RowPass pass{*this,
               reductions,
               outputs,
               lanes,
               isShort ? 1 : kAccumulators,
               chunked ? from : k.index(0),
               chunked ? to : k.dim(length)};
  Values state = pass.initial();
  state = nest(outer, at, from, to, state,
               [&](At &at, ValueRange carried) { return pass.row(at, carried); });
  if (lanes == 1 || pass.one == 0)
    return Values(ValueRange(state).take_front(pass.one));
  return foldLanes(reductions, std::move(state), pass.one, lanes, pass.unroll);
}

/// Combines the accumulators of a row pass into one of scalars, always in the same order.
Values ReductionEmitter::foldLanes(Reductions reductions, Values state, size_t one, int64_t lanes,
                                   int64_t unroll) {
  k.withLanes(lanes, [&] {
    for (int64_t live = unroll; live > 1; live /= 2)
      for (int64_t u = 0; u < live / 2; ++u) {
        Values sum = combine(reductions, ValueRange(state).slice(u * one, one),
                             ValueRange(state).slice((u + live / 2) * one, one));
        llvm::copy(sum, state.begin() + u * one);
      }
  });
  Values vectors(ValueRange(state).take_front(one));
  for (int64_t width = lanes / 2; width >= 1; width /= 2) {
    Values lower, upper;
    for (Value vector : vectors) {
      auto half = [&](int64_t offset) -> Value {
        if (width == 1)
          return vector::ExtractOp::create(k.b, k.loc, vector, offset);
        return vector::ExtractStridedSliceOp::create(k.b, k.loc, vector, ArrayRef<int64_t>{offset},
                                                     ArrayRef<int64_t>{width},
                                                     ArrayRef<int64_t>{1});
      };
      lower.push_back(half(0));
      upper.push_back(half(width));
    }
    vectors = combine(reductions, lower, upper);
  }
  return combine(reductions, vectors, ValueRange(state).take_back(one));
}

void ReductionEmitter::columnPass(At at, Value column, int64_t lanes, int64_t vectors, Value from,
                                  Value to, function_ref<void(ArrayRef<Index>, ValueRange)> use) {
  Reductions reductions = layout.levels[0];
  k.withLanes(lanes, [&] {
    auto place = [&](At &at, int64_t v) {
      at[layout.lane] = {k.add(column, k.index(v * lanes)), lanes > 1 ? 1 : 0};
    };
    Values state;
    for (int64_t v = 0; v < vectors; ++v)
      llvm::append_range(state, initial(reductions));
    size_t one = state.size() / vectors;
    state = nest(layout.reduced, at, from, to, state, [&](At &at, ValueRange carried) {
      Values next;
      for (int64_t v = 0; v < vectors; ++v) {
        place(at, v);
        llvm::append_range(
            next, step(reductions, layout.domainOutputs[0], at, carried.slice(v * one, one)));
      }
      return next;
    });
    for (int64_t v = 0; v < vectors; ++v) {
      place(at, v);
      use(at, ValueRange(state).slice(v * one, one));
    }
  });
}

void ReductionEmitter::columns(Value from, Value to,
                               function_ref<void(Value, int64_t, int64_t)> body) {
  AffineExpr length = layout.domain[layout.lane];
  int64_t lanes = lanesOf(layout.levels[0], layout.domainOutputs[0]);
  Value done = from;
  auto advance = [&](int64_t width, int64_t vectors) {
    int64_t stride = width * vectors;
    Value stop = k.add(done, k.mul(k.wholeLanes(k.sub(to, done), stride), k.index(stride)));
    k.loop(done, stop, stride, [&](Value column) { body(column, width, vectors); });
    done = stop;
  };
  auto size = constantSize(length);
  if (lanes > 1 && (!size || *size >= 2 * lanes))
    advance(lanes, kAccumulators);
  if (lanes > 1)
    advance(lanes, 1);
  advance(1, 1);
}

} // namespace sinter::codegen
