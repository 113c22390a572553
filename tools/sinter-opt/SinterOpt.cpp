// sinter-opt: runs passes over textual or bytecode graphs, one at a time or as pipelines.
#include "sinter/passes/Passes.h"
#include "sinter/passes/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<sinter::ir::SinterDialect, mlir::func::FuncDialect>();
  mlir::registerTransformsPasses();
  sinter::passes::registerPasses();
  sinter::passes::registerPipelines();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "sinter-opt: transforms sinter graphs (.mlir, .mlirbc)\n", registry));
}
