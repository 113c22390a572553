// The order in which passes turn a traced graph into one that fusion can cut into kernels.
// Pipelines are plain functions over an options struct; registerPipelines() gives them to
// sinter-opt under names.
#pragma once

#include "mlir/Pass/PassManager.h"

namespace sinter::passes {

struct GraphOptions {
  bool channelsLast = true;  ///< choose image layouts
  bool reportLayout = false; ///< remark on every transpose that remains
};

/// Gradients expanded, composite ops in parts, images laid out; runs on a module. No `gradients` op
/// and no decomposable op is left.
void buildGraphPipeline(mlir::OpPassManager &manager, const GraphOptions &options = {});

/// Registers `sinter-graph`.
void registerPipelines();

} // namespace sinter::passes
