#include "Merge.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

StringRef name(Kind kind) {
  switch (kind) {
  case Kind::Pointwise:
    return "pointwise";
  case Kind::Reduction:
    return "reduction";
  case Kind::Contraction:
    return "contraction";
  case Kind::Scatter:
    return "scatter";
  }
  llvm_unreachable("all kinds are named");
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
  return llvm::any_of(value.getUsers(),
                      [&](Operation *user) { return of(user) != cluster || !of(user); });
}

static StringRef label(const Cluster *cluster) {
  return cluster->ops.back().first->getName().stripDialect();
}

void Clusters::refuse(Cluster *producer, Cluster *consumer, StringRef reason) const {
  if (report)
    llvm::errs() << "fusion: " << label(producer) << " ("
                 << sourceOf(producer->ops.back().first->getLoc()) << ") not into "
                 << label(consumer) << ": " << reason << '\n';
}

//===-- epilogues of contractions -------------------------------------------------------------===//

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
        if (Operation *bias = other.getDefiningOp();
            isBias(bias, contraction) && other.hasOneUse()) {
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
  if (pathBetween(producer, consumer, true)) {
    refuse(producer, consumer, "something between them depends on one and feeds the other");
    return false;
  }
  Merge merge(*this, *producer, *consumer);
  if (auto reason = merge.whyNot()) {
    refuse(producer, consumer, *reason);
    return false;
  }
  join(producer, consumer, std::move(merge.merged));
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
