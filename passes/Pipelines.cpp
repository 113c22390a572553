#include "sinter/passes/Pipelines.h"

#include "sinter/passes/Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace sinter::passes {

void buildGraphPipeline(OpPassManager &manager, const GraphOptions &options) {
  auto &functions = manager.nest<func::FuncOp>();
  // Nothing is simplified before: a fold may cut the path between a value and one that its gradient
  // is asked for.
  functions.addPass(createGradientPass());
  functions.addPass(createSimplifyPass());
  functions.addPass(createDecomposePass());
  functions.addPass(createSimplifyPass());
  if (!options.channelsLast)
    return;
  functions.addPass(createLayoutPass({options.reportLayout}));
  functions.addPass(createSimplifyPass());
  functions.addPass(createFlattenPass());
  functions.addPass(createSimplifyPass());
}

namespace {
struct GraphPipelineOptions : PassPipelineOptions<GraphPipelineOptions> {
  Option<bool> channelsLast{*this, "channels-last", llvm::cl::desc("Choose image layouts"),
                            llvm::cl::init(true)};
  Option<bool> reportLayout{*this, "report-layout",
                            llvm::cl::desc("Remark on every transpose that remains"),
                            llvm::cl::init(false)};
};
} // namespace

void registerPipelines() {
  PassPipelineRegistration<GraphPipelineOptions>(
      "sinter-graph",
      "Gradients, decomposition and layouts: from a traced graph to one ready for fusion",
      [](OpPassManager &manager, const GraphPipelineOptions &options) {
        buildGraphPipeline(manager, {options.channelsLast, options.reportLayout});
      });
}

} // namespace sinter::passes
