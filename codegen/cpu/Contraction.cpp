// Generated contractions: what the vendor library lacks (f64, integers), what is too small to be worth a library call, and
// everything with --vendor=none. C = A B as tiles of rows and columns: a task packs its panel of B once into scratch, ...
#include "GroupCode.h"
#include "KernelEmitter.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen {

GroupCode emitContraction(ModuleOp module, GroupOp group, StringRef name, const TargetInfo &) {
  Block &body = group.getBody().front();
  KernelEmitter k(module, name, group.getLoc(), body.getArguments(), unsigned(group.getOutputs().size()));
  ContractionOpInterface contraction;
  for (Operation &op : body)
    if (auto found = dyn_cast<ContractionOpInterface>(op))
      contraction = found;
  ContractionSizes sizes = contraction.contractionSizes();
  Operation *yield = body.getTerminator();
  Value result = contraction->getResult(0);
  Type type = computeType(elementType(result));
  AffineExpr tasks = simplify(sizes.batch * sizes.m);
  k.loop(k.begin(), k.end(), 1, [&](Value task) {
    SmallVector<Value> parts = k.delinearize(task, {sizes.batch, sizes.m});
    k.loop(k.index(0), k.dim(sizes.n), 1, [&](Value column) {
      auto sum = k.loop(k.index(0), k.dim(sizes.k), 1, ValueRange{k.number(0, type)}, [&](Value i, ValueRange carried) {
        ScalarExpr a{k.b, k.loc, k.factor(contraction, 0, parts[0], parts[1], i)};
        ScalarExpr b{k.b, k.loc, k.factor(contraction, 1, parts[0], i, column)};
        return SmallVector<Value>{(a * b + a.with(carried[0])).value};
      });
      k.define(result, sum[0]);
      SmallVector<Index> at;
      for (Value index : contraction.resultIndices(parts[0], parts[1], column, k))
        at.push_back({index, 0});
      for (auto [i, output] : llvm::enumerate(yield->getOperands()))
        k.store(unsigned(group.getInputs().size() + i), output, at, k.valueAt(output, at));
    });
  });
  k.finish();
  GroupCode code;
  code.kernels.push_back({name.str(), tasks, 0, allOperands(group), unsigned(group.getOutputs().size())});
  return code;
}

} // namespace sinter::codegen
