#include "ops/Verify.h"

using namespace mlir;
using namespace sinter::ir;

LogicalResult SoftmaxOp::verify() { return checkDim(getLoc(), getDim(), getType()); }
LogicalResult LogSoftmaxOp::verify() { return checkDim(getLoc(), getDim(), getType()); }

LogicalResult LayerNormOp::verify() {
  Dims dims = dimsOf(getX()), scale = dimsOf(getScale());
  if (dimsOf(getBias()) != scale)
    return emitError("scale ") << shapeText(getScale()) << " and bias " << shapeText(getBias())
                               << " differ in shape";
  if (scale.empty() || scale.size() > dims.size() ||
      ArrayRef(dims).take_back(scale.size()) != ArrayRef(scale))
    return emitError("scale ") << shapeText(getScale())
                               << " must have the last dimensions of the input "
                               << shapeText(getX());
  return success();
}

/// Checks that each of `statistics` has one element a channel (dimension 1) of `x`.
static LogicalResult checkChannels(Where where, Value x,
                                   ArrayRef<std::pair<StringRef, Value>> statistics) {
  Dims dims = dimsOf(x);
  if (dims.size() < 2)
    return emitOptionalError(where, "the input needs batch and channel dimensions, not ",
                             shapeText(x));
  for (auto [name, value] : statistics)
    if (dimsOf(value) != Dims{dims[1]})
      return emitOptionalError(where, name, " is ", shapeText(value), " where the input ",
                               shapeText(x), " has ", sizeText(dims[1]), " channels");
  return success();
}

LogicalResult BatchNormOp::verify() {
  return checkChannels(getLoc(), getX(),
                       {{"scale", getScale()},
                        {"bias", getBias()},
                        {"mean", getMean()},
                        {"variance", getVariance()}});
}

/// f32, or f64 for f64: what statistics and losses are kept in.
static Type accumulatorType(Value x) {
  return elementType(x).isF64() ? elementType(x) : Float32Type::get(x.getContext());
}

LogicalResult BatchNormTrainingOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op,
                                                    Types &types) {
  Value x = op.getX();
  if (failed(checkChannels(where, x, {{"scale", op.getScale()}, {"bias", op.getBias()}})))
    return failure();
  Type statistics = tensorType(dimsOf(x)[1], accumulatorType(x));
  types.append({x.getType(), statistics, statistics});
  return success();
}

LogicalResult CrossEntropyOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op,
                                               Types &types) {
  Value logits = op.getLogits(), labels = op.getLabels();
  if (failed(checkRank(where, "logits", logits.getType(), 2)))
    return failure();
  if (dimsOf(labels) != Dims{dimsOf(logits)[0]})
    return emitOptionalError(where, "labels ", shapeText(labels),
                             " must be one class number a row of the logits ", shapeText(logits));
  types.push_back(tensorType({}, accumulatorType(logits)));
  return checkProbability(where, "label_smoothing", op.getLabelSmoothing().convertToDouble());
}

LogicalResult MseOp::inferReturnTypes(MLIRContext *, Where where, Adaptor op, Types &types) {
  Value x = op.getX(), target = op.getTarget();
  if (failed(checkSameElement(where, x, target)))
    return failure();
  if (dimsOf(x) != dimsOf(target))
    return emitOptionalError(where, "shapes differ: ", shapeText(x), " and ", shapeText(target));
  types.push_back(tensorType({}, accumulatorType(x)));
  return success();
}
