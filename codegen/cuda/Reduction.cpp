// Reduction groups. By which side the last dimension is on:
//
//  rows     it is reduced: neighbouring threads read neighbouring elements of one row. A row that
//           fits stays in the registers of its threads, from which all passes over it are served;
//           a longer one is read again by each pass.
//  columns  it is kept: neighbouring threads own neighbouring columns.
//
// Where what is kept gives too few blocks, the reduced space is cut into chunks (by shape) whose
// accumulators go to a temporary, and a second kernel combines them. Every grouping is fixed by
// shape, so the same bits come out whatever the device.
#include "GroupKernels.h"
#include "Threads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen::cuda {
namespace {

constexpr int64_t kRowThreads = 256;
/// Blocks that fill a large card a few times over.
constexpr int64_t kManyBlocks = 1024;

struct ReductionBuilder : GroupKernels {
  ReductionLayout layout{group};
  Dims keptSizes = layout.sizes(layout.kept), reducedSizes = layout.sizes(layout.reduced);
  AffineExpr rows = product(keptSizes, context), length = product(reducedSizes, context);
  int64_t lanes = chooseLanes();
  AffineExpr chunk = nullptr; ///< reduced elements a chunk, null: all in one

  /// Lanes in which all of the group can be computed along the last dimension.
  int64_t chooseLanes() {
    if (layout.lane < 0)
      return 1;
    for (auto &level : layout.levels)
      for (ReductionOpInterface reduction : level)
        if (!lanesPossible(reduction->getOperand(0), layout.lane))
          return 1;
    for (auto &level : layout.domainOutputs)
      for (unsigned output : level)
        if (!lanesPossible(layout.yield->getOperand(output), layout.lane))
          return 1;
    return dividingLanes(layout.domain[layout.lane], vectorWidth(group));
  }

  //===-- indices -----------------------------------------------------------------------------===//

  void setKept(ThreadKernel &k, Reducer::At &at, Value linear) {
    for (auto [dim, value] : llvm::zip(layout.kept, k.delinearize(linear, keptSizes)))
      at[dim] = {value, 0};
  }
  void setReduced(ThreadKernel &k, Reducer::At &at, Value linear) {
    for (auto [dim, value] : llvm::zip(layout.reduced, k.delinearize(linear, reducedSizes)))
      at[dim] = {value, 0};
  }

  //===-- rows --------------------------------------------------------------------------------===//

  /// Neighbouring threads that share a row, and the vectors that each of them holds of it (0: it
  /// does not fit).
  struct Share {
    int64_t threads, vectors;
  };
  Share share() const {
    constexpr int64_t kFew = 8, kMost = 24; // elements a thread
    auto size = constantSize(length);
    if (!size)
      return {kRowThreads, 0};
    int64_t vectors = llvm::divideCeil(*size, lanes), each = std::max<int64_t>(1, kFew / lanes);
    int64_t threads = int64_t(llvm::bit_ceil(uint64_t(llvm::divideCeil(vectors, each))));
    threads = std::min<int64_t>(threads, 512);
    int64_t held = llvm::divideCeil(vectors, threads);
    return held * lanes <= kMost ? Share{threads, held} : Share{kRowThreads, 0};
  }

  /// All of a row's work by the threads that share it.
  struct Row {
    ReductionBuilder &builder;
    ThreadKernel &k;
    Reducer reducer;
    Share share;
    Reducer::At at;
    Value isRow;                                          ///< null: it is one
    Value worker;                                         ///< number of this thread among the row's
    Value from = nullptr, to = nullptr;                   ///< elements of the reduced space
    SmallVector<std::pair<Reducer::At, Value>> held = {}; ///< index, whether it is in the row

    void hold() {
      auto size = constantSize(builder.length);
      for (int64_t i = 0; i < share.vectors; ++i) {
        Value vector = k.add(worker, k.index(i * share.threads));
        Value first = k.mul(vector, k.index(builder.lanes)), isInside;
        if ((i + 1) * share.threads * builder.lanes > *size) {
          isInside = k.less(first, k.index(*size));
          first = k.select(isInside, first, k.index(0));
        }
        Reducer::At here = at;
        builder.setReduced(k, here, first);
        if (builder.lanes > 1)
          here[builder.layout.lane].step = 1;
        held.push_back({here, isInside});
      }
    }

    Value guard(Value isInside) {
      if (!isRow || !isInside)
        return isRow ? isRow : isInside;
      return k.both(isRow, isInside);
    }
    void whenInside(Value isInside, function_ref<void()> body) {
      if (Value condition = guard(isInside))
        k.when(condition, body);
      else
        body();
    }

