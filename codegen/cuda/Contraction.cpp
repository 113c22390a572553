// Contractions where no vendor library is used: C[b, m, n] = sum over k of A[b, m, k] B[b, k, n],
// where A and B are index maps over the op's operands, so that convolutions are products too.
//
// A block owns a tile of C, a thread of it kPerThread x kPerThread elements, kSide apart. Slices of
// A and B go through shared memory. Where tiles are too few for the card, the depth is cut into
// chunks whose partial products a second kernel adds in order.
#include "GroupKernels.h"
#include "Strides.h"

#include "kernel/Reducer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen::cuda {
namespace {

constexpr int64_t kSide = 16, kPerThread = 4, kTile = kSide * kPerThread, kDepth = 16;
constexpr int64_t kTileThreads = kSide * kSide;
/// Keeps the banks of neighbouring depths apart, of which a warp writes two lines at once.
constexpr int64_t kPadded = kTile + 2;

struct ContractionBuilder : GroupKernels {
  ContractionOpInterface contraction;
  ContractionSizes s = contraction.contractionSizes();
  Type type = computeType(elementType(contraction->getResult(0)));
  bool alongDepth[2] = {runsAlongDepth(0), runsAlongDepth(1)};
  int64_t chunk = 0; ///< depth of a chunk; 0: the depth is not cut

  /// Whether neighbours in depth are closer in the memory of factor `side` than neighbouring rows
  /// of A or columns of B, so that a warp reads along the depth.
  bool runsAlongDepth(unsigned side) {
    auto stride = [&](bool alongDepth) {
      auto found = strideOfLoad(group, target.symbols, [&](ThreadKernel &k, Value index) {
        bool isRow = alongDepth == (side == 1);
        k.factor(contraction, side, k.index(0), isRow ? index : k.index(0),
                 isRow ? k.index(0) : index);
      });
      return found ? std::abs(*found) : std::numeric_limits<int64_t>::max();
    };
    return stride(true) < stride(false);
  }
  AffineExpr chunks() const {
    return chunk ? simplify(s.k.ceilDiv(chunk)) : constantDim(1, context);
  }

  void chooseChunks() {
    constexpr int64_t kFewTiles = 256, kMostChunks = 64, kShortest = 8 * kDepth;
    auto tiles = [](AffineExpr size) {
      return int64_t(llvm::divideCeil(estimatedElements({size}), kTile));
    };
    int64_t all = estimatedElements({s.batch}) * tiles(s.m) * tiles(s.n);
    int64_t wanted = std::min(kMostChunks, kFewTiles / std::max<int64_t>(1, all));
    int64_t depth = estimatedElements({s.k});
    if (wanted > 1 && depth >= 2 * kShortest)
      chunk = llvm::alignTo(std::max<int64_t>(kShortest, llvm::divideCeil(depth, wanted)), kDepth);
  }

  Value multiplyAdd(ThreadKernel &k, Value a, Value b, Value sum) {
    if (isa<FloatType>(type))
      return math::FmaOp::create(k.b, k.loc, a, b, sum);
    return arith::AddIOp::create(k.b, k.loc, arith::MulIOp::create(k.b, k.loc, a, b), sum);
  }

  /// A factor's element, 0 outside of its `sizes`.
  Value factor(ThreadKernel &k, unsigned side, Value batch, Value row, Value rows, Value column,
               Value columns) {
    Value isInside = k.both(k.less(row, rows), k.less(column, columns));
    Value value = k.factor(contraction, side, batch, k.select(isInside, row, k.index(0)),
                           k.select(isInside, column, k.index(0)));
    return k.select(isInside, value, k.number(0, type));
  }

  /// Depth and line (row of A, column of B) of the slice's element that a thread copies.
  std::pair<Value, Value> placeInSlice(ThreadKernel &k, unsigned side, Value element) {
    if (alongDepth[side])
      return {k.remainder(element, kDepth), k.quotient(element, kDepth)};
    return {k.quotient(element, kTile), k.remainder(element, kTile)};
  }

  /// Copies a slice of A, as A[k][row], and of B, as B[k][column], from depth `first` on.
  void copySlices(ThreadKernel &k, Value batch, Value row, Value column, Value first, Value end,
                  Value left, Value right) {
    for (int64_t i = 0; i < kTile * kDepth / kTileThreads; ++i) {
      Value element = k.add(k.thread(), k.index(i * kTileThreads));
      auto [depth, line] = placeInSlice(k, 0, element);
      k.storeShared(left,
                    factor(k, 0, batch, k.add(row, line), k.dim(s.m), k.add(first, depth), end),
                    k.add(k.mul(depth, k.index(kPadded)), line));
      auto [deep, across] = placeInSlice(k, 1, element);
      k.storeShared(right,
                    factor(k, 1, batch, k.add(first, deep), end, k.add(column, across), k.dim(s.n)),
                    k.add(k.mul(deep, k.index(kPadded)), across));
    }
  }

