// Losses and dropout in simpler ops.
#include "gradients/Build.h"

using namespace mlir;
using namespace sinter::ir;

namespace {

/// What the cross entropy of rows and its gradient share.
struct Classified {
  TensorExpr logp;  ///< [rows, classes]
  TensorExpr hit;   ///< [rows, classes]: the row's label is this class
  TensorExpr valid; ///< [rows, 1]: the row counts: its label is a class, and not the one ignored
  TensorExpr count; ///< [1, 1]: rows that count
};

} // namespace

static Classified classify(CrossEntropyOp op, OpBuilder &builder) {
  auto logits = widened(exprOf(builder, op, op.getLogits()));
  Dims dims = dimsOf(op.getLogits());
  auto labels =
      reshaped(logits.with(op.getLabels()), {dims[0], constantDim(1, builder.getContext())});
  auto classes = sizeOf(labels, dims[1], tensorTypeOf(labels.value));
  auto valid =
      ne(labels, double(int64_t(op.getIgnoreIndex()))) & (labels >= 0.0) & (labels < classes);
  return {logits.with(LogSoftmaxOp::create(builder, op.getLoc(), logits.value, 1)),
          eq(expanded(labels, dims), positions(logits, dims, 1, elementType(op.getLabels()))),
          valid, summed(converted(valid, elementType(logits.value)), {0, 1})};
}

SmallVector<Value> CrossEntropyOp::decompose(OpBuilder &builder) {
  auto [logp, hit, valid, count] = classify(*this, builder);
  double smoothing = d(getLabelSmoothing());
  auto gain = summed(select(hit, logp, filled(logp, 0)), 1);
  auto smoothed = smoothing == 0 ? gain : (1 - smoothing) * gain + smoothing * averaged(logp, 1);
  auto total = summed(select(valid, -smoothed, filled(gain, 0)), {0, 1});
  return {converted(reshaped(total / count, dimsOf(getLoss())), elementType(getLoss())).value};
}

// Each row's gradient is softmax(logits) minus the smoothed one-hot label, over the number of rows.
void CrossEntropyOp::buildGradient(OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool>,
                                   MutableArrayRef<Value> operandGrads) {
  auto [logp, hit, valid, count] = classify(*this, builder);
  double smoothing = d(getLabelSmoothing());
  Dims dims = dimsOf(getLogits());
  auto g = converted(logp.with(resultGrads[0]), elementType(logp.value));
  auto share = expanded(reshaped(g, dimsOf(count.value)) / count, dimsOf(valid.value));
  auto rest = dividedBy(filled(logp, smoothing), dims[1]);
  auto target = select(hit, rest + (1 - smoothing), rest);
  auto grad = expanded(select(valid, share, filled(share, 0)), dims) * (exp(logp) - target);
  operandGrads[0] = converted(grad, elementType(getLogits())).value;
}

SmallVector<Value> MseOp::decompose(OpBuilder &builder) {
  auto x = widened(exprOf(builder, *this, getX())), difference = x - widened(x.with(getTarget()));
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, tensorTypeOf(getX()).getRank()));
  auto mean = averaged(difference * difference, all);
  return {converted(reshaped(mean, dimsOf(getLoss())), elementType(getLoss())).value};
}

SmallVector<Value> DropoutOp::decompose(OpBuilder &builder) {
  auto x = exprOf(builder, *this, getX()), wide = widened(x); // f16 and bf16 round the factor
  double kept = 1 - d(getProbability());
  Type mask = tensorType(dimsOf(getX()), builder.getI1Type());
  auto dropped = x.with(
      RandomBernoulliOp::create(builder, getLoc(), mask, getState(), getId(), getProbability()));
  auto scaled = converted(wide * (kept > 0 ? 1 / kept : 0), elementType(getX()));
  return {select(dropped, filled(x, 0), scaled).value};
}