    /// The level's accumulators over the row, and its outputs written.
    Values pass(Reducer::Reductions reductions, ArrayRef<unsigned> outputs) {
      Values state;
      k.withLanes(builder.lanes, [&] {
        state = reducer.initial(reductions);
        state = share.vectors ? heldPass(reductions, outputs, state)
                              : loopPass(reductions, outputs, state);
      });
      if (builder.lanes > 1)
        state = acrossLanes(reducer, k, reductions, std::move(state), builder.lanes);
      return acrossThreads(reducer, k, reductions, std::move(state), share.threads);
    }

    Values heldPass(Reducer::Reductions reductions, ArrayRef<unsigned> outputs, Values state) {
      for (auto &[here, isInside] : held) {
        Values next = reducer.step(reductions, {}, here, state);
        for (auto [now, before] : llvm::zip(next, state))
          if (isInside)
            now = arith::SelectOp::create(k.b, k.loc, isInside, now, before);
        state = next;
        if (!outputs.empty())
          whenInside(isInside, [&] { reducer.writeDomain(outputs, here); });
      }
      return state;
    }

    Values loopPass(Reducer::Reductions reductions, ArrayRef<unsigned> outputs, Values state) {
      Value first = k.add(from, k.mul(worker, k.index(builder.lanes)));
      return k.loop(first, to, share.threads * builder.lanes, state,
                    [&](Value i, ValueRange carried) {
                      Reducer::At here = at;
                      builder.setReduced(k, here, i);
                      if (builder.lanes > 1)
                        here[builder.layout.lane].step = 1;
                      Values next = reducer.step(reductions, {}, here, carried);
                      if (!outputs.empty())
                        whenInside(nullptr, [&] { reducer.writeDomain(outputs, here); });
                      return next;
                    });
    }
  };

  /// Row `number` of `count`, shared by `share.threads` of this block's threads.
  Row row(ThreadKernel &k, Share share, Value number, AffineExpr count, unsigned firstOutput) {
    Reducer reducer{layout, k, firstOutput};
    Row row{
        *this, k, reducer, share, reducer.start(), nullptr, k.remainder(k.thread(), share.threads)};
    int64_t together = k.threads() / share.threads;
    if (together > 1 && !count.isMultipleOf(together)) {
      row.isRow = k.less(number, k.dim(count));
      number = k.select(row.isRow, number, k.index(0));
    }
    setKept(k, row.at, number);
    return row;
  }

  /// All of the group in one kernel.
  void rowsInOne() {
    Share share = this->share();
    int64_t threads = std::max(share.threads, kRowThreads), together = threads / share.threads;
    ThreadKernel k = start("", rows.ceilDiv(together), threads, {}, results());
    Value number =
        k.add(k.mul(k.block(), k.index(together)), k.quotient(k.thread(), share.threads));
    Row row = this->row(k, share, number, rows, inputs);
    row.from = k.index(0);
    row.to = k.dim(length);
    row.hold();
    for (auto [i, level] : llvm::enumerate(layout.levels)) {
      Values state = row.pass(level, layout.domainOutputs[i]);
      row.reducer.defineResults(level, state, /*isFirst=*/share.vectors > 0);
    }
    if (!layout.domainOutputs.back().empty())
      k.withLanes(lanes, [&] {
        if (share.vectors)
          row.heldPass({}, layout.domainOutputs.back(), {});
        else
          row.loopPass({}, layout.domainOutputs.back(), {});
      });
    writeRow(k, row);
    k.finish();
  }

  void writeRow(ThreadKernel &k, Row &row) {
    if (layout.reducedOutputs.empty())
      return;
    Value isFirst = k.less(row.worker, k.index(1));
    k.when(row.isRow ? k.both(row.isRow, isFirst) : isFirst,
           [&] { row.reducer.writeReduced(row.at); });
  }

  //===-- chunks ------------------------------------------------------------------------------===//

