// Pointwise groups that read an input across the grain: what is contiguous there is not what is
// contiguous in the results. A block moves a tile through shared memory: it reads along the one and
// writes along the other, so that both sides are whole sectors.
#include "GroupKernels.h"

#include "kernel/Points.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen::cuda {
namespace {

constexpr int64_t kSide = 32, kThreads = 256, kStep = kThreads / kSide;
constexpr int64_t kPadded = kSide + 1; ///< keeps the banks of a column apart
constexpr int64_t kFewest = 8;         ///< elements that are worth a tile's side
constexpr size_t kMostInputs = 4;      ///< tiles that shared memory takes in any element type

/// Neighbouring dimensions [begin, end) of the domain.
struct Run {
  size_t begin, end;
  Dims of(ArrayRef<AffineExpr> domain) const { return Dims(domain.slice(begin, end - begin)); }
  bool has(size_t dim) const { return dim >= begin && dim < end; }
};

struct Transposition {
  SmallVector<TransposeOp> permutes; ///< all alike
  Run across{0, 0};                  ///< contiguous in what is permuted
  Run along{0, 0};                   ///< contiguous in the results
};

/// The last dimension larger than 1; -1: none.
int64_t lastDim(ArrayRef<AffineExpr> dims) {
  int64_t last = int64_t(dims.size()) - 1;
  while (last >= 0 && isOne(dims[size_t(last)]))
    --last;
  return last;
}

/// Whether all uses of `value` are at the domain's own index.
bool isUsedAtDomain(Value value, ArrayRef<AffineExpr> domain) {
  SmallVector<Value> worklist{value};
  DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (!llvm::equal(dimsOf(next), domain))
      return false;
    for (Operation *user : next.getUsers()) {
      auto element = dyn_cast<ElementOpInterface>(user);
      if (element && element.isPointwise())
        llvm::append_range(worklist, user->getResults());
      else if (!user->hasTrait<OpTrait::IsTerminator>())
        return false;
    }
  }
  return true;
}

/// Extends a run that ends with dimension `last` to the front while its dimensions are neighbours
/// before the permutation, too.
Run runUpTo(int64_t last, int64_t from, ArrayRef<int64_t> permutation) {
  int64_t begin = last;
  while (begin > from && permutation[size_t(begin) - 1] == permutation[size_t(begin)] - 1)
    --begin;
  return {size_t(begin), size_t(last) + 1};
}

std::optional<Transposition> transpositionOf(TransposeOp permute, ArrayRef<AffineExpr> domain) {
  ArrayRef<int64_t> permutation = permute.getPermutation();
  int64_t inner = lastDim(dimsOf(permute.getX())), last = lastDim(domain);
  const int64_t *place = llvm::find(permutation, inner);
  if (inner < 0 || place == permutation.end() || place - permutation.begin() == last ||
      !isUsedAtDomain(permute.getY(), domain))
    return std::nullopt;
  int64_t across = place - permutation.begin();
  Transposition found{
      {permute}, runUpTo(across, 0, permutation), runUpTo(last, across + 1, permutation)};
  if (estimatedElements(found.across.of(domain)) < kFewest ||
      estimatedElements(found.along.of(domain)) < kFewest)
    return std::nullopt;
  return found;
}

/// The first transposition of the group, with the others that are like it.
std::optional<Transposition> findTransposition(GroupOp group, ArrayRef<AffineExpr> domain) {
  std::optional<Transposition> found;
  for (TransposeOp permute : group.getBody().front().getOps<TransposeOp>()) {
    auto next = transpositionOf(permute, domain);
    if (!next)
      continue;
    if (!found)
      found = next;
    else if (found->permutes.size() < kMostInputs &&
             permute.getPermutation() == found->permutes[0].getPermutation())
      found->permutes.push_back(permute);
  }
  return found;
}

struct TileBuilder : GroupKernels {
  Transposition tile;
  Dims domain = dimsOf(yield->getOperand(0));
  AffineExpr across = product(tile.across.of(domain), context),
             along = product(tile.along.of(domain), context);
  SmallVector<size_t> rest = {}; ///< dimensions of neither

  /// Calls `body` in the threads whose element of the tile is in the domain.
  void forElements(ThreadKernel &k, ArrayRef<Value> place, bool isReading,
                   function_ref<void(ArrayRef<Index>, Value)> body) {
    Value fast = k.remainder(k.thread(), kSide), slow = k.quotient(k.thread(), kSide);
    for (int64_t i = 0; i < kSide; i += kStep) {
      Value row = k.add(slow, k.index(i)), a = isReading ? fast : row, l = isReading ? row : fast;
      Value atAcross = k.add(k.mul(place[rest.size()], k.index(kSide)), a);
      Value atAlong = k.add(k.mul(place[rest.size() + 1], k.index(kSide)), l);
      auto emit = [&] {
        SmallVector<Index> at(domain.size(), k.at(0));
        for (auto [dim, value] : llvm::zip(rest, place))
          at[dim] = {value, 0};
        for (auto [run, linear] : {std::pair{tile.across, atAcross}, {tile.along, atAlong}})
          for (auto [j, value] : llvm::enumerate(k.delinearize(linear, run.of(domain))))
            at[run.begin + j] = {value, 0};
        body(at, k.add(k.mul(l, k.index(kPadded)), a));
      };
      if (across.isMultipleOf(kSide) && along.isMultipleOf(kSide))
        emit();
      else
        k.when(k.both(k.less(atAcross, k.dim(across)), k.less(atAlong, k.dim(along))), emit);
    }
  }

  void build() {
    Dims blocks;
    for (size_t dim = 0; dim < domain.size(); ++dim)
      if (!tile.across.has(dim) && !tile.along.has(dim)) {
        rest.push_back(dim);
        blocks.push_back(domain[dim]);
      }
    blocks.push_back(simplify(across.ceilDiv(kSide)));
    blocks.push_back(simplify(along.ceilDiv(kSide)));
    ThreadKernel k = start("", product(blocks, context), kThreads, {}, results());
    SmallVector<Value> place = k.delinearize(k.block(), blocks), tiles;
    for (TransposeOp permute : tile.permutes)
      tiles.push_back(k.shared(computeType(elementType(permute.getY())), kSide * kPadded));
    forElements(k, place, /*isReading=*/true, [&](ArrayRef<Index> at, Value position) {
      for (auto [permute, array] : llvm::zip(tile.permutes, tiles))
        k.storeShared(array, k.valueAt(permute.getY(), at), position);
    });
    k.barrier();
    Points points{group, k};
    forElements(k, place, /*isReading=*/false, [&](ArrayRef<Index> at, Value position) {
      for (auto [permute, array] : llvm::zip(tile.permutes, tiles)) {
        Type type = computeType(elementType(permute.getY()));
        k.define(permute.getY(), k.loadShared(array, type, position));
      }
      points.emit(at);
    });
    k.finish();
  }
};

} // namespace

std::optional<GroupCode> emitTransposed(ModuleOp module, GroupOp group, StringRef name,
                                        const Target &target) {
  Dims domain = dimsOf(group.getBody().front().getTerminator()->getOperand(0));
  auto found = findTransposition(group, domain);
  if (!found)
    return std::nullopt;
  TileBuilder builder{{module, group, name.str(), target}, *std::move(found)};
  builder.build();
  return std::move(builder.code);
}

} // namespace sinter::codegen::cuda
