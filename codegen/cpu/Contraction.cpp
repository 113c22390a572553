// Generated contractions: what the vendor library lacks (f64, integers), what is too small to be
// worth a library call, and everything with --vendor=none.
//
// C[b, m, n] = sum over k of A[b, m, k] B[b, k, n], where A and B are index maps over the op's
// operands (a convolution's patches are never written out as a whole). Up to three kernels:
//
//  pack     copies B once into panels of `tile.columns` columns, depth by depth.
//  multiply a task owns a block of rows and columns. For each slice of the depth it copies its rows
//           of A into panels of `tile.rows` rows in scratch, then multiplies panels: a tile of C
//           stays in registers over the slice. At last the epilogue runs over the finished block.
//  combine  where the blocks are too few for the threads, the depth is cut into chunks too; this
//           adds their partial blocks in order and runs the epilogue.
//
// All cuts follow from shapes alone, so sums are grouped alike whatever the threads.
#include "Emitters.h"
#include "TaskKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen {
namespace {

/// A size, at most `limit` where it is known to be smaller.
int64_t atMost(AffineExpr size, int64_t limit) {
  return std::max<int64_t>(1, std::min(limit, constantSize(size).value_or(limit)));
}

/// How the product is cut.
struct Tiling {
  ContractionSizes sizes;
  int64_t lanes;
  struct {
    int64_t rows, columns;
  } tile, block;     ///< of registers; of a task
  int64_t depth;     ///< of a packed slice
  int64_t chunk = 0; ///< depth of a chunk, a multiple of `depth`; 0: the depth is not cut

  Tiling(const ContractionSizes &sizes, const TargetInfo &target)
      : sizes(sizes), lanes(target.lanes) {
    // 6 rows of 2 vectors: 12 accumulators, 2 vectors of B and 1 of A fill 16 registers.
    constexpr int64_t kRows = 6, kDepth = 256, kBlockRows = 96, kBlockColumns = 512;
    tile.rows = atMost(sizes.m, kRows);
    tile.columns = atMost(sizes.n, lanes + 1) <= lanes ? lanes : 2 * lanes;
    depth = atMost(sizes.k, kDepth);
    block.rows = llvm::alignTo(atMost(sizes.m, kBlockRows), tile.rows);
    block.columns = llvm::alignTo(atMost(sizes.n, kBlockColumns), tile.columns);
    constexpr int64_t kManyTasks = 8, kLittleWork = 1 << 16;
    int64_t work = estimatedElements({sizes.batch, sizes.m, sizes.n, sizes.k});
    auto tasks = [&] {
      return int64_t(estimatedElements({sizes.batch}) *
                     llvm::divideCeil(estimatedElements({sizes.m}), block.rows) *
                     llvm::divideCeil(estimatedElements({sizes.n}), block.columns));
    };
    while (tasks() < kManyTasks && work > kLittleWork && block.rows > 4 * tile.rows)
      block.rows = llvm::alignTo(block.rows / 2, tile.rows);
    int64_t wanted = llvm::divideCeil(kManyTasks, std::max<int64_t>(1, tasks()));
    int64_t deep = estimatedElements({sizes.k});
    if (wanted > 1 && work > kLittleWork && deep >= 4 * depth)
      chunk = llvm::alignTo(std::max<int64_t>(deep / wanted, 2 * depth), depth);
  }

  AffineExpr panels() const { return simplify(sizes.n.ceilDiv(tile.columns)); }
  AffineExpr rowBlocks() const { return simplify(sizes.m.ceilDiv(block.rows)); }
  AffineExpr columnBlocks() const { return simplify(sizes.n.ceilDiv(block.columns)); }
  AffineExpr chunks() const {
    return chunk ? simplify(sizes.k.ceilDiv(chunk)) : constantDim(1, sizes.k.getContext());
  }
  int64_t vectors() const { return tile.columns / lanes; }
};

struct ContractionEmitter {
  ModuleOp module;
  GroupOp group;
  std::string name;
  ContractionOpInterface contraction;
  const Tiling &tiling;
  Type type = computeType(elementType(contraction->getResult(0)));
  MLIRContext *context = group.getContext();
  unsigned inputs = unsigned(group.getInputs().size()),
           outputs = unsigned(group.getOutputs().size());
  Operation *yield = group.getBody().front().getTerminator();
  GroupCode code = {};

