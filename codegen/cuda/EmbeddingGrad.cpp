// The gradient of an embedding table, summed in the order of the index. A block owns some rows of
// the table, and some columns of those. Its threads look through the index together, a tile at a
// time, and list the positions that are in its rows, in order. Then each walks the list for its own
// column and rows, with sums in shared memory.
#include "GroupKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen::cuda {
namespace {

constexpr int64_t kThreads = 256, kWarp = 32;
constexpr int64_t kSums = 4096; ///< elements of the table that a block owns

/// How a block's threads lie over its part of the table: `columns` beside each other, and
/// kThreads / columns of them take turns at the rows.
struct Shape {
  int64_t columns, rows, turns;
};
Shape shapeFor(AffineExpr width) {
  auto known = dyn_cast<AffineConstantExpr>(width);
  int64_t columns =
      known ? std::clamp<int64_t>(int64_t(llvm::PowerOf2Ceil(uint64_t(known.getValue()))), 1,
                                  kThreads)
            : kThreads;
  return {columns, kSums / columns, kThreads / columns};
}

class EmbeddingGradKernel {
public:
  EmbeddingGradKernel(ThreadKernel &k, EmbeddingGradOp op, Shape shape, unsigned output)
      : k(k), op(op), result(op->getResult(0)), dims(dimsOf(result)), shape(shape), output(output),
        zero(k.number(0, elementType(result))) {}

  void emit() {
    Dims parts = {dims[0].ceilDiv(shape.rows), dims[1].ceilDiv(shape.columns)};
    SmallVector<Value> part = k.delinearize(k.block(), parts);
    firstRow = k.mul(part[0], k.index(shape.rows));
    turn = k.quotient(k.thread(), shape.columns);
    ownColumn = k.remainder(k.thread(), shape.columns);
    column = k.add(k.mul(part[1], k.index(shape.columns)), ownColumn);
    isInside = k.less(column, k.dim(dims[1]));
    sums = k.shared(zero.getType(), kSums);
    listedRows = k.shared(k.b.getI32Type(), kThreads);
    listedSources = k.shared(k.b.getI32Type(), kThreads);
    warpCounts = k.shared(k.b.getI32Type(), kThreads / kWarp);
    eachOwnRow([&](Value row) { k.storeShared(sums, zero, placeOf(row)); });
    Value count = k.dim(product(dimsOf(op.getIndex()), op->getContext()));
    k.loop(k.index(0), count, kThreads, [&](Value first) { addAll(first, list(first, count)); });
    eachOwnRow([&](Value own) {
      Value row = k.add(firstRow, own);
      k.when(k.both(isInside, k.less(row, k.dim(dims[0]))), [&] {
        Value sum = k.loadShared(sums, zero.getType(), placeOf(own));
        k.store(output, result, {{row, 0}, {column, 0}}, sum);
      });
    });
    k.finish();
  }

private:
  /// The block's rows that this thread adds to.
  void eachOwnRow(function_ref<void(Value)> body) {
    k.loop(k.index(0), k.index(shape.rows), shape.turns,
           [&](Value first) { body(k.add(first, turn)); });
  }
  Value placeOf(Value row) { return k.add(k.mul(row, k.index(shape.columns)), ownColumn); }

  Value word(int64_t value) { return arith::ConstantIntOp::create(k.b, k.loc, value, 32); }
  Value asWord(Value index) {
    return arith::IndexCastOp::create(k.b, k.loc, k.b.getI32Type(), index);
  }
  Value asIndex(Value number) {
    return arith::IndexCastOp::create(k.b, k.loc, k.b.getIndexType(), number);
  }
  Value countOnes(Value bits) { return LLVM::CtPopOp::create(k.b, k.loc, bits.getType(), bits); }

