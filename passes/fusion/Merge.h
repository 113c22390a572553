// One attempt to merge two clusters: whether it is legal, whether it pays, and what comes out.
#pragma once

#include "Clusters.h"

namespace sinter::passes {

class Merge {
public:
  Merge(const Clusters &clusters, const Cluster &producer, const Cluster &consumer)
      : clusters(clusters), producer(producer), consumer(consumer) {}

  using Reason = std::optional<std::string>;
  /// Fills `merged`; a reason where the two can't be merged or it wouldn't pay.
  Reason whyNot();

  Cluster merged;

private:
  Reason chooseSpace();
  Reason placeUse(mlir::Operation *op, Place place, mlir::Operation *user);
  Reason placeReducedUse(mlir::Operation *op, mlir::Operation *user, Place userPlace);
  Reason checkPlaces() const;
  Reason checkInlining() const;
  bool readsKeptIndex(mlir::Operation *user, mlir::Value value) const;
  Place placeInMerged(Place place) const {
    return place == Place::Domain && consumerAtKept ? Place::Reduced : place;
  }
  bool producerReduces() const { return producer.kind == Kind::Reduction; }

  const Clusters &clusters;
  const Cluster &producer, &consumer;
  ir::Dims kept;               ///< what the merged cluster's reductions keep
  bool consumerAtKept = false; ///< a pointwise consumer that lies over what is kept
  /// Where the producer's values must lie for the uses seen so far.
  bool needsInlined = false, needsDomain = false, needsReduced = false;
};

} // namespace sinter::passes