  //===-- memory ------------------------------------------------------------------------------===//

  int64_t elementBytes() const { return std::max(1u, type.getIntOrFloatBitWidth() / 8); }

  Value loadAt(TaskKernel &k, Value base, int64_t lanes, Value linear) {
    Type loaded = lanes > 1 ? Type(VectorType::get({lanes}, type)) : type;
    return LLVM::LoadOp::create(k.b, k.loc, loaded, k.pointerAt(base, type, linear),
                                unsigned(elementBytes()));
  }
  void storeAt(TaskKernel &k, Value base, Value value, Value linear) {
    LLVM::StoreOp::create(k.b, k.loc, value, k.pointerAt(base, type, linear),
                          unsigned(elementBytes()));
  }
  Value zero(TaskKernel &k, int64_t lanes) {
    Value result;
    k.withLanes(lanes, [&] { result = k.number(0, type); });
    return result;
  }
  Value multiplyAdd(TaskKernel &k, Value a, Value b, Value sum) {
    if (isa<FloatType>(type))
      return math::FmaOp::create(k.b, k.loc, a, b, sum);
    return arith::AddIOp::create(k.b, k.loc, arith::MulIOp::create(k.b, k.loc, a, b), sum);
  }

  /// Starts a kernel over the group's inputs, the temporaries `read` and the buffers `written`.
  TaskKernel start(StringRef suffix, AffineExpr tasks, int64_t scratchBytes,
                   ArrayRef<unsigned> read, ArrayRef<unsigned> written) {
    SmallVector<unsigned> operands = llvm::to_vector(llvm::seq<unsigned>(0, inputs));
    llvm::append_range(operands, read);
    llvm::append_range(operands, written);
    code.kernels.push_back(
        {name + suffix.str(), simplify(tasks), scratchBytes, operands, unsigned(written.size())});
    return TaskKernel(module, name + suffix.str(), group.getLoc(), group.getBody().getArguments(),
                      unsigned(read.size() + written.size()));
  }
  unsigned addTemporary(Dims dims) {
    code.temporaries.push_back(tensorType(dims, type));
    return inputs + outputs + unsigned(code.temporaries.size()) - 1;
  }
  SmallVector<unsigned> results() const {
    return llvm::to_vector(llvm::seq<unsigned>(inputs, inputs + outputs));
  }

  //===-- pack --------------------------------------------------------------------------------===//

  /// B[batch, panel, k, column]; columns past the end are zero.
  unsigned pack() {
    const ContractionSizes &s = tiling.sizes;
    unsigned packed =
        addTemporary({s.batch, tiling.panels(), s.k, constantDim(tiling.tile.columns, context)});
    AffineExpr slices = simplify(s.k.ceilDiv(tiling.depth));
    TaskKernel k =
        start("_pack", s.batch * tiling.panels() * slices, 0, ArrayRef<unsigned>{}, {packed});
    k.loop(k.begin(), k.end(), 1, [&](Value task) {
      SmallVector<Value> at = k.delinearize(task, {s.batch, tiling.panels(), slices});
      Value panel = k.add(k.mul(at[0], k.dim(tiling.panels())), at[1]);
      Value firstColumn = k.mul(at[1], k.index(tiling.tile.columns));
      Value columns = k.minimum(k.sub(k.dim(s.n), firstColumn), k.index(tiling.tile.columns));
      Value from = k.mul(at[2], k.index(tiling.depth)),
            to = k.minimum(k.add(from, k.index(tiling.depth)), k.dim(s.k));
      k.loop(from, to, 1, [&](Value depth) {
        Value row = k.mul(k.add(k.mul(panel, k.dim(s.k)), depth), k.index(tiling.tile.columns));
        k.loop(k.index(0), columns, 1, [&](Value j) {
          k.storeRaw(inputs, k.factor(contraction, 1, at[0], depth, k.add(firstColumn, j)),
                     k.add(row, j));
        });
        k.loop(columns, k.index(tiling.tile.columns), 1,
               [&](Value j) { k.storeRaw(inputs, zero(k, 1), k.add(row, j)); });
      });
    });
    k.finish();
    return packed;
  }

