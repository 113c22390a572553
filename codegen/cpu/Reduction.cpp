// Reduction groups. Two styles, by which side the last dimension is on:
//
//  rows     it is reduced: lanes accumulate neighbouring elements of a row and are combined at the
//  end. Passes over the row
//           follow one another while it is in cache: one a level of dependent reductions, one for
//           what needs them all.
//  columns  it is kept: lanes are neighbouring columns, accumulators stay in registers while rows
//  stream by.
//
// Where what is kept gives too few tasks, the reduced space is cut into chunks (by shape, never by
// threads) whose partial accumulators go to a temporary; a second kernel combines them in order.
// Every grouping is fixed by shape.
#include "ReductionPasses.h"
#include "TaskKernel.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen {
namespace {

/// Columns a task takes when what is kept is cut along the lane dimension.
constexpr int64_t kColumnTile = 64;

struct ReductionBuilder {
  ModuleOp module;
  GroupOp group;
  std::string name;
  const TargetInfo &target;
  ReductionLayout layout{group};
  MLIRContext *context = group.getContext();
  GroupCode code = {};

  unsigned buffers() { return unsigned(group.getInputs().size() + group.getOutputs().size()); }

  SmallVector<Index> keptAt(TaskKernel &k, ReductionEmitter &emitter, ArrayRef<int64_t> dims,
                            Value linear) {
    SmallVector<Index> at = emitter.start();
    for (auto [dim, value] : llvm::zip(dims, k.delinearize(linear, layout.sizes(dims))))
      at[dim] = {value, 0};
    return at;
  }

  /// All of the group in one kernel, a task a few rows.
  void rowsInOne() {
    TaskKernel k(module, name, group.getLoc(), group.getBody().getArguments(),
                 unsigned(group.getOutputs().size()));
    ReductionEmitter emitter{{layout, k, unsigned(group.getInputs().size())}, target};
    AffineExpr rows = product(layout.sizes(layout.kept), context);
    int64_t rowElements = std::max<int64_t>(1, estimatedElements(layout.sizes(layout.reduced)) *
                                                   int64_t(layout.levels.size()));
    int64_t rowsPerTask = std::max<int64_t>(1, grainElements(group) / rowElements);
    Value last = k.minimum(k.mul(k.end(), k.index(rowsPerTask)), k.dim(rows));
    k.loop(k.mul(k.begin(), k.index(rowsPerTask)), last, 1, [&](Value row) {
      SmallVector<Index> at = keptAt(k, emitter, layout.kept, row);
      for (auto [i, level] : llvm::enumerate(layout.levels))
        emitter.defineResults(
            level, emitter.rowPass(level, layout.domainOutputs[i], at, nullptr, nullptr));
      if (!layout.domainOutputs.back().empty())
        emitter.rowPass({}, layout.domainOutputs.back(), at, nullptr, nullptr);
      emitter.writeReduced(at);
    });
    k.finish();
    addKernel(name, simplify(rows.ceilDiv(rowsPerTask)), allOperands(group),
              unsigned(group.getOutputs().size()));
  }

