#include "Clusters.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

StringRef name(Kind kind) {
  switch (kind) {
  case Kind::Pointwise: return "pointwise";
  case Kind::Reduction: return "reduction";
  case Kind::Contraction: return "contraction";
  case Kind::Scatter: return "scatter";
  }
  llvm_unreachable("all kinds are named");
}

Dims withoutOnes(ArrayRef<AffineExpr> dims) {
  Dims result;
  llvm::copy_if(dims, std::back_inserter(result), [](AffineExpr dim) { return !isOne(dim); });
  return result;
}

Dims keptDims(const Cluster &cluster) {
  Dims kept;
  for (auto [i, dim] : llvm::enumerate(cluster.domain))
    if (!llvm::is_contained(cluster.reduced, int64_t(i)))
      kept.push_back(dim);
  return withoutOnes(kept);
}

static bool isScatter(Operation *op) { return isa<EmbeddingGradOp, ScatterAddOp>(op); }

bool isFusible(Operation *op) {
  return isa<ElementOpInterface, ReductionOpInterface, ContractionOpInterface>(op) || isScatter(op);
}

static bool isUnitReshape(Operation *op) {
  auto reshape = dyn_cast<ReshapeOp>(op);
  return reshape && withoutOnes(dimsOf(reshape.getX())) == withoutOnes(dimsOf(reshape.getY()));
}

bool isFree(Operation *op) { return isa<FullOp, ExpandOp>(op) || isUnitReshape(op); }

/// Elements, where known; a symbolic size counts as large.
static int64_t elements(ArrayRef<AffineExpr> dims) {
  int64_t count = 1;
  for (AffineExpr dim : dims)
    count *= constantSize(dim).value_or(256);
  return count;
}

/// Whether the kept dimensions all stand before the reduced ones, sizes of 1 aside: a row is then contiguous.
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

/// Rows enough that one task a few rows keeps every thread busy, or so little work that it doesn't matter.
static bool rowsSuffice(const Cluster &cluster) {
  constexpr int64_t kManyRows = 8, kLittleWork = 32768;
  return elements(keptDims(cluster)) >= kManyRows || elements(cluster.domain) <= kLittleWork;
}

Clusters::Clusters(Block &block, bool report) : block(block), report(report) {
  for (Operation &op : block) {
    if (!isFusible(&op))
      continue;
    auto cluster = std::make_unique<Cluster>();
    cluster->domain = dimsOf(op.getResult(0));
    Place place = Place::Domain;
    if (auto reduction = dyn_cast<ReductionOpInterface>(op)) {
      cluster->kind = Kind::Reduction;
      cluster->domain = dimsOf(op.getOperand(0));
      cluster->reduced = llvm::to_vector(reduction.reducedDims());
      place = Place::Reduced;
    } else if (isa<ContractionOpInterface>(op)) {
      cluster->kind = Kind::Contraction;
    } else if (isScatter(&op)) {
      cluster->kind = Kind::Scatter;
    }
    cluster->ops[&op] = place;
    owner[&op] = cluster.get();
    storage.push_back(std::move(cluster));
  }
}

bool Clusters::isOutput(Value value, const Cluster *cluster) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) { return of(user) != cluster || !of(user); });
}

static StringRef label(const Cluster *cluster) { return cluster->ops.back().first->getName().stripDialect(); }

void Clusters::refuse(Cluster *producer, Cluster *consumer, StringRef reason) const {
  if (report)
    llvm::errs() << "fusion: " << label(producer) << " (" << sourceOf(producer->ops.back().first->getLoc()) << ") not into "
                 << label(consumer) << ": " << reason << '\n';
}

//===-- index relations -----------------------------------------------------------------------------------------------------===//

/// Follows a result that is read at `ids` (dimension numbers of the domain, -1 for index 0) through a broadcast to its operand.
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

/// Whether `user`, whose result sits at the domain index, reads `value` at the index of the dimensions `producer` keeps.
static bool readsKeptIndex(Operation *user, Value value, const Cluster &producer, const DenseMap<Operation *, Cluster *> &owner,
                           const Cluster &consumer) {
  // `value` may lie behind a chain of broadcasts, of which `user` is the one that reads it; all start at a domain-placed op.
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
    if (owner.lookup(next) != &consumer || next->getNumOperands() != 1)
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
  SmallVector<int64_t> kept, seen;
  for (auto [i, dim] : llvm::enumerate(domain))
    if (!llvm::is_contained(producer.reduced, int64_t(i)) && !isOne(dim))
      kept.push_back(int64_t(i));
  for (auto [id, dim] : llvm::zip(ids, dimsOf(value)))
    if (!isOne(dim))
      seen.push_back(id);
  return seen == kept;
}

