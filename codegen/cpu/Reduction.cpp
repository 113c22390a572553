// Reduction groups. Two styles, by which side the last dimension is on:
//
//  rows     it is reduced: lanes accumulate neighbouring elements of a row and are combined at the end. Passes over the row
//           follow one another while it is in cache: one a level of dependent reductions, one for what needs them all.
//  columns  it is kept: lanes are neighbouring columns, accumulators stay in registers while rows stream by.
//
// Where what is kept gives too few tasks, the reduced space is cut into chunks (by shape, never by threads) whose partial
// accumulators go to a temporary; a second kernel combines them in order. Every grouping is fixed by shape.
#include "GroupCode.h"
#include "KernelEmitter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen {
namespace {

using Values = SmallVector<Value>;

constexpr int64_t kAccumulators = 4; ///< independent vectors a reduction, to cover the adder's latency

struct Layout {
  Operation *yield;
  MLIRContext *context;
  Dims domain;
  SmallVector<int64_t> kept, reduced; ///< dimension numbers, ascending
  int64_t lane = -1;                  ///< last dimension larger than 1 (-1: none)
  bool rows = false;                  ///< the lane dimension is reduced
  SmallVector<SmallVector<ReductionOpInterface>> levels;
  SmallVector<unsigned> reducedOutputs;
  SmallVector<SmallVector<unsigned>> domainOutputs; ///< by the number of levels they need
  int64_t chunk = 0;                                ///< extent of `chunkDim` a task reduces; 0: all of it
  int64_t chunkDim = -1;

  explicit Layout(GroupOp group);
  Dims sizes(ArrayRef<int64_t> dims) const {
    Dims result;
    for (int64_t dim : dims)
      result.push_back(domain[dim]);
    return result;
  }
  AffineExpr chunks() const {
    return chunk ? simplify(domain[chunkDim].ceilDiv(chunk)) : constantDim(1, context);
  }
};

Layout::Layout(GroupOp group) : yield(group.getBody().front().getTerminator()), context(group.getContext()) {
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
  for (auto [i, size] : llvm::enumerate(domain)) {
    if (!llvm::is_contained(reduced, int64_t(i)))
      kept.push_back(int64_t(i));
    if (!isOne(size))
      lane = int64_t(i);
  }
  rows = lane < 0 || llvm::is_contained(reduced, lane);

  bool single = levels.size() == 1 && domainOutputs[1].empty();
  constexpr int64_t kManyTasks = 8, kMostChunks = 64;
  int64_t grain = grainElements(group), work = estimate(domain), rest = estimate(sizes(kept));
  int64_t tasks = rows ? rest : std::max<int64_t>(1, rest / 64);
  if (single && tasks < kManyTasks && work > 2 * grain) {
    for (int64_t dim : llvm::reverse(reduced)) // the outermost that is larger than 1
      if (!isOne(domain[dim]))
        chunkDim = dim;
    int64_t extent = estimate({domain[chunkDim]}), perIndex = std::max<int64_t>(1, work / std::max<int64_t>(1, extent));
    chunk = std::max<int64_t>({1, int64_t(llvm::divideCeil(extent, kMostChunks)), grain / perIndex});
    if (auto size = constantSize(domain[chunkDim]); size && chunk >= *size)
      chunk = 0;
  }
}

struct ReductionEmitter {
  const Layout &layout;
  KernelEmitter &k;
  const TargetInfo &target;
  unsigned firstOutput;

  //===-- indices -----------------------------------------------------------------------------------------------------------===//

  SmallVector<Index> start() { return SmallVector<Index>(layout.domain.size(), k.at(0)); }

