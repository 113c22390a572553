#include "Merge.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

/// Whether the kept dimensions all stand before the reduced ones, sizes of 1 aside: a row is then
/// contiguous.
static bool reducesRows(const Cluster &cluster) {
  bool reducedSeen = false;
  for (auto [i, dim] : llvm::enumerate(cluster.domain)) {
    if (isOne(dim))
      continue;
    bool reduced = llvm::is_contained(cluster.reduced, int64_t(i));
    if (!reduced && reducedSeen)
      return false;
    reducedSeen |= reduced;
  }
  return reducedSeen;
}

/// Rows enough that one task a few rows keeps every thread busy, or so little work that it doesn't
/// matter.
static bool rowsSuffice(const Cluster &cluster) {
  constexpr int64_t kManyRows = 8, kLittleWork = 32768;
  return estimatedElements(keptDims(cluster)) >= kManyRows ||
         estimatedElements(cluster.domain) <= kLittleWork;
}

/// Follows a result that is read at `ids` (dimension numbers of the domain, -1 for index 0) through
/// a broadcast to its operand.
static std::optional<SmallVector<int64_t>> throughBroadcast(Operation *op, ArrayRef<int64_t> ids) {
  Dims from = dimsOf(op->getOperand(0)), to = dimsOf(op->getResult(0));
  SmallVector<int64_t> inner(from.size(), -1);
  if (isa<ExpandOp>(op)) {
    for (size_t i = 0, shift = to.size() - from.size(); i < from.size(); ++i)
      inner[i] = isOne(from[i]) ? -1 : ids[i + shift];
    return inner;
  }
  if (!isUnitReshape(op))
    return std::nullopt;
  for (size_t i = 0, j = 0; i < from.size(); ++i) {
    if (isOne(from[i]))
      continue;
    while (isOne(to[j]))
      ++j;
    inner[i] = ids[j++];
  }
  return inner;
}

/// Whether `user`, whose result sits at the domain index, reads `value` at the index of the
/// dimensions the producer keeps.
bool Merge::readsKeptIndex(Operation *user, Value value) const {
  // `value` may lie behind a chain of broadcasts, of which `user` is the one that reads it; all
  // start at a domain-placed op.
  SmallVector<Operation *> chain{user};
  while (true) {
    auto it = consumer.ops.find(chain.back());
    if (it == consumer.ops.end())
      return false;
    if (it->second == Place::Domain)
      break;
    if (!chain.back()->hasOneUse())
      return false;
    Operation *next = *chain.back()->getUsers().begin();
    if (clusters.of(next) != &consumer || next->getNumOperands() != 1)
      return false;
    chain.push_back(next);
  }
  Dims domain = dimsOf(chain.back()->getResult(0));
  if (domain != producer.domain)
    return false;
  SmallVector<int64_t> ids = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(domain.size())));
  for (Operation *op : llvm::reverse(chain)) {
    auto inner = throughBroadcast(op, ids);
    if (!inner)
      return false;
    ids = *inner;
  }
  SmallVector<int64_t> keptIds, seen;
  for (auto [i, dim] : llvm::enumerate(domain))
    if (!llvm::is_contained(producer.reduced, int64_t(i)) && !isOne(dim))
      keptIds.push_back(int64_t(i));
  for (auto [id, dim] : llvm::zip(ids, dimsOf(value)))
    if (!isOne(dim))
      seen.push_back(id);
  return seen == keptIds;
}

/// The space both are laid out in.
Merge::Reason Merge::chooseSpace() {
  bool consumerReduces = consumer.kind == Kind::Reduction;
  const Cluster &leader = producerReduces() ? producer : consumer;
  merged.kind = producerReduces() || consumerReduces ? Kind::Reduction : Kind::Pointwise;
  merged.domain = leader.domain;
  merged.reduced = leader.reduced;
  merged.sequential = producer.sequential || consumer.sequential;
  if (producerReduces() && consumerReduces &&
      (producer.domain != consumer.domain || producer.reduced != consumer.reduced))
    return "reductions over different spaces";
  kept = keptDims(merged);
  if (producerReduces() && !consumerReduces && consumer.domain != merged.domain) {
    if (withoutOnes(consumer.domain) != kept)
      return "another iteration space";
    consumerAtKept = true;
  }
  return std::nullopt;
}