  //===-- multiply ----------------------------------------------------------------------------===//

  /// A task's place: its batch, its first row and column, how many of each, its scratch.
  struct Block {
    Value batch, chunk, firstRow, firstColumn, rows, columns;
    Value sums, panels; ///< scratch: C[block.rows, block.columns], A[panel, k, row]
  };

  int64_t sumElements() const { return tiling.block.rows * tiling.block.columns; }

  void multiply(unsigned packed) {
    const ContractionSizes &s = tiling.sizes;
    int64_t scratch = (sumElements() + tiling.block.rows * tiling.depth) * elementBytes();
    AffineExpr tasks = tiling.chunks() * s.batch * tiling.rowBlocks() * tiling.columnBlocks();
    SmallVector<unsigned> written = results();
    if (tiling.chunk)
      written = {addTemporary({tiling.chunks(), s.batch, s.m, s.n})};
    unsigned partial = written.front();
    TaskKernel k = start(tiling.chunk ? "_partial" : "", tasks, scratch, {packed}, written);
    k.loop(k.begin(), k.end(), 1, [&](Value task) {
      Block block = blockOf(k, task);
      k.loop(k.index(0), k.index(sumElements()), tiling.lanes,
             [&](Value i) { storeAt(k, block.sums, zero(k, tiling.lanes), i); });
      Value from = k.mul(block.chunk, k.index(tiling.chunk)), to = k.dim(s.k);
      if (tiling.chunk)
        to = k.minimum(to, k.add(from, k.index(tiling.chunk)));
      k.loop(from, to, tiling.depth, [&](Value first) {
        Value depth = k.minimum(k.sub(to, first), k.index(tiling.depth));
        packRows(k, block, first, depth);
        multiplyPanels(k, block, first, depth);
      });
      eachElement(k, block, [&](Value row, Value column, Value sum) {
        Value atRow = k.add(block.firstRow, row), atColumn = k.add(block.firstColumn, column);
        if (!tiling.chunk)
          return finish(k, block.batch, atRow, atColumn, sum, inputs + 1);
        Value batch = k.add(k.mul(block.chunk, k.dim(s.batch)), block.batch);
        Value linear = k.add(k.mul(batch, k.dim(s.m)), atRow);
        k.storeRaw(inputs + 1, sum, k.add(k.mul(linear, k.dim(s.n)), atColumn));
      });
    });
    k.finish();
    if (tiling.chunk)
      combine(partial);
  }

  Block blockOf(TaskKernel &k, Value task) {
    const ContractionSizes &s = tiling.sizes;
    SmallVector<Value> at =
        k.delinearize(task, {tiling.chunks(), s.batch, tiling.rowBlocks(), tiling.columnBlocks()});
    Block block;
    block.chunk = at[0], block.batch = at[1];
    block.firstRow = k.mul(at[2], k.index(tiling.block.rows));
    block.firstColumn = k.mul(at[3], k.index(tiling.block.columns));
    block.rows = k.minimum(k.sub(k.dim(s.m), block.firstRow), k.index(tiling.block.rows));
    block.columns = k.minimum(k.sub(k.dim(s.n), block.firstColumn), k.index(tiling.block.columns));
    block.sums = k.scratch();
    block.panels = k.pointerAt(k.scratch(), type, k.index(sumElements()));
    return block;
  }

