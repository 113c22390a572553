// sinter inspect, for packages.
#include "Compile.h"
#include "Inspect.h"
#include "Package.h"
#include "Report.h"
#include "sinter/base/text.h"
#include "sinter/codegen/Artifact.h"
#include "sinter/ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/Support/raw_ostream.h"

namespace sinter::tools {
namespace {

/// How often each op occurs: "conv2d 2, relu 3".
std::string opCounts(mlir::func::FuncOp function) {
  std::map<std::string, int64_t> counts;
  function.walk([&](mlir::Operation *op) {
    if (llvm::isa_and_present<ir::SinterDialect>(op->getDialect()))
      ++counts[op->getName().stripDialect().str()];
  });
  std::string text;
  for (const auto &[name, count] : counts)
    text += concat(text.empty() ? "" : ", ", name, " ", count);
  return text;
}

std::string describePackage(const InspectFlags &flags, Package &package,
                            const rt::Program &program) {
  std::string text = concat("package ", flags.path, "\n");
  if (!package.weights.empty())
    text += concat("weights: ", package.weights.string(),
                   std::filesystem::exists(package.weights) ? "" : ", which is missing", "\n");
  return text + describeProgram(program);
}

} // namespace

int inspectPackageMain(int argc, char **argv) {
  InspectFlags flags;
  if (auto status = parseInspect(flags, argc, argv))
    return *status;
  auto package = Package::read(flags.path);
  if (!package.ok())
    return fail(package.status());
  std::string ops;
  for (auto function : (*package)->module->getOps<mlir::func::FuncOp>())
    ops += concat("  ", function.getSymName().str(), ": ", opCounts(function), "\n");
  Diagnostics diagnostics((*package)->context);
  auto program = codegen::planArtifact(*(*package)->module, {});
  if (failed(program))
    return fail(flags.path + ": " + diagnostics.take("it cannot be compiled"));
  std::string text = describePackage(flags, **package, *program) + "ops\n" + ops;
  if (flags.commands)
    text += describeCommands(*program);
  std::fputs(text.c_str(), stdout);
  return kSuccess;
}

} // namespace sinter::tools
