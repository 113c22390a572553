// Scatters: rows or elements added at positions given by data, in the order of the source, so that
// sums are reproducible. Tasks own disjoint parts of the result, and each walks the whole index.
#include "Emitters.h"
#include "TaskKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen {
namespace {

/// Adds `value` to the result at `at` (storage precision) if `position`, which indexes dimension
/// `dim`, is in range.
void addAt(TaskKernel &k, unsigned operand, Value result, SmallVector<Index> at, int64_t dim,
           Value position, Value value) {
  Value row = arith::IndexCastOp::create(k.b, k.loc, k.b.getIndexType(), position);
  at[dim] = {row, 0};
  auto guard = scf::IfOp::create(k.b, k.loc, k.inRange(row, k.dim(dimsOf(result)[dim])), false);
  OpBuilder::InsertionGuard insertion(k.b);
  k.b.setInsertionPointToStart(guard.thenBlock());
  ScalarExpr sum =
      ScalarExpr{k.b, k.loc, k.loadElement(operand, result, at)} + ScalarExpr{k.b, k.loc, value};
  k.store(operand, result, at, sum.value);
}

Value toI64(TaskKernel &k, Value index) {
  return index.getType().isInteger(64)
             ? index
             : Value(arith::ExtSIOp::create(k.b, k.loc, k.b.getI64Type(), index));
}

constexpr int64_t kWidthTile = 256;

SmallVector<Index> asIndices(ArrayRef<Value> values) {
  SmallVector<Index> at;
  for (Value value : values)
    at.push_back({value, 0});
  return at;
}

/// A task owns a tile of the width. Returns the number of tasks.
AffineExpr emitEmbeddingGrad(TaskKernel &k, EmbeddingGradOp op, unsigned output) {
  Value result = op->getResult(0);
  Dims dims = dimsOf(result), indexDims = dimsOf(op.getIndex());
  Value rows = k.dim(dims[0]), width = k.dim(dims[1]);
  k.loop(k.begin(), k.end(), 1, [&](Value task) {
    Value from = k.mul(task, k.index(kWidthTile)),
          to = k.minimum(k.add(from, k.index(kWidthTile)), width);
    k.loop(k.index(0), rows, 1, [&](Value row) {
      k.loop(from, to, 1, [&](Value column) {
        k.store(output, result, {Index{row}, Index{column}}, k.number(0, elementType(result)));
      });
    });
    k.loop(k.index(0), k.dim(product(indexDims, op->getContext())), 1, [&](Value i) {
      SmallVector<Index> at = asIndices(k.delinearize(i, indexDims));
      Value position = toI64(k, k.valueAt(op.getIndex(), at));
      k.loop(from, to, 1, [&](Value column) {
        SmallVector<Index> source(at);
        source.push_back({column, 0});
        addAt(k, output, result, {k.at(0), Index{column}}, 0, position,
              k.valueAt(op.getDy(), source));
      });
    });
  });
  return simplify(dims[1].ceilDiv(kWidthTile));
}

/// A task owns the result's elements at one index of the dimensions before `dim`. Returns the
/// number of tasks.
AffineExpr emitScatterAdd(TaskKernel &k, ScatterAddOp op, unsigned output) {
  Value result = op->getResult(0);
  MLIRContext *context = op->getContext();
  int64_t dim = op.getDim();
  Dims dims = dimsOf(result), sourceDims = dimsOf(op.getSrc());
  Dims before(ArrayRef<AffineExpr>(dims).take_front(dim)),
      after(ArrayRef<AffineExpr>(dims).drop_front(dim)),
      sourceAfter(ArrayRef<AffineExpr>(sourceDims).drop_front(dim));
  k.loop(k.begin(), k.end(), 1, [&](Value task) {
    SmallVector<Value> outer = k.delinearize(task, before);
    auto full = [&](Value linear, ArrayRef<AffineExpr> sizes) {
      SmallVector<Value> at = outer;
      llvm::append_range(at, k.delinearize(linear, sizes));
      return asIndices(at);
    };
    k.loop(k.index(0), k.dim(product(after, context)), 1, [&](Value i) {
      SmallVector<Index> at = full(i, after);
      k.store(output, result, at, k.valueAt(op.getX(), at));
    });
    // The source may be smaller than the result in the outer dimensions: such tasks only copy.
    Value inside = arith::ConstantIntOp::create(k.b, k.loc, 1, 1);
    for (auto [index, size] : llvm::zip(outer, sourceDims))
      inside = arith::AndIOp::create(k.b, k.loc, inside, k.inRange(index, k.dim(size)));
    auto guard = scf::IfOp::create(k.b, k.loc, inside, false);
    OpBuilder::InsertionGuard insertion(k.b);
    k.b.setInsertionPointToStart(guard.thenBlock());
    k.loop(k.index(0), k.dim(product(sourceAfter, context)), 1, [&](Value i) {
      SmallVector<Index> at = full(i, sourceAfter);
      addAt(k, output, result, at, dim, toI64(k, k.valueAt(op.getIndex(), at)),
            k.valueAt(op.getSrc(), at));
    });
  });
  return product(before, context);
}

} // namespace

GroupCode emitScatter(ModuleOp module, GroupOp group, StringRef name, const TargetInfo &) {
  Block &body = group.getBody().front();
  TaskKernel k(module, name, group.getLoc(), body.getArguments(), 1);
  unsigned output = unsigned(group.getInputs().size());
  AffineExpr tasks;
  if (auto embedding = dyn_cast<EmbeddingGradOp>(body.front()))
    tasks = emitEmbeddingGrad(k, embedding, output);
  else
    tasks = emitScatterAdd(k, cast<ScatterAddOp>(body.front()), output);
  k.finish();
  GroupCode code;
  code.kernels.push_back({name.str(), tasks, 0, allOperands(group), 1});
  return code;
}

} // namespace sinter::codegen