  /// Cuts the reduced space where what is kept gives too few blocks.
  void chooseChunks(int64_t rowsTogether) {
    constexpr int64_t kFewest = 4096, kMostChunks = 512;
    if (!layout.isCuttable())
      return;
    int64_t blocks = std::max<int64_t>(1, estimatedElements(keptSizes) / rowsTogether);
    int64_t size = estimatedElements(reducedSizes);
    int64_t wanted = std::min(kMostChunks, kManyBlocks / blocks);
    int64_t extent =
        llvm::alignTo(std::max(llvm::divideCeil(size, std::max<int64_t>(1, wanted)),
                               llvm::divideCeil(kFewest, uint64_t(layout.rows ? 1 : rowsTogether))),
                      64);
    if (wanted > 1 && extent < size)
      chunk = constantDim(extent, context);
  }
  AffineExpr chunks() const { return simplify(length.ceilDiv(chunk)); }

  /// Temporaries for the accumulators of chunks: [chunks, kept] each.
  SmallVector<Type> makeTemporaries() {
    SmallVector<Type> types;
    for (ReductionOpInterface reduction : layout.levels[0]) {
      types.push_back(computeType(elementType(reduction->getOperand(0))));
      if (reduction.stateSize() > 1)
        types.push_back(IntegerType::get(context, 64));
    }
    for (Type type : types)
      code.temporaries.push_back(tensorType({chunks(), rows}, type));
    return types;
  }
  SmallVector<unsigned> temporaries() const {
    unsigned first = inputs + outputs;
    return llvm::to_vector(llvm::seq<unsigned>(first, first + unsigned(code.temporaries.size())));
  }
  void save(ThreadKernel &k, unsigned first, ValueRange state, Value position) {
    for (auto [i, value] : llvm::enumerate(state)) {
      if (value.getType().isInteger(1))
        value = arith::ExtUIOp::create(k.b, k.loc, k.b.getI8Type(), value);
      k.storeRaw(first + unsigned(i), value, position);
    }
  }
  Values saved(ThreadKernel &k, unsigned first, ArrayRef<Type> types, Value position) {
    Values state;
    for (auto [i, type] : llvm::enumerate(types)) {
      Value value = k.loadRaw(first + unsigned(i), storageType(type), position);
      if (type.isInteger(1))
        value = arith::TruncIOp::create(k.b, k.loc, type, value);
      state.push_back(value);
    }
    return state;
  }

  /// Rows style: a block reduces a chunk of a row.
  void rowsInChunks() {
    SmallVector<Type> types = makeTemporaries();
    SmallVector<unsigned> written = outputsOfLevel();
    unsigned partial = inputs + unsigned(written.size());
    llvm::append_range(written, temporaries());
    ThreadKernel k = start("_partial", chunks() * rows, kRowThreads, {}, written);
    SmallVector<Value> parts = k.delinearize(k.block(), {chunks(), rows});
    Row row = this->row(k, {kRowThreads, 0}, parts[1], rows, inputs);
    row.from = k.mul(parts[0], k.dim(chunk));
    row.to = k.minimum(k.add(row.from, k.dim(chunk)), k.dim(length));
    Values state = row.pass(layout.levels[0], layout.domainOutputs[0]);
    k.when(k.less(k.thread(), k.index(1)), [&] { save(k, partial, state, k.block()); });
    k.finish();
    combine(types, kRowThreads);
  }

  /// The group's own results stay operands of the partial kernel where the pass writes some.
  SmallVector<unsigned> outputsOfLevel() const {
    return layout.domainOutputs[0].empty() ? SmallVector<unsigned>() : results();
  }

  /// Combines the chunks' accumulators: `width` neighbouring threads own as many rows... one
  /// thread a chunk of each.
  void combine(ArrayRef<Type> types, int64_t threads) {
    AffineExpr chunkCount = chunks();
    SmallVector<unsigned> read = temporaries();
    // A warp reads neighbouring results of one chunk, where there are so many.
    int64_t width = std::min<int64_t>(
        kWarp, int64_t(llvm::bit_floor(uint64_t(std::max<int64_t>(1, estimatedElements({rows}))))));
    ThreadKernel k = start("_combine", rows.ceilDiv(width), threads, read, results());
    Reducer reducer{layout, k, inputs + unsigned(read.size())};
    Reducer::Reductions level = layout.levels[0];
    Value column = k.add(k.mul(k.block(), k.index(width)), k.remainder(k.thread(), width));
    Value isInside = k.less(column, k.dim(rows)), safe = k.select(isInside, column, k.index(0));
    Values state =
        k.loop(k.quotient(k.thread(), width), k.dim(chunkCount), threads / width,
               reducer.initial(level), [&](Value chunk, ValueRange carried) {
                 Value position = k.add(k.mul(chunk, k.dim(rows)), safe);
                 return reducer.combine(level, carried, saved(k, inputs, types, position));
               });
    state = acrossRows(reducer, k, level, std::move(state), width);
    Value isWriter = k.both(isInside, k.less(k.thread(), k.index(width)));
    k.when(isWriter, [&] {
      reducer.defineResults(level, state);
      Reducer::At at = reducer.start();
      setKept(k, at, column);
      reducer.writeReduced(at);
    });
    k.finish();
  }