  /// Lists those of the positions [first, first + kThreads) that are in the block's rows; returns
  /// how many they are. All threads are behind a barrier afterwards.
  Value list(Value first, Value count) {
    Value source = k.add(first, k.thread()), isThere = k.less(source, count);
    Value safe = k.select(isThere, source, k.index(0));
    SmallVector<Index> at;
    for (Value index : k.delinearize(safe, dimsOf(op.getIndex())))
      at.push_back({index, 0});
    Value row = k.sub(asIndex(k.valueAt(op.getIndex(), at)), firstRow);
    Value isBefore = k.less(row, k.index(0)), isWithin = k.less(row, k.index(shape.rows));
    Value isListed = k.both(isThere, k.both(k.inverse(isBefore), isWithin));

    Value found = k.ballot(isListed);
    Value warp = k.quotient(k.thread(), kWarp), lane = k.remainder(k.thread(), kWarp);
    k.when(k.less(lane, k.index(1)), [&] { k.storeShared(warpCounts, countOnes(found), warp); });
    k.barrier();
    Value before = word(0), all = word(0);
    for (int64_t other = 0; other < kThreads / kWarp; ++other) {
      Value counted = k.loadShared(warpCounts, k.b.getI32Type(), k.index(other));
      Value isEarlier = k.less(k.index(other), warp);
      before = arith::AddIOp::create(k.b, k.loc, before, k.select(isEarlier, counted, word(0)));
      all = arith::AddIOp::create(k.b, k.loc, all, counted);
    }
    Value bit = arith::ShLIOp::create(k.b, k.loc, word(1), asWord(lane));
    Value earlierLanes = arith::SubIOp::create(k.b, k.loc, bit, word(1));
    Value earlier = countOnes(arith::AndIOp::create(k.b, k.loc, found, earlierLanes));
    k.when(isListed, [&] {
      Value place = asIndex(arith::AddIOp::create(k.b, k.loc, before, earlier));
      k.storeShared(listedRows, asWord(row), place);
      k.storeShared(listedSources, asWord(k.thread()), place);
    });
    k.barrier();
    return asIndex(all);
  }

  /// Adds what is listed of the positions from `first` on to this thread's sums.
  void addAll(Value first, Value count) {
    k.loop(k.index(0), count, 1, [&](Value entry) {
      Value row = asIndex(k.loadShared(listedRows, k.b.getI32Type(), entry));
      Value isOwn = arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::eq,
                                          k.remainder(row, shape.turns), turn);
      k.when(k.both(isOwn, isInside), [&] {
        Value listed = asIndex(k.loadShared(listedSources, k.b.getI32Type(), entry));
        SmallVector<Index> at;
        for (Value index : k.delinearize(k.add(first, listed), dimsOf(op.getIndex())))
          at.push_back({index, 0});
        at.push_back({column, 0});
        Value place = placeOf(row), sum = k.loadShared(sums, zero.getType(), place);
        ScalarExpr next =
            ScalarExpr{k.b, k.loc, sum} + ScalarExpr{k.b, k.loc, k.valueAt(op.getDy(), at)};
        k.storeShared(sums, k.rounded(next.value, elementType(result)), place);
      });
    });
  }

  ThreadKernel &k;
  EmbeddingGradOp op;
  Value result;
  Dims dims;
  Shape shape;
  unsigned output;
  Value zero;
  Value firstRow, turn;              ///< of the block; of the thread
  Value ownColumn, column, isInside; ///< in the block; in the table, and whether there is one
  Value sums, listedRows, listedSources, warpCounts; ///< shared
};

} // namespace

void emitEmbeddingGrad(GroupKernels &kernels, Operation *op) {
  Dims dims = dimsOf(op->getResult(0));
  Shape shape = shapeFor(dims[1]);
  AffineExpr blocks = dims[0].ceilDiv(shape.rows) * dims[1].ceilDiv(shape.columns);
  ThreadKernel k = kernels.start("", blocks, kThreads, {}, kernels.results());
  EmbeddingGradKernel(k, cast<EmbeddingGradOp>(op), shape, kernels.inputs).emit();
}

} // namespace sinter::codegen::cuda
