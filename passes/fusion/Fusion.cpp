// sinter-fusion: joins ops into groups, each of which becomes one kernel (or one library call with
// its epilogue).
//
// Cheap ops are first copied to each of their consumers. Contractions then take their epilogues;
// every other op, from the last to the first, tries to pull its producers in; at last clusters that
// read the same data over the same space are joined.
#include "Clusters.h"

#include "sinter/passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
#define GEN_PASS_DEF_FUSIONPASS
#include "sinter/passes/Passes.h.inc"

void collapseGroup(GroupOp group);

namespace {

/// Gives each user of a free op its own copy, from the end, so that whole chains are copied.
void copyFreeOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!isFree(&op))
      continue;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op.getUses())
      if (isFusible(use.getOwner()))
        uses.push_back(&use);
    for (size_t i = 1; i < uses.size(); ++i) // the first use keeps the op itself
      uses[i]->set(OpBuilder(&op).clone(op)->getResult(0));
    if (op.use_empty())
      op.erase();
  }
}

struct FusionPass : impl::FusionPassBase<FusionPass> {
  using FusionPassBase::FusionPassBase;

  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    if (fuse)
      copyFreeOps(block);
    Clusters clusters(block, report);
    if (fuse) {
      clusters.absorbEpilogues();
      mergeVertically(block, clusters);
      mergeSiblings(block, clusters);
    }
    makeGroups(block, clusters);
  }

private:
  void mergeVertically(Block &block, Clusters &clusters) {
    for (bool changed = true; changed;) {
      changed = false;
      for (Operation &op : llvm::reverse(block)) {
        Cluster *consumer = clusters.of(&op);
        if (!consumer)
          continue;
        for (Value operand : op.getOperands()) {
          Operation *producer = operand.getDefiningOp();
          if (producer && clusters.of(producer) && clusters.of(producer) != consumer)
            changed |= clusters.tryMerge(clusters.of(producer), consumer);
        }
      }
    }
  }

  /// Two clusters over one space that share an input at least as large read it once together.
  void mergeSiblings(Block &block, Clusters &clusters) {
    auto tryUsers = [&](Value value) {
      SmallVector<Operation *> users;
      for (Operation *user : value.getUsers())
        if (clusters.of(user))
          users.push_back(user);
      for (size_t i = 0; i < users.size(); ++i)
        for (size_t j = i + 1; j < users.size(); ++j) {
          Cluster *a = clusters.of(users[i]), *b = clusters.of(users[j]);
          if (a != b && estimatedElements(dimsOf(value)) >= estimatedElements(a->domain))
            clusters.tryMergeSiblings(a, b);
        }
    };
    for (Value argument : block.getArguments())
      tryUsers(argument);
    for (Operation &op : block)
      for (Value result : op.getResults())
        tryUsers(result);
  }

  void makeGroups(Block &block, Clusters &clusters) {
    // Groups are placed in dependency order before the terminator, together with the ops between
    // them.
    SmallVector<Cluster *> order = clusters.topological();
    Operation *terminator = block.getTerminator();
    DenseSet<Operation *> placed;
    std::function<void(Operation *)> placePlain = [&](Operation *op) {
      if (op->getBlock() != &block || clusters.of(op) || !placed.insert(op).second)
        return;
      for (Value operand : op->getOperands())
        if (Operation *definition = operand.getDefiningOp())
          placePlain(definition);
      op->moveBefore(terminator);
    };
    for (Cluster *cluster : order) {
      if (cluster->ops.empty())
        continue;
      for (auto &[op, place] : cluster->ops)
        for (Value operand : op->getOperands())
          if (Operation *definition = operand.getDefiningOp())
            placePlain(definition);
      makeGroup(*cluster, clusters, terminator);
    }
    SmallVector<Operation *> rest;
    for (Operation &op : block.without_terminator())
      if (!isa<GroupOp>(op) && !clusters.of(&op))
        rest.push_back(&op);
    llvm::for_each(rest, placePlain);
    for (Cluster *cluster : llvm::reverse(order))
      for (auto &[op, place] : llvm::reverse(cluster->ops))
        op->erase();
  }

  /// A reshape of what the cluster takes from outside stays outside for its users there: it moves
  /// nothing, and a kernel would copy.
  static void keepReshapesOutside(Cluster &cluster, Clusters &clusters, OpBuilder &builder) {
    for (auto &[op, place] : cluster.ops) {
      if (!isa<ReshapeOp>(op) || !clusters.isOutput(op->getResult(0), &cluster))
        continue;
      Operation *from = op->getOperand(0).getDefiningOp();
      if (from && clusters.of(from) == &cluster)
        continue;
      Operation *outside = builder.clone(*op);
      op->replaceUsesWithIf(
          outside, [&](OpOperand &use) { return clusters.of(use.getOwner()) != &cluster; });
    }
  }

  static void describe(const Cluster &cluster, Location loc) {
    llvm::errs() << "fusion: " << name(cluster.kind) << " group (" << sourceOf(loc) << "):";
    for (auto &[op, place] : cluster.ops)
      llvm::errs() << ' ' << op->getName().stripDialect();
    llvm::errs() << '\n';
  }

  void makeGroup(Cluster &cluster, Clusters &clusters, Operation *before) {
    OpBuilder builder(before);
    keepReshapesOutside(cluster, clusters, builder);
    SetVector<Value> inputs, outputs;
    for (auto &[op, place] : cluster.ops) {
      for (Value operand : op->getOperands())
        if (!operand.getDefiningOp() || clusters.of(operand.getDefiningOp()) != &cluster)
          inputs.insert(operand);
      for (Value result : op->getResults())
        if (clusters.isOutput(result, &cluster))
          outputs.insert(result);
    }
    if (outputs.empty())
      return;
    SmallVector<Location> locs;
    for (auto &[op, place] : cluster.ops)
      locs.push_back(op->getLoc());
    // The heaviest op names the group's place in the user's program.
    Location loc = locs.back();
    for (auto &[op, place] : cluster.ops)
      if (isa<ContractionOpInterface, ReductionOpInterface>(op))
        loc = op->getLoc();
    SmallVector<Type> types;
    for (Value output : outputs)
      types.push_back(output.getType());
    auto group = GroupOp::create(builder, loc, types, inputs.getArrayRef(), name(cluster.kind));
    if (report)
      describe(cluster, loc);
    Block *body = builder.createBlock(&group.getBody());
    IRMapping mapping;
    for (Value input : inputs)
      mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
    for (auto &[op, place] : cluster.ops)
      builder.clone(*op, mapping);
    SmallVector<Value> yielded;
    for (Value output : outputs)
      yielded.push_back(mapping.lookup(output));
    YieldOp::create(builder, loc, yielded);
    for (auto [output, result] : llvm::zip(outputs.takeVector(), group.getResults()))
      output.replaceUsesWithIf(
          result, [&](OpOperand &use) { return clusters.of(use.getOwner()) != &cluster; });
    if (collapse && cluster.kind != Kind::Contraction && cluster.kind != Kind::Scatter)
      collapseGroup(group);
  }
};

} // namespace
} // namespace sinter::passes