  /// The thread's tile of sums over depths [from, to).
  Values multiply(ThreadKernel &k, Value batch, Value row, Value column, Value from, Value to) {
    Value left = k.shared(type, kPadded * kDepth), right = k.shared(type, kPadded * kDepth);
    Value x = k.remainder(k.thread(), kSide), y = k.quotient(k.thread(), kSide);
    Values zeros(kPerThread * kPerThread, k.number(0, type));
    return k.loop(from, to, kDepth, zeros, [&](Value first, ValueRange carried) {
      copySlices(k, batch, row, column, first, to, left, right);
      k.barrier();
      Values sums(carried);
      for (int64_t depth = 0; depth < kDepth; ++depth) {
        Values a, b;
        for (int64_t i = 0; i < kPerThread; ++i) {
          auto at = [&](Value own) { return k.add(own, k.index(depth * kPadded + i * kSide)); };
          a.push_back(k.loadShared(left, type, at(y)));
          b.push_back(k.loadShared(right, type, at(x)));
        }
        for (int64_t i = 0; i < kPerThread; ++i)
          for (int64_t j = 0; j < kPerThread; ++j) {
            Value &sum = sums[i * kPerThread + j];
            sum = multiplyAdd(k, a[i], b[j], sum);
          }
      }
      k.barrier();
      return sums;
    });
  }

  void product() {
    chooseChunks();
    AffineExpr rowTiles = simplify(s.m.ceilDiv(kTile)), columnTiles = simplify(s.n.ceilDiv(kTile));
    SmallVector<unsigned> written = results();
    if (chunk) {
      code.temporaries.push_back(tensorType({chunks(), s.batch, s.m, s.n}, type));
      written = {inputs + outputs};
    }
    ThreadKernel k = start(chunk ? "_partial" : "", chunks() * s.batch * rowTiles * columnTiles,
                           kTileThreads, {}, written);
    Values place = k.delinearize(k.block(), {chunks(), s.batch, rowTiles, columnTiles});
    Value batch = place[1], row = k.mul(place[2], k.index(kTile)),
          column = k.mul(place[3], k.index(kTile));
    Value from = k.mul(place[0], k.index(chunk)), to = k.dim(s.k);
    if (chunk)
      to = k.minimum(to, k.add(from, k.index(chunk)));
    Values sums = multiply(k, batch, row, column, from, to);
    for (int64_t i = 0; i < kPerThread; ++i)
      for (int64_t j = 0; j < kPerThread; ++j) {
        auto own = [&](Value first, Value part, int64_t number) {
          return k.add(first, k.add(part, k.index(number * kSide)));
        };
        Value m = own(row, k.quotient(k.thread(), kSide), i),
              n = own(column, k.remainder(k.thread(), kSide), j);
        k.when(k.both(k.less(m, k.dim(s.m)), k.less(n, k.dim(s.n))), [&] {
          Value sum = sums[i * kPerThread + j];
          if (!chunk)
            return finish(k, batch, m, n, sum, inputs);
          Value line = k.add(k.mul(k.add(k.mul(place[0], k.dim(s.batch)), batch), k.dim(s.m)), m);
          k.storeRaw(inputs, sum, k.add(k.mul(line, k.dim(s.n)), n));
        });
      }
    k.finish();
    if (chunk)
      combine();
  }

  /// Runs the epilogue for the finished sum at (batch, row, column).
  void finish(ThreadKernel &k, Value batch, Value row, Value column, Value sum,
              unsigned firstOutput) {
    k.define(contraction->getResult(0), sum);
    SmallVector<Index> at;
    for (Value index : contraction.resultIndices(batch, row, column, k))
      at.push_back({index, 0});
    Values values;
    for (Value output : yield->getOperands())
      values.push_back(k.valueAt(output, at));
    for (auto [i, value] : llvm::enumerate(values))
      k.store(firstOutput + unsigned(i), yield->getOperand(i), at, value);
  }

  /// A thread adds the partial products of one element.
  void combine() {
    AffineExpr total = simplify(s.batch * s.m * s.n);
    ThreadKernel k =
        start("_combine", total.ceilDiv(kTileThreads), kTileThreads, {inputs + outputs}, results());
    Value element = k.add(k.mul(k.block(), k.index(kTileThreads)), k.thread());
    k.when(k.less(element, k.dim(total)), [&] {
      Values sum = k.loop(k.index(0), k.dim(chunks()), 1, ValueRange{k.number(0, type)},
                          [&](Value chunk, ValueRange carried) {
                            Value position = k.add(k.mul(chunk, k.dim(total)), element);
                            ScalarExpr part{k.b, k.loc, k.loadRaw(inputs, type, position)};
                            return Values{(ScalarExpr{k.b, k.loc, carried[0]} + part).value};
                          });
      Values place = k.delinearize(element, {s.batch, s.m, s.n});
      finish(k, place[0], place[1], place[2], sum[0], inputs + 1);
    });
    k.finish();
  }
};

} // namespace

GroupCode emitContraction(ModuleOp module, GroupOp group, StringRef name, const Target &target) {
  ContractionOpInterface contraction;
  for (Operation &op : group.getBody().front())
    if (auto found = dyn_cast<ContractionOpInterface>(op))
      contraction = found;
  ContractionBuilder builder{{module, group, name.str(), target}, contraction};
  builder.product();
  return std::move(builder.code);
}

} // namespace sinter::codegen::cuda