  /// Index into a tensor that has the kept dimensions (and any of size 1), from the index in the domain.
  SmallVector<Index> keptIndex(Value tensor, ArrayRef<Index> at) {
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
  Value position(ArrayRef<Index> at) {
    Value linear = k.index(0);
    int64_t step = 0;
    for (int64_t dim : layout.reduced) {
      linear = k.add(k.mul(linear, k.dim(layout.domain[dim])), at[dim].base);
      step = isOne(layout.domain[dim]) ? step : at[dim].step;
    }
    return k.asInteger({linear, step});
  }

  //===-- accumulators ------------------------------------------------------------------------------------------------------===//

  Type accumulatorType(ReductionOpInterface reduction) {
    return k.laneType(computeType(elementType(reduction->getOperand(0))));
  }
  Values initial(ArrayRef<ReductionOpInterface> reductions) {
    Values state;
    for (ReductionOpInterface reduction : reductions)
      llvm::append_range(state, reduction.initial(k.b, k.loc, accumulatorType(reduction)));
    return state;
  }
  /// `state` combined with the elements at `at`; also writes the domain outputs of this pass.
  Values step(ArrayRef<ReductionOpInterface> reductions, ArrayRef<unsigned> outputs, ArrayRef<Index> at, ValueRange state) {
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
  Values combine(ArrayRef<ReductionOpInterface> reductions, ValueRange a, ValueRange b) {
    Values result;
    for (ReductionOpInterface reduction : reductions) {
      unsigned size = reduction.stateSize(), from = unsigned(result.size());
      llvm::append_range(result, reduction.combine(k.b, k.loc, a.slice(from, size), b.slice(from, size)));
    }
    return result;
  }
  void defineResults(ArrayRef<ReductionOpInterface> reductions, ValueRange state) {
    Value count = k.dim(product(layout.sizes(layout.reduced), layout.context));
    unsigned from = 0;
    for (ReductionOpInterface reduction : reductions) {
      unsigned size = reduction.stateSize();
      k.define(reduction->getResult(0), reduction.finish(k.b, k.loc, state.slice(from, size), count));
      from += size;
    }
  }
  void writeDomain(ArrayRef<unsigned> outputs, ArrayRef<Index> at) {
    Values values;
    for (unsigned output : outputs)
      values.push_back(k.valueAt(layout.yield->getOperand(output), at));
    for (auto [output, value] : llvm::zip(outputs, values))
      k.store(firstOutput + output, layout.yield->getOperand(output), at, value);
  }
  void writeReduced(ArrayRef<Index> at) {
    for (unsigned output : layout.reducedOutputs) {
      Value tensor = layout.yield->getOperand(output);
      SmallVector<Index> index = keptIndex(tensor, at);
      k.store(firstOutput + output, tensor, index, k.valueAt(tensor, index));
    }
  }

  //===-- loops -------------------------------------------------------------------------------------------------------------===//

  using Body = function_ref<Values(SmallVector<Index> &, ValueRange)>;
  /// Loops over `dims` of the domain, the chunked one over [from, to), carrying `state`.
  Values nest(ArrayRef<int64_t> dims, SmallVector<Index> &at, Value from, Value to, ValueRange state, Body body) {
    if (dims.empty())
      return body(at, state);
    int64_t dim = dims.front();
    bool chunked = dim == layout.chunkDim && layout.chunk;
    return k.loop(chunked ? from : k.index(0), chunked ? to : k.dim(layout.domain[dim]), 1, state, [&](Value i, ValueRange carried) {
      at[dim] = {i, 0};
      return nest(dims.drop_front(), at, from, to, carried, body);
    });
  }

  /// One pass over the reduced space at the kept index in `at`, rows style: combined scalars of `reductions`.
  Values rowPass(ArrayRef<ReductionOpInterface> reductions, ArrayRef<unsigned> outputs, SmallVector<Index> at, Value from, Value to) {
    SmallVector<int64_t> outer;
    for (int64_t dim : layout.reduced)
      if (dim != layout.lane)
        outer.push_back(dim);
    if (layout.lane < 0)
      return nest(outer, at, from, to, initial(reductions),
                  [&](SmallVector<Index> &at, ValueRange state) { return step(reductions, outputs, at, state); });
    bool possible = true;
    for (ReductionOpInterface reduction : reductions)
      possible &= lanesPossible(reduction->getOperand(0), layout.lane);
    for (unsigned output : outputs)
      possible &= lanesPossible(layout.yield->getOperand(output), layout.lane);
    AffineExpr length = layout.domain[layout.lane];
    int64_t lanes = possible ? lanesFor(length, target) : 1;
    auto size = constantSize(length);
    int64_t unroll = reductions.empty() || lanes == 1 || (size && *size < 2 * lanes) ? 1 : kAccumulators;

    Values state; // `unroll` vector accumulators, then (with vectors) a scalar one
    size_t one = 0;
    k.withLanes(lanes, [&] {
      for (int64_t u = 0; u < unroll; ++u)
        llvm::append_range(state, initial(reductions));
      one = state.size() / unroll;
    });
    if (lanes > 1)
      llvm::append_range(state, initial(reductions));
    bool chunked = layout.lane == layout.chunkDim && layout.chunk;
    Value low = chunked ? from : k.index(0), high = chunked ? to : k.dim(length);
    state = nest(outer, at, from, to, state, [&](SmallVector<Index> &at, ValueRange carried) {
      Values now(carried);
      auto advance = [&](Value begin, Value end, int64_t width, int64_t vectors, size_t first) {
        int64_t stride = width * vectors;
        Value stop = k.add(begin, k.mul(k.wholeLanes(k.sub(end, begin), stride), k.index(stride)));
        ValueRange all(now);
        Values some(all.slice(first, one * vectors));
        some = k.loop(begin, stop, stride, some, [&](Value i, ValueRange state) {
          Values next;
          for (int64_t v = 0; v < vectors; ++v) {
            at[layout.lane] = {k.add(i, k.index(v * width)), width > 1 ? 1 : 0};
            k.withLanes(width, [&] { llvm::append_range(next, step(reductions, outputs, at, state.slice(v * one, one))); });
          }
          return next;
        });
        llvm::copy(some, now.begin() + first);
        return stop;
      };
      Value done = low;
      if (lanes > 1) {
        if (unroll > 1)
          done = advance(done, high, lanes, unroll, 0);
        done = advance(done, high, lanes, 1, 0);
        advance(done, high, 1, 1, one * unroll);
      } else {
        advance(done, high, 1, 1, 0);
      }
      return now;
    });
    if (lanes == 1 || one == 0)
      return Values(ValueRange(state).take_front(one));
    Values result;
    k.withLanes(lanes, [&] {
      for (int64_t live = unroll; live > 1; live /= 2)
        for (int64_t u = 0; u < live / 2; ++u) {
          Values sum = combine(reductions, ValueRange(state).slice(u * one, one), ValueRange(state).slice((u + live / 2) * one, one));
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
          return vector::ExtractStridedSliceOp::create(k.b, k.loc, vector, ArrayRef<int64_t>{offset}, ArrayRef<int64_t>{width}, ArrayRef<int64_t>{1});
        };
        lower.push_back(half(0));
        upper.push_back(half(width));
      }
      vectors = combine(reductions, lower, upper);
    }
    return combine(reductions, vectors, ValueRange(state).take_back(one));
  }

  /// Columns [column, column + lanes * vectors) of one pass, columns style; `use` gets the index and state of each vector.
  void columnPass(SmallVector<Index> at, Value column, int64_t lanes, int64_t vectors, Value from, Value to,
                  function_ref<void(ArrayRef<Index>, ValueRange)> use) {
    ArrayRef<ReductionOpInterface> reductions = layout.levels[0];
    k.withLanes(lanes, [&] {
      auto place = [&](SmallVector<Index> &at, int64_t v) {
        at[layout.lane] = {k.add(column, k.index(v * lanes)), lanes > 1 ? 1 : 0};
      };
      Values state;
      for (int64_t v = 0; v < vectors; ++v)
        llvm::append_range(state, initial(reductions));
      size_t one = state.size() / vectors;
      state = nest(layout.reduced, at, from, to, state, [&](SmallVector<Index> &at, ValueRange carried) {
        Values next;
        for (int64_t v = 0; v < vectors; ++v) {
          place(at, v);
          llvm::append_range(next, step(reductions, layout.domainOutputs[0], at, carried.slice(v * one, one)));
        }
        return next;
      });
      for (int64_t v = 0; v < vectors; ++v) {
        place(at, v);
        use(at, ValueRange(state).slice(v * one, one));
      }
    });
  }

  /// Runs `body(column, lanes, vectors)` over the columns [from, to): tiles of several vectors, single vectors, single columns.
  void columns(Value from, Value to, function_ref<void(Value, int64_t, int64_t)> body) {
    AffineExpr length = layout.domain[layout.lane];
    bool possible = true;
    for (ReductionOpInterface reduction : layout.levels[0])
      possible &= lanesPossible(reduction->getOperand(0), layout.lane);
    for (unsigned output : layout.domainOutputs[0])
      possible &= lanesPossible(layout.yield->getOperand(output), layout.lane);
    int64_t lanes = possible ? lanesFor(length, target) : 1;
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
};

/// Columns a task takes when what is kept is cut along the lane dimension.
constexpr int64_t kColumnTile = 64;

struct ReductionBuilder {
  ModuleOp module;
  GroupOp group;
  std::string name;
  const TargetInfo &target;
  Layout layout{group};
  MLIRContext *context = group.getContext();
  GroupCode code = {};

  unsigned buffers() { return unsigned(group.getInputs().size() + group.getOutputs().size()); }

  SmallVector<Index> keptAt(KernelEmitter &k, ReductionEmitter &emitter, ArrayRef<int64_t> dims, Value linear) {
    SmallVector<Index> at = emitter.start();
    for (auto [dim, value] : llvm::zip(dims, k.delinearize(linear, layout.sizes(dims))))
      at[dim] = {value, 0};
    return at;
  }

  /// All of the group in one kernel, a task a few rows.
  void rowsInOne() {
    KernelEmitter k(module, name, group.getLoc(), group.getBody().getArguments(), unsigned(group.getOutputs().size()));
    ReductionEmitter emitter{layout, k, target, unsigned(group.getInputs().size())};
    AffineExpr rows = product(layout.sizes(layout.kept), context);
    int64_t rowElements = std::max<int64_t>(1, estimate(layout.sizes(layout.reduced)) * int64_t(layout.levels.size()));
    int64_t rowsPerTask = std::max<int64_t>(1, grainElements(group) / rowElements);
    Value last = k.minimum(k.mul(k.end(), k.index(rowsPerTask)), k.dim(rows));
    k.loop(k.mul(k.begin(), k.index(rowsPerTask)), last, 1, [&](Value row) {
      SmallVector<Index> at = keptAt(k, emitter, layout.kept, row);
      for (auto [i, level] : llvm::enumerate(layout.levels))
        emitter.defineResults(level, emitter.rowPass(level, layout.domainOutputs[i], at, nullptr, nullptr));
      if (!layout.domainOutputs.back().empty())
        emitter.rowPass({}, layout.domainOutputs.back(), at, nullptr, nullptr);
      emitter.writeReduced(at);
    });
    k.finish();
    addKernel(name, simplify(rows.ceilDiv(rowsPerTask)), allOperands(group), unsigned(group.getOutputs().size()));
  }

  void addKernel(std::string symbol, AffineExpr tasks, SmallVector<unsigned> operands, unsigned outputs) {
    code.kernels.push_back({std::move(symbol), simplify(tasks), 0, std::move(operands), outputs});
  }

  /// Temporaries for partial accumulators: [chunks, kept...] each.
  SmallVector<Type> makeTemporaries() {
    Dims dims{layout.chunks()};
    llvm::append_range(dims, layout.sizes(layout.kept));
    SmallVector<Type> types;
    for (ReductionOpInterface reduction : layout.levels[0]) {
      Type element = computeType(elementType(reduction->getOperand(0)));
      types.push_back(element);
      if (reduction.stateSize() > 1)
        types.push_back(IntegerType::get(context, 64));
    }
    for (Type type : types)
      code.temporaries.push_back(tensorType(dims, type));
    return types;
  }

  Value partialIndex(KernelEmitter &k, Value chunk, ArrayRef<Index> at) {
    Value linear = chunk;
    for (int64_t dim : layout.kept)
      linear = k.add(k.mul(linear, k.dim(layout.domain[dim])), at[dim].base);
    return linear;
  }

  /// Two kernels: partial accumulators of each chunk, then their combination.
  void inChunks() {
    SmallVector<Type> types = makeTemporaries();
    auto &level = layout.levels[0];
    unsigned outputs = unsigned(group.getOutputs().size());
    AffineExpr chunks = layout.chunks();
    SmallVector<int64_t> outer; // kept dimensions that tasks run over
    for (int64_t dim : layout.kept)
      if (layout.rows || dim != layout.lane)
        outer.push_back(dim);
    auto split = [&](KernelEmitter &k, ReductionEmitter &emitter, Value task, Value &chunk, Value &from, Value &to) {
      Dims sizes = layout.sizes(outer);
      sizes.insert(sizes.begin(), chunks);
      SmallVector<Value> parts = k.delinearize(task, sizes);
      SmallVector<Index> at = emitter.start();
      for (auto [dim, value] : llvm::zip(outer, llvm::drop_begin(parts)))
        at[dim] = {value, 0};
      chunk = parts[0];
      from = k.mul(chunk, k.index(layout.chunk));
      to = k.minimum(k.add(from, k.index(layout.chunk)), k.dim(layout.domain[layout.chunkDim]));
      return at;
    };
    {
      KernelEmitter k(module, name + "_partial", group.getLoc(), group.getBody().getArguments(), outputs + unsigned(types.size()));
      ReductionEmitter emitter{layout, k, target, unsigned(group.getInputs().size())};
      auto save = [&](Value chunk, ArrayRef<Index> at, ValueRange state) {
        for (auto [i, value] : llvm::enumerate(state))
          k.storeRaw(unsigned(buffers() + i), value, partialIndex(k, chunk, at));
      };
      k.loop(k.begin(), k.end(), 1, [&](Value task) {
        Value chunk, from, to;
        SmallVector<Index> at = split(k, emitter, task, chunk, from, to);
        if (layout.rows)
          return save(chunk, at, emitter.rowPass(level, layout.domainOutputs[0], at, from, to));
        emitter.columns(k.index(0), k.dim(layout.domain[layout.lane]), [&](Value column, int64_t lanes, int64_t vectors) {
          emitter.columnPass(at, column, lanes, vectors, from, to,
                             [&](ArrayRef<Index> at, ValueRange state) { save(chunk, at, state); });
        });
      });
      k.finish();
      SmallVector<unsigned> operands = allOperands(group);
      for (size_t i = 0; i < types.size(); ++i)
        operands.push_back(unsigned(buffers() + i));
      addKernel(name + "_partial", product(layout.sizes(outer), context) * chunks, operands, outputs + unsigned(types.size()));
    }
    KernelEmitter k(module, name + "_combine", group.getLoc(), group.getBody().getArguments(), outputs + unsigned(types.size()));
    unsigned firstPartial = unsigned(group.getInputs().size());
    ReductionEmitter emitter{layout, k, target, firstPartial + unsigned(types.size())};
    auto combineAt = [&](ArrayRef<Index> at) {
      Values state = k.loop(k.index(0), k.dim(chunks), 1, emitter.initial(level), [&](Value chunk, ValueRange carried) {
        Values partial;
        for (auto [i, type] : llvm::enumerate(types))
          partial.push_back(k.loadRaw(unsigned(firstPartial + i), k.laneType(type), partialIndex(k, chunk, at)));
        return emitter.combine(level, carried, partial);
      });
      emitter.defineResults(level, state);
      emitter.writeReduced(at);
    };
    AffineExpr tasks = product(layout.sizes(outer), context);
    k.loop(k.begin(), k.end(), 1, [&](Value task) {
      SmallVector<Index> at = keptAt(k, emitter, outer, task);
      if (layout.rows)
        return combineAt(at);
      int64_t lanes = reducedLanes();
      Value length = k.dim(layout.domain[layout.lane]);
      Value vectorEnd = k.mul(k.wholeLanes(length, lanes), k.index(lanes));
      if (lanes > 1)
        k.withLanes(lanes, [&] {
          k.loop(k.index(0), vectorEnd, lanes, [&](Value column) {
            at[layout.lane] = {column, 1};
            combineAt(at);
          });
        });
      k.loop(lanes > 1 ? vectorEnd : k.index(0), length, 1, [&](Value column) {
        at[layout.lane] = {column, 0};
        combineAt(at);
      });
    });
    k.finish();
    // The partials are read, the group's results written.
    SmallVector<unsigned> operands = llvm::to_vector(llvm::seq<unsigned>(0, firstPartial));
    llvm::append_range(operands, llvm::seq<unsigned>(buffers(), buffers() + unsigned(types.size())));
    llvm::append_range(operands, llvm::seq<unsigned>(firstPartial, buffers()));
    addKernel(name + "_combine", tasks, operands, outputs);
  }

  /// Lanes with which the reduced outputs can be computed along the lane dimension.
  int64_t reducedLanes() {
    for (unsigned output : layout.reducedOutputs) {
      Value tensor = layout.yield->getOperand(output);
      int64_t dim = -1;
      for (auto [i, size] : llvm::enumerate(dimsOf(tensor)))
        if (!isOne(size))
          dim = int64_t(i); // the last kept dimension is the lane dimension
      if (!lanesPossible(tensor, dim))
        return 1;
    }
    return lanesFor(layout.domain[layout.lane], target);
  }

  /// Columns style, every column whole in one task.
  void columnsInOne() {
    KernelEmitter k(module, name, group.getLoc(), group.getBody().getArguments(), unsigned(group.getOutputs().size()));
    ReductionEmitter emitter{layout, k, target, unsigned(group.getInputs().size())};
    SmallVector<int64_t> outer;
    llvm::copy_if(layout.kept, std::back_inserter(outer), [&](int64_t dim) { return dim != layout.lane; });
    AffineExpr length = layout.domain[layout.lane], tiles = simplify(length.ceilDiv(kColumnTile));
    Dims sizes = layout.sizes(outer);
    sizes.push_back(tiles);
    int64_t finishLanes = reducedLanes();
    k.loop(k.begin(), k.end(), 1, [&](Value task) {
      SmallVector<Value> parts = k.delinearize(task, sizes);
      SmallVector<Index> at = emitter.start();
      for (auto [dim, value] : llvm::zip(outer, parts))
        at[dim] = {value, 0};
      Value from = k.mul(parts.back(), k.index(kColumnTile));
      Value to = k.minimum(k.add(from, k.index(kColumnTile)), k.dim(length));
      emitter.columns(from, to, [&](Value column, int64_t lanes, int64_t vectors) {
        emitter.columnPass(at, column, lanes, vectors, nullptr, nullptr, [&](ArrayRef<Index> at, ValueRange state) {
          finishColumns(k, emitter, at, state, lanes, finishLanes);
        });
      });
    });
    k.finish();
    addKernel(name, product(sizes, context), allOperands(group), unsigned(group.getOutputs().size()));
  }

  void finishColumns(KernelEmitter &k, ReductionEmitter &emitter, ArrayRef<Index> at, ValueRange state, int64_t lanes, int64_t finishLanes) {
    if (lanes <= finishLanes || lanes == 1) {
      emitter.defineResults(layout.levels[0], state);
      emitter.writeReduced(at);
      return;
    }
    // What follows the reduction can't run in lanes: one column after the other.
    for (int64_t lane = 0; lane < lanes; ++lane)
      k.withLanes(1, [&] {
        Values scalars;
        for (Value vector : state)
          scalars.push_back(vector::ExtractOp::create(k.b, k.loc, vector, lane));
        SmallVector<Index> single(at);
        single[layout.lane] = {k.add(at[layout.lane].base, k.index(lane)), 0};
        emitter.defineResults(layout.levels[0], scalars);
        emitter.writeReduced(single);
      });
  }
};

} // namespace

GroupCode emitReduction(ModuleOp module, GroupOp group, StringRef name, const TargetInfo &target) {
  ReductionBuilder builder{module, group, name.str(), target};
  if (builder.layout.chunk)
    builder.inChunks();
  else if (builder.layout.rows)
    builder.rowsInOne();
  else
    builder.columnsInOne();
  return std::move(builder.code);
}

} // namespace sinter::codegen
