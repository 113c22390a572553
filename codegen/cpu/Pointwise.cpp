// Pointwise groups: every output element on its own. The last dimension runs over vector lanes, the
// rest over rows; tasks are runs of rows, or runs of elements of long rows.
#include "Emitters.h"
#include "TaskKernel.h"

#include "kernel/Points.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen {
namespace {

struct PointwiseEmitter : Points {
  /// Elements [from, to) of one row.
  void row(ArrayRef<Value> outer, Value from, Value to, int64_t lanes) {
    auto indices = [&](Value last, int64_t step) {
      SmallVector<Index> at;
      for (Value index : outer)
        at.push_back({index, 0});
      at.push_back({last, step});
      return at;
    };
    Value vectorEnd = from;
    if (lanes > 1) {
      vectorEnd = k.add(from, k.mul(k.wholeLanes(k.sub(to, from), lanes), k.index(lanes)));
      k.withLanes(lanes,
                  [&] { k.loop(from, vectorEnd, lanes, [&](Value i) { emit(indices(i, 1)); }); });
    }
    k.loop(vectorEnd, to, 1, [&](Value i) { emit(indices(i, 0)); });
  }
};

} // namespace

GroupCode emitPointwise(ModuleOp module, GroupOp group, StringRef name, const TargetInfo &target) {
  Block &body = group.getBody().front();
  TaskKernel k(module, name, group.getLoc(), body.getArguments(), group.getOutputs().size());
  PointwiseEmitter emitter{{group, k}};
  MLIRContext *context = group.getContext();
  GroupCode code;
  GroupKernel kernel{name.str(), constantDim(1, context), 0, allOperands(group),
                     unsigned(group.getOutputs().size())};
  Dims domain = emitter.domain;
  if (domain.empty()) {
    k.loop(k.begin(), k.end(), 1, [&](Value) { emitter.emit({}); });
  } else {
    AffineExpr length = domain.back();
    ArrayRef<AffineExpr> outer = ArrayRef<AffineExpr>(domain).drop_back();
    int64_t lanes = lanesPossible(group) ? lanesFor(length, target) : 1;
    int64_t grain = grainElements(group), rowElements = estimatedElements({length});
    AffineExpr rows = product(outer, context);
    if (rowElements >= grain || isOne(rows)) {
      // Long rows are cut: task = row * pieces + piece.
      AffineExpr pieces = simplify(length.ceilDiv(grain));
      kernel.tasks = simplify(rows * pieces);
      k.loop(k.begin(), k.end(), 1, [&](Value task) {
        Dims split(outer);
        split.push_back(pieces);
        SmallVector<Value> at = k.delinearize(task, split);
        Value from = k.mul(at.pop_back_val(), k.index(grain));
        emitter.row(at, from, k.minimum(k.add(from, k.index(grain)), k.dim(length)), lanes);
      });
    } else {
      int64_t rowsPerTask = std::max<int64_t>(1, grain / std::max<int64_t>(rowElements, 1));
      kernel.tasks = simplify(rows.ceilDiv(rowsPerTask));
      Value first = k.mul(k.begin(), k.index(rowsPerTask));
      Value last = k.minimum(k.mul(k.end(), k.index(rowsPerTask)), k.dim(rows));
      k.loop(first, last, 1, [&](Value row) {
        emitter.row(k.delinearize(row, outer), k.index(0), k.dim(length), lanes);
      });
    }
  }
  k.finish();
  code.kernels.push_back(std::move(kernel));
  return code;
}

} // namespace sinter::codegen