  void addKernel(std::string symbol, AffineExpr tasks, SmallVector<unsigned> operands,
                 unsigned outputs) {
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

  Value partialIndex(TaskKernel &k, Value chunk, ArrayRef<Index> at) {
    Value linear = chunk;
    for (int64_t dim : layout.kept)
      linear = k.add(k.mul(linear, k.dim(layout.domain[dim])), at[dim].base);
    return linear;
  }

  /// Kept dimensions that the tasks of chunks run over.
  SmallVector<int64_t> outerDims() {
    SmallVector<int64_t> outer;
    for (int64_t dim : layout.kept)
      if (layout.rows || dim != layout.lane)
        outer.push_back(dim);
    return outer;
  }

  /// Two kernels: partial accumulators of each chunk, then their combination.
  void inChunks() {
    SmallVector<Type> types = makeTemporaries();
    accumulateChunks(types);
    combineChunks(types);
  }

  void accumulateChunks(ArrayRef<Type> types) {
    auto &level = layout.levels[0];
    unsigned outputs = unsigned(group.getOutputs().size());
    SmallVector<int64_t> outer = outerDims();
    TaskKernel k(module, name + "_partial", group.getLoc(), group.getBody().getArguments(),
                 outputs + unsigned(types.size()));
    ReductionEmitter emitter{{layout, k, unsigned(group.getInputs().size())}, target};
    auto save = [&](Value chunk, ArrayRef<Index> at, ValueRange state) {
      for (auto [i, value] : llvm::enumerate(state))
        k.storeRaw(unsigned(buffers() + i), value, partialIndex(k, chunk, at));
    };
    Dims sizes = layout.sizes(outer);
    sizes.insert(sizes.begin(), layout.chunks());
    k.loop(k.begin(), k.end(), 1, [&](Value task) {
      SmallVector<Value> parts = k.delinearize(task, sizes);
      SmallVector<Index> at = emitter.start();
      for (auto [dim, value] : llvm::zip(outer, llvm::drop_begin(parts)))
        at[dim] = {value, 0};
      Value chunk = parts[0], from = k.mul(chunk, k.index(layout.chunk));
      Value to =
          k.minimum(k.add(from, k.index(layout.chunk)), k.dim(layout.domain[layout.chunkDim]));
      if (layout.rows)
        return save(chunk, at, emitter.rowPass(level, layout.domainOutputs[0], at, from, to));
      emitter.columns(k.index(0), k.dim(layout.domain[layout.lane]),
                      [&](Value column, int64_t lanes, int64_t vectors) {
                        emitter.columnPass(
                            at, column, lanes, vectors, from, to,
                            [&](ArrayRef<Index> at, ValueRange state) { save(chunk, at, state); });
                      });
    });
    k.finish();
    SmallVector<unsigned> operands = allOperands(group);
    for (size_t i = 0; i < types.size(); ++i)
      operands.push_back(unsigned(buffers() + i));
    addKernel(name + "_partial", product(sizes, context), operands,
              outputs + unsigned(types.size()));
  }

  void combineChunks(ArrayRef<Type> types) {
    auto &level = layout.levels[0];
    unsigned outputs = unsigned(group.getOutputs().size());
    SmallVector<int64_t> outer = outerDims();
    TaskKernel k(module, name + "_combine", group.getLoc(), group.getBody().getArguments(),
                 outputs + unsigned(types.size()));
    unsigned firstPartial = unsigned(group.getInputs().size());
    ReductionEmitter emitter{{layout, k, firstPartial + unsigned(types.size())}, target};
    auto combineAt = [&](ArrayRef<Index> at) {
      Values state =
          k.loop(k.index(0), k.dim(layout.chunks()), 1, emitter.initial(level),
                 [&](Value chunk, ValueRange carried) {
                   Values partial;
                   for (auto [i, type] : llvm::enumerate(types))
                     partial.push_back(k.loadRaw(unsigned(firstPartial + i), k.laneType(type),
                                                 partialIndex(k, chunk, at)));
                   return emitter.combine(level, carried, partial);
                 });
      emitter.defineResults(level, state);
      emitter.writeReduced(at);
    };
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
    llvm::append_range(operands,
                       llvm::seq<unsigned>(buffers(), buffers() + unsigned(types.size())));
    llvm::append_range(operands, llvm::seq<unsigned>(firstPartial, buffers()));
    addKernel(name + "_combine", product(layout.sizes(outer), context), operands, outputs);
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
    TaskKernel k(module, name, group.getLoc(), group.getBody().getArguments(),
                 unsigned(group.getOutputs().size()));
    ReductionEmitter emitter{{layout, k, unsigned(group.getInputs().size())}, target};
    SmallVector<int64_t> outer;
    llvm::copy_if(layout.kept, std::back_inserter(outer),
                  [&](int64_t dim) { return dim != layout.lane; });
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
        emitter.columnPass(at, column, lanes, vectors, nullptr, nullptr,
                           [&](ArrayRef<Index> at, ValueRange state) {
                             finishColumns(k, emitter, at, state, lanes, finishLanes);
                           });
      });
    });
    k.finish();
    addKernel(name, product(sizes, context), allOperands(group),
              unsigned(group.getOutputs().size()));
  }

  void finishColumns(TaskKernel &k, ReductionEmitter &emitter, ArrayRef<Index> at, ValueRange state,
                     int64_t lanes, int64_t finishLanes) {
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
  cutIntoChunks(builder.layout, group);
  if (builder.layout.chunk)
    builder.inChunks();
  else if (builder.layout.rows)
    builder.rowsInOne();
  else
    builder.columnsInOne();
  return std::move(builder.code);
}

} // namespace sinter::codegen