  /// The block's rows of A at depths [first, first + depth), panel by panel; rows past the end are
  /// zero.
  void packRows(TaskKernel &k, const Block &block, Value first, Value depth) {
    int64_t rows = tiling.tile.rows;
    auto place = [&](Value panel, Value row, Value i) {
      Value start = k.mul(panel, k.index(rows * tiling.depth));
      return k.add(start, k.add(k.mul(i, k.index(rows)), row));
    };
    k.loop(k.index(0), block.rows, rows, [&](Value firstRow) {
      Value panel = k.wholeLanes(firstRow, rows);
      Value inside = k.minimum(k.sub(block.rows, firstRow), k.index(rows));
      k.loop(k.index(0), inside, 1, [&](Value row) {
        Value atRow = k.add(block.firstRow, k.add(firstRow, row));
        k.loop(k.index(0), depth, 1, [&](Value i) {
          Value element = k.factor(contraction, 0, block.batch, atRow, k.add(first, i));
          storeAt(k, block.panels, element, place(panel, row, i));
        });
      });
      k.loop(inside, k.index(rows), 1, [&](Value row) {
        k.loop(k.index(0), depth, 1,
               [&](Value i) { storeAt(k, block.panels, zero(k, 1), place(panel, row, i)); });
      });
    });
  }

  /// Adds the product of the packed rows and columns to the block's sums.
  void multiplyPanels(TaskKernel &k, const Block &block, Value first, Value depth) {
    const ContractionSizes &s = tiling.sizes;
    int64_t rows = tiling.tile.rows, columns = tiling.tile.columns;
    Value panelsBefore =
        k.add(k.mul(block.batch, k.dim(tiling.panels())), k.wholeLanes(block.firstColumn, columns));
    k.loop(k.index(0), block.columns, columns, [&](Value column) {
      Value panel = k.add(panelsBefore, k.wholeLanes(column, columns));
      Value right = k.mul(k.add(k.mul(panel, k.dim(s.k)), first), k.index(columns));
      k.loop(k.index(0), block.rows, rows, [&](Value row) {
        Value left = k.mul(k.wholeLanes(row, rows), k.index(rows * tiling.depth));
        multiplyTile(k, block, row, column, left, right, depth);
      });
    });
  }

  /// One tile of C in registers over a slice of the depth; `left` and `right` are the places of
  /// its packed operands.
  void multiplyTile(TaskKernel &k, const Block &block, Value row, Value column, Value left,
                    Value right, Value depth) {
    int64_t rows = tiling.tile.rows, vectors = tiling.vectors(), lanes = tiling.lanes;
    auto sumAt = [&](int64_t r, int64_t v) {
      Value line = k.mul(k.add(row, k.index(r)), k.index(tiling.block.columns));
      return k.add(line, k.add(column, k.index(v * lanes)));
    };
    SmallVector<Value> sums;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        sums.push_back(loadAt(k, block.sums, lanes, sumAt(r, v)));
    sums = k.loop(k.index(0), depth, 1, sums, [&](Value i, ValueRange carried) {
      Value aAt = k.add(left, k.mul(i, k.index(rows)));
      Value bAt = k.add(right, k.mul(i, k.index(tiling.tile.columns)));
      SmallVector<Value> b, next;
      for (int64_t v = 0; v < vectors; ++v)
        b.push_back(
            k.loadRaw(inputs, VectorType::get({lanes}, type), k.add(bAt, k.index(v * lanes))));
      for (int64_t r = 0; r < rows; ++r) {
        Value a = vector::BroadcastOp::create(k.b, k.loc, VectorType::get({lanes}, type),
                                              loadAt(k, block.panels, 1, k.add(aAt, k.index(r))));
        for (int64_t v = 0; v < vectors; ++v)
          next.push_back(multiplyAdd(k, a, b[v], carried[r * vectors + v]));
      }
      return next;
    });
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        storeAt(k, block.sums, sums[r * vectors + v], sumAt(r, v));
  }