/// Merges `producer` into `consumer`, filling `merged`; a reason where that can't be or doesn't pay.
std::optional<std::string> Clusters::whyNot(Cluster *producer, Cluster *consumer, Cluster &merged) {
  using Reason = std::optional<std::string>;
  if (producer->kind == Kind::Scatter || consumer->kind == Kind::Scatter)
    return Reason("scatters stand alone");
  if (consumer->kind == Kind::Contraction)
    return Reason("contractions read finished operands");
  if (producer->kind == Kind::Contraction)
    return Reason("not an epilogue");

  // The space both are laid out in.
  bool producerReduces = producer->kind == Kind::Reduction, consumerReduces = consumer->kind == Kind::Reduction;
  merged.kind = producerReduces || consumerReduces ? Kind::Reduction : Kind::Pointwise;
  merged.domain = producerReduces ? producer->domain : consumer->domain;
  merged.reduced = producerReduces ? producer->reduced : consumer->reduced;
  merged.sequential = producer->sequential || consumer->sequential;
  if (producerReduces && consumerReduces && (producer->domain != consumer->domain || producer->reduced != consumer->reduced))
    return Reason("reductions over different spaces");
  Dims kept = keptDims(merged);

  // Where a pointwise consumer of a reduction lies: over the domain, or over what is kept.
  bool consumerAtKept = false;
  if (producerReduces && !consumerReduces && consumer->domain != merged.domain) {
    if (withoutOnes(consumer->domain) != kept)
      return Reason("another iteration space");
    consumerAtKept = true;
  }
  auto placeInMerged = [&](Place place, bool atKept) { return place == Place::Domain && atKept ? Place::Reduced : place; };

  // Where the producer must lie for each use of each of its values.
  bool inlineAll = false, needsDomain = false, needsReduced = false;
  for (auto &[op, place] : producer->ops) {
    for (OpOperand &use : op->getUses()) {
      Operation *user = use.getOwner();
      if (of(user) != consumer)
        continue;
      Place userPlace = placeInMerged(consumer->ops.find(user)->second, consumerAtKept);
      auto element = dyn_cast<ElementOpInterface>(user);
      bool sameIndex = isa<ReductionOpInterface>(user) || (element && element.isPointwise() && userPlace != Place::Inlined);
      if (producerReduces && place == Place::Reduced) {
        if (sameIndex && userPlace == Place::Reduced && !isa<ReductionOpInterface>(user))
          continue;
        if (isUnitReshape(user) && userPlace == Place::Reduced)
          continue;
        if (!readsKeptIndex(user, op->getResult(0), *producer, owner, *consumer))
          return Reason("a reduction's result is read at another index");
        if (!reducesRows(merged))
          return Reason("needs all of a column before any of its elements");
        if (!rowsSuffice(merged))
          return Reason("too few rows to share among threads");
        merged.sequential = true;
        continue;
      }
      if (!sameIndex && isUnitReshape(user) && userPlace == Place::Reduced) {
        needsReduced = true;
        continue;
      }
      if (!sameIndex) {
        inlineAll = true;
        continue;
      }
      (isa<ReductionOpInterface>(user) || userPlace == Place::Domain ? needsDomain : needsReduced) = true;
    }
  }
  if (int(inlineAll) + int(needsDomain) + int(needsReduced) > 1)
    return Reason("read at several indices");

  for (auto [op, place] : consumer->ops)
    merged.ops[op] = placeInMerged(place, consumerAtKept);
  if (producerReduces) {
    if (inlineAll)
      return Reason("a value of a reduction's pass is read at another index");
    for (auto [op, place] : producer->ops)
      merged.ops[op] = place;
    return std::nullopt;
  }
  if (needsDomain && producer->domain != merged.domain)
    return Reason("another iteration space");
  if (needsReduced && withoutOnes(producer->domain) != kept)
    return Reason("another iteration space");
  if (inlineAll) {
    int64_t cost = 0;
    for (auto [op, place] : producer->ops) {
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return of(user) != consumer && of(user) != producer; }))
          return Reason("also needed elsewhere");
      if (auto element = dyn_cast<ElementOpInterface>(op))
        cost += element.elementCost();
    }
    constexpr int64_t kCheap = 4;
    if (elements(merged.domain) > elements(producer->domain) && cost > kCheap)
      return Reason("would be computed again and again");
  }
  for (auto [op, place] : producer->ops)
    merged.ops[op] = inlineAll || place == Place::Inlined ? Place::Inlined : needsReduced ? Place::Reduced : Place::Domain;
  return std::nullopt;
}

//===-- epilogues of contractions -------------------------------------------------------------------------------------------===//

/// Whether `op` repeats a vector along the channels of the contraction's result.
static bool isBias(Operation *op, ContractionOpInterface contraction) {
  auto expand = dyn_cast_or_null<ExpandOp>(op);
  if (!expand)
    return false;
  Dims from = dimsOf(expand.getX()), to = dimsOf(expand.getY());
  auto image = dyn_cast<LayoutOpInterface>(contraction.getOperation());
  size_t channel = image && !image.isChannelsLast() ? 1 : to.size() - 1;
  for (size_t i = 0, shift = to.size() - from.size(); i < from.size(); ++i)
    if (isOne(from[i]) == (i + shift == channel) && !isOne(to[i + shift]))
      return false;
  return from.size() + channel >= to.size();
}

