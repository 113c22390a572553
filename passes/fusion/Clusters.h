// The state of a fusion in progress: which ops are joined, over which iteration space, and how each
// of them sits in it.
#pragma once

#include "FreeOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <memory>

namespace sinter::passes {

enum class Kind { Pointwise, Reduction, Contraction, Scatter };
llvm::StringRef name(Kind kind);

/// How an op's result is indexed inside its cluster.
enum class Place {
  Domain,  ///< at the cluster's own index
  Reduced, ///< at the index of the dimensions that are kept by the cluster's reductions
  Inlined, ///< wherever a consumer asks; recomputed there
};

struct Cluster {
  Kind kind = Kind::Pointwise;
  ir::Dims domain; ///< iteration space (a reduction's: the input of its reductions)
  llvm::SmallVector<int64_t> reduced; ///< dimensions of `domain` that are reduced
  bool sequential = false; ///< something in it uses a finished reduction at domain indices
  llvm::MapVector<mlir::Operation *, Place> ops;
};

class Clusters {
public:
  Clusters(mlir::Block &block, bool report);

  Cluster *of(mlir::Operation *op) const { return owner.lookup(op); }
  /// Joins producer and consumer clusters if that is legal and pays; says why not on request.
  bool tryMerge(Cluster *producer, Cluster *consumer);
  /// Moves bias, residual and activation that follow a contraction into its cluster.
  void absorbEpilogues();
  /// Joins two clusters that read the same data over the same space, with no path between them.
  bool tryMergeSiblings(Cluster *a, Cluster *b);
  /// All clusters, each after those it depends on.
  llvm::SmallVector<Cluster *> topological() const;
  bool isOutput(mlir::Value value, const Cluster *cluster) const;

private:
  bool pathBetween(Cluster *from, Cluster *to, bool skipDirect) const;
  void join(Cluster *producer, Cluster *consumer, Cluster merged);
  void refuse(Cluster *producer, Cluster *consumer, llvm::StringRef reason) const;

  std::vector<std::unique_ptr<Cluster>> storage;
  llvm::DenseMap<mlir::Operation *, Cluster *> owner;
  mlir::Block &block;
  bool report;
};

/// Ops that fusion may move into a group at all.
bool isFusible(mlir::Operation *op);
/// Dimensions of `cluster` that its reductions keep, without those of size 1.
ir::Dims keptDims(const Cluster &cluster);

} // namespace sinter::passes