/// A finished reduction, read by `user`.
Merge::Reason Merge::placeReducedUse(Operation *op, Operation *user, Place userPlace) {
  auto element = dyn_cast<ElementOpInterface>(user);
  if (userPlace == Place::Reduced && (isUnitReshape(user) || (element && element.isPointwise())))
    return std::nullopt;
  if (!readsKeptIndex(user, op->getResult(0)))
    return "a reduction's result is read at another index";
  if (!reducesRows(merged))
    return "needs all of a column before any of its elements";
  if (!rowsSuffice(merged))
    return "too few rows to share among threads";
  merged.sequential = true;
  return std::nullopt;
}

/// Where the producer's `op` must lie for its use by `user`.
Merge::Reason Merge::placeUse(Operation *op, Place place, Operation *user) {
  Place userPlace = placeInMerged(consumer.ops.find(user)->second);
  if (producerReduces() && place == Place::Reduced)
    return placeReducedUse(op, user, userPlace);
  bool reduces = isa<ReductionOpInterface>(user);
  auto element = dyn_cast<ElementOpInterface>(user);
  bool sameIndex = reduces || (element && element.isPointwise() && userPlace != Place::Inlined) ||
                   (isUnitReshape(user) && userPlace == Place::Reduced);
  if (!sameIndex)
    needsInlined = true;
  else
    (reduces || userPlace == Place::Domain ? needsDomain : needsReduced) = true;
  return std::nullopt;
}

Merge::Reason Merge::checkPlaces() const {
  if (int(needsInlined) + int(needsDomain) + int(needsReduced) > 1)
    return "read at several indices";
  if (producerReduces())
    return needsInlined ? Reason("a value of a reduction's pass is read at another index")
                        : std::nullopt;
  if (needsDomain && producer.domain != merged.domain)
    return "another iteration space";
  if (needsReduced && withoutOnes(producer.domain) != kept)
    return "another iteration space";
  return needsInlined ? checkInlining() : std::nullopt;
}

/// Inlined values are computed again for each element that asks. What the consumer already inlines
/// of the same chain counts too, or a long chain would slip in one cheap op at a time.
Merge::Reason Merge::checkInlining() const {
  int64_t cost = 0;
  DenseSet<Operation *> chain;
  auto add = [&](Operation *op) {
    chain.insert(op);
    if (auto element = dyn_cast<ElementOpInterface>(op))
      cost += element.elementCost();
  };
  for (auto [op, place] : producer.ops) {
    for (Operation *user : op->getUsers())
      if (clusters.of(user) != &consumer && clusters.of(user) != &producer)
        return "also needed elsewhere";
    add(op);
  }
  for (auto [op, place] : consumer.ops) // in program order
    if (place == Place::Inlined && llvm::any_of(op->getOperands(), [&](Value operand) {
          return chain.contains(operand.getDefiningOp());
        }))
      add(op);
  constexpr int64_t kCheap = 4;
  if (estimatedElements(merged.domain) > estimatedElements(producer.domain) && cost > kCheap)
    return "would be computed again and again";
  return std::nullopt;
}

Merge::Reason Merge::whyNot() {
  if (producer.kind == Kind::Scatter || consumer.kind == Kind::Scatter)
    return "scatters stand alone";
  if (consumer.kind == Kind::Contraction)
    return "contractions read finished operands";
  if (producer.kind == Kind::Contraction)
    return "not an epilogue";
  if (Reason reason = chooseSpace())
    return reason;
  for (auto [op, place] : producer.ops)
    for (Operation *user : op->getUsers())
      if (clusters.of(user) == &consumer)
        if (Reason reason = placeUse(op, place, user))
          return reason;
  if (Reason reason = checkPlaces())
    return reason;
  for (auto [op, place] : consumer.ops)
    merged.ops[op] = placeInMerged(place);
  for (auto [op, place] : producer.ops)
    merged.ops[op] = producerReduces()                         ? place
                     : needsInlined || place == Place::Inlined ? Place::Inlined
                     : needsReduced                            ? Place::Reduced
                                                               : Place::Domain;
  return std::nullopt;
}

} // namespace sinter::passes
