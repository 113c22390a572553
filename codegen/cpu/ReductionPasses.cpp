#include "ReductionPasses.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen {

/// Independent vectors a reduction, to cover the adder's latency.
constexpr int64_t kAccumulators = 4;

void cutIntoChunks(ReductionLayout &layout, GroupOp group) {
  constexpr int64_t kManyTasks = 8, kMostChunks = 64;
  int64_t grain = grainElements(group), work = estimatedElements(layout.domain),
          rest = estimatedElements(layout.sizes(layout.kept));
  int64_t tasks = layout.rows ? rest : std::max<int64_t>(1, rest / 64);
  if (!layout.isCuttable() || tasks >= kManyTasks || work <= 2 * grain)
    return;
  layout.chunkDim = layout.outermostReduced();
  int64_t extent = estimatedElements({layout.domain[layout.chunkDim]}),
          perIndex = std::max<int64_t>(1, work / std::max<int64_t>(1, extent));
  layout.chunk =
      std::max<int64_t>({1, int64_t(llvm::divideCeil(extent, kMostChunks)), grain / perIndex});
  if (auto size = constantSize(layout.domain[layout.chunkDim]); size && layout.chunk >= *size)
    layout.chunk = 0;
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