void Clusters::absorbEpilogues() {
  for (auto &cluster : storage) {
    if (cluster->kind != Kind::Contraction)
      continue;
    Operation *last = cluster->ops.front().first;
    auto contraction = cast<ContractionOpInterface>(last);
    for (int terms = 0; last->hasOneUse();) {
      Operation *user = *last->getUsers().begin();
      if (!of(user) || user->getResultTypes() != contraction->getResultTypes())
        break;
      if (isa<AddOp>(user) && terms < 2 && user->getOperand(0) != user->getOperand(1)) {
        ++terms;
        Value other = user->getOperand(user->getOperand(0) == last->getResult(0) ? 1 : 0);
        if (Operation *bias = other.getDefiningOp(); isBias(bias, contraction) && other.hasOneUse()) {
          of(bias)->ops.clear();
          cluster->ops[bias] = Place::Domain;
          owner[bias] = cluster.get();
        }
      } else if (!isa<ReluOp>(user)) {
        break;
      }
      of(user)->ops.clear();
      cluster->ops[user] = Place::Domain;
      owner[user] = cluster.get();
      last = user;
      if (isa<ReluOp>(user))
        break;
    }
  }
}

bool Clusters::tryMerge(Cluster *producer, Cluster *consumer) {
  if (producer == consumer)
    return false;
  Cluster merged;
  if (pathBetween(producer, consumer, true)) {
    refuse(producer, consumer, "something between them depends on one and feeds the other");
    return false;
  }
  if (auto reason = whyNot(producer, consumer, merged)) {
    refuse(producer, consumer, *reason);
    return false;
  }
  join(producer, consumer, std::move(merged));
  return true;
}

bool Clusters::tryMergeSiblings(Cluster *a, Cluster *b) {
  if (a == b || a->kind != b->kind || a->domain != b->domain || a->reduced != b->reduced)
    return false;
  if (a->kind != Kind::Pointwise && a->kind != Kind::Reduction)
    return false;
  if (pathBetween(a, b, false) || pathBetween(b, a, false))
    return false;
  Cluster merged = *a;
  merged.sequential |= b->sequential;
  for (auto [op, place] : b->ops)
    merged.ops[op] = place;
  join(a, b, std::move(merged));
  return true;
}

void Clusters::join(Cluster *producer, Cluster *consumer, Cluster merged) {
  for (auto [op, place] : producer->ops)
    owner[op] = consumer;
  // Keep program order, which codegen and the epilogue test rely on.
  auto ops = merged.ops.takeVector();
  llvm::sort(ops, [](auto &a, auto &b) { return a.first->isBeforeInBlock(b.first); });
  *consumer = std::move(merged);
  consumer->ops.clear();
  for (auto &[op, place] : ops)
    consumer->ops[op] = place;
  producer->ops.clear();
}

bool Clusters::pathBetween(Cluster *from, Cluster *to, bool skipDirect) const {
  DenseSet<Cluster *> seen;
  DenseSet<Operation *> seenOps;
  SmallVector<std::pair<Cluster *, Operation *>> work{{from, nullptr}};
  while (!work.empty()) {
    auto [cluster, single] = work.pop_back_val();
    SmallVector<Operation *> ops;
    if (cluster)
      for (auto &[op, place] : cluster->ops)
        ops.push_back(op);
    else
      ops.push_back(single);
    for (Operation *op : ops)
      for (Operation *user : op->getUsers()) {
        Cluster *next = of(user);
        if (next == to && !(skipDirect && cluster == from))
          return true;
        if (next == to || next == from)
          continue;
        if (next ? seen.insert(next).second : seenOps.insert(user).second)
          work.emplace_back(next, next ? nullptr : user);
      }
  }
  return false;
}

SmallVector<Cluster *> Clusters::topological() const {
  SmallVector<Cluster *> order;
  DenseSet<Cluster *> done;
  std::function<void(Cluster *)> visit;
  DenseSet<Operation *> plain;
  std::function<void(Value)> visitValue = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != &block)
      return;
    if (Cluster *cluster = of(op))
      return visit(cluster);
    if (plain.insert(op).second)
      llvm::for_each(op->getOperands(), visitValue);
  };
  visit = [&](Cluster *cluster) {
    if (!done.insert(cluster).second)
      return;
    for (auto &[op, place] : cluster->ops)
      for (Value operand : op->getOperands())
        if (!operand.getDefiningOp() || of(operand.getDefiningOp()) != cluster)
          visitValue(operand);
    order.push_back(cluster);
  };
  for (Operation &op : block)
    if (Cluster *cluster = of(&op))
      visit(cluster);
  return order;
}

} // namespace sinter::passes