  //===-- columns -----------------------------------------------------------------------------===//

  /// Columns style: a tile of neighbouring columns a block, its threads in rows above each other.
  void columns(int64_t width) {
    bool cut = chunk != nullptr;
    SmallVector<Type> types;
    SmallVector<unsigned> written = results();
    unsigned partial = 0;
    if (cut) {
      types = makeTemporaries();
      written = outputsOfLevel();
      partial = inputs + unsigned(written.size());
      llvm::append_range(written, temporaries());
    }
    AffineExpr tiles = simplify(rows.ceilDiv(width * lanes));
    AffineExpr count = cut ? chunks() : constantDim(1, context);
    ThreadKernel k = start(cut ? "_partial" : "", count * tiles, kRowThreads, {}, written);
    Reducer reducer{layout, k, inputs};
    Reducer::Reductions level = layout.levels[0];
    SmallVector<Value> parts = k.delinearize(k.block(), {count, tiles});
    Value lane = k.remainder(k.thread(), width);
    Value column = k.mul(k.add(k.mul(parts[1], k.index(width)), lane), k.index(lanes));
    Value isInside = k.less(column, k.dim(rows)), safe = k.select(isInside, column, k.index(0));
    Value from = k.index(0), to = k.dim(length);
    if (cut) {
      from = k.mul(parts[0], k.dim(chunk));
      to = k.minimum(k.add(from, k.dim(chunk)), to);
    }
    Reducer::At at = reducer.start();
    setKept(k, at, safe);
    if (lanes > 1)
      at[layout.lane].step = 1;
    Values state;
    k.withLanes(lanes, [&] {
      state =
          k.loop(k.add(from, k.quotient(k.thread(), width)), to, kRowThreads / width,
                 reducer.initial(level), [&](Value i, ValueRange carried) {
                   Reducer::At here = at;
                   setReduced(k, here, i);
                   Values next = reducer.step(level, {}, here, carried);
                   if (!layout.domainOutputs[0].empty())
                     k.when(isInside, [&] { reducer.writeDomain(layout.domainOutputs[0], here); });
                   return next;
                 });
    });
    finishColumns(
        k, reducer, state, width,
        [&](Value own, ValueRange sums) {
          Value position = k.add(column, own);
          if (cut)
            return save(k, partial, sums, k.add(k.mul(parts[0], k.dim(rows)), position));
          reducer.defineResults(level, sums);
          Reducer::At one = reducer.start();
          setKept(k, one, position);
          reducer.writeReduced(one);
        },
        isInside);
    k.finish();
    if (cut)
      combine(types, kRowThreads);
  }

  /// Combines each lane's accumulators over the block and hands them on, in the threads of the
  /// first row.
  void finishColumns(ThreadKernel &k, Reducer &reducer, ValueRange state, int64_t width,
                     function_ref<void(Value, ValueRange)> use, Value isInside) {
    Reducer::Reductions level = layout.levels[0];
    Value isWriter = k.both(isInside, k.less(k.thread(), k.index(width)));
    for (int64_t lane = 0; lane < lanes; ++lane) {
      Values scalars;
      for (Value value : state)
        scalars.push_back(lanes > 1 ? k.extract(value, lane) : value);
      scalars = acrossRows(reducer, k, level, std::move(scalars), width);
      k.when(isWriter, [&] { use(k.index(lane), scalars); });
    }
  }
};

} // namespace

GroupCode emitReduction(ModuleOp module, GroupOp group, StringRef name, const Target &target) {
  ReductionBuilder builder{{module, group, name.str(), target}};
  if (builder.layout.rows) {
    builder.chooseChunks(1);
    if (builder.chunk)
      builder.rowsInChunks();
    else
      builder.rowsInOne();
  } else {
    int64_t vectors = std::max<int64_t>(
        1, estimatedElements({builder.layout.domain[builder.layout.lane]}) / builder.lanes);
    int64_t width = std::min(kWarp, int64_t(llvm::bit_floor(uint64_t(vectors))));
    builder.chooseChunks(width * builder.lanes);
    builder.columns(width);
  }
  return std::move(builder.code);
}

} // namespace sinter::codegen::cuda