  //===-- results -----------------------------------------------------------------------------===//

  /// `use(row, column, sum)` for each element of the block, in vectors where results allow.
  void eachElement(TaskKernel &k, const Block &block, function_ref<void(Value, Value, Value)> use) {
    k.loop(k.index(0), block.rows, 1, [&](Value row) {
      eachColumn(k, block.columns, [&](Value column) {
        Value line = k.mul(row, k.index(tiling.block.columns));
        use(row, column, loadAt(k, block.sums, k.lanes(), k.add(line, column)));
      });
    });
  }
  void eachColumn(TaskKernel &k, Value columns, function_ref<void(Value)> use) {
    Value done = k.index(0);
    if (int64_t lanes = tiling.lanes; resultsTakeLanes(k)) {
      done = k.mul(k.wholeLanes(columns, lanes), k.index(lanes));
      k.withLanes(lanes, [&] { k.loop(k.index(0), done, lanes, use); });
    }
    k.loop(done, columns, 1, use);
  }
  /// Whether neighbouring columns of C are neighbours in the results, and the epilogue can be
  /// computed for them together.
  bool resultsTakeLanes(TaskKernel &k) {
    Value column = k.begin(); // any value that is no constant
    SmallVector<Value> at = contraction.resultIndices(k.index(0), k.index(0), column, k);
    return at.back() == column && llvm::all_of(yield->getOperands(), [&](Value output) {
             return lanesPossible(output, int64_t(at.size()) - 1);
           });
  }

  /// Runs the epilogue for the finished sum at (batch, row, column).
  void finish(TaskKernel &k, Value batch, Value row, Value column, Value sum,
              unsigned firstOutput) {
    k.define(contraction->getResult(0), sum);
    SmallVector<Index> at;
    for (Value index : contraction.resultIndices(batch, row, column, k))
      at.push_back({index, 0});
    if (k.lanes() > 1)
      at.back().step = 1;
    SmallVector<Value> values;
    for (Value output : yield->getOperands())
      values.push_back(k.valueAt(output, at));
    for (auto [i, value] : llvm::enumerate(values))
      k.store(firstOutput + unsigned(i), yield->getOperand(i), at, value);
  }

  void combine(unsigned partial) {
    const ContractionSizes &s = tiling.sizes;
    TaskKernel k = start("_combine", s.batch * s.m, 0, {partial}, results());
    k.loop(k.begin(), k.end(), 1, [&](Value task) {
      SmallVector<Value> place = k.delinearize(task, {s.batch, s.m});
      eachColumn(k, k.dim(s.n), [&](Value column) {
        Type loaded = k.laneType(type);
        SmallVector<Value> sum =
            k.loop(k.index(0), k.dim(tiling.chunks()), 1, ValueRange{k.number(0, type)},
                   [&](Value chunk, ValueRange carried) {
                     Value rows = k.mul(k.dim(s.batch), k.dim(s.m));
                     Value line = k.add(k.mul(chunk, rows), task);
                     Value part = k.loadRaw(inputs, loaded, k.add(k.mul(line, k.dim(s.n)), column));
                     return SmallVector<Value>{
                         (ScalarExpr{k.b, k.loc, carried[0]} + ScalarExpr{k.b, k.loc, part}).value};
                   });
        finish(k, place[0], place[1], column, sum[0], inputs + 1);
      });
    });
    k.finish();
  }
};

} // namespace

GroupCode emitContraction(ModuleOp module, GroupOp group, StringRef name,
                          const TargetInfo &target) {
  ContractionOpInterface contraction;
  for (Operation &op : group.getBody().front())
    if (auto found = dyn_cast<ContractionOpInterface>(op))
      contraction = found;
  Tiling tiling(contraction.contractionSizes(), target);
  ContractionEmitter emitter{module, group, name.str(), contraction, tiling};
  emitter.multiply(emitter.pack());
  return std::move(emitter.code);
}

} // namespace sinter::codegen
