// Normalisations, softmax and losses: written in simpler ops before fusion, which joins them into one kernel.
#ifndef SINTER_NORMALIZATION_TD
#define SINTER_NORMALIZATION_TD
include "ir/SinterBase.td"

def SoftmaxOp : Sinter_Op<"softmax", [Pure, SameOperandsAndResultType, Evaluable, Differentiable, Decomposable]> {
  let summary = "exp(x - max) / sum(exp(x - max)) along `dim`";
  let family = "normalization";
  let arguments = (ins FloatTensor:$x, I64Attr:$dim);
  let results = (outs FloatTensor:$y);
  let assemblyFormat = "$x `dim` $dim attr-dict `:` type($y)";
  let hasVerifier = 1;
}
def LogSoftmaxOp : Sinter_Op<"log_softmax", [Pure, SameOperandsAndResultType, Evaluable, Differentiable, Decomposable]> {
  let summary = "x - max - log(sum(exp(x - max))) along `dim`";
  let family = "normalization";
  let arguments = (ins FloatTensor:$x, I64Attr:$dim);
  let results = (outs FloatTensor:$y);
  let assemblyFormat = "$x `dim` $dim attr-dict `:` type($y)";
  let hasVerifier = 1;
}
def LayerNormOp : Sinter_Op<"layer_norm", [Pure, AllTypesMatch<["x", "y"]>, Evaluable, Differentiable, Decomposable]> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias over the trailing dimensions that scale and bias have";
  let family = "normalization";
  let arguments = (ins FloatTensor:$x, FloatTensor:$scale, FloatTensor:$bias, F64Attr:$epsilon);
  let results = (outs FloatTensor:$y);
  let assemblyFormat = "$x `,` $scale `,` $bias `epsilon` $epsilon attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def BatchNormOp : Sinter_Op<"batch_norm", [Pure, AllTypesMatch<["x", "y"]>, Evaluable, Decomposable]> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias with given statistics; scale, bias, mean, variance [channels], channels dimension 1";
  let family = "normalization";
  let arguments = (ins FloatTensor:$x, FloatTensor:$scale, FloatTensor:$bias, FloatTensor:$mean, FloatTensor:$variance, F64Attr:$epsilon);
  let results = (outs FloatTensor:$y);
  let assemblyFormat = "$x `,` $scale `,` $bias `,` $mean `,` $variance `epsilon` $epsilon attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def BatchNormTrainingOp : Sinter_Inferred<"batch_norm_training", [Differentiable, Decomposable]> {
  let summary = "batch_norm with the statistics of x itself (all dimensions but 1, biased variance), which it returns too";
  let family = "normalization";
  let arguments = (ins FloatTensor:$x, FloatTensor:$scale, FloatTensor:$bias, F64Attr:$epsilon);
  let results = (outs FloatTensor:$y, FloatTensor:$mean, FloatTensor:$variance);
  let assemblyFormat = "$x `,` $scale `,` $bias `epsilon` $epsilon attr-dict `:` functional-type(operands, results)";
}
def CrossEntropyOp : Sinter_Inferred<"cross_entropy", [Differentiable, Decomposable]> {
  let summary = "mean over rows of -log_softmax(logits)[label]; logits [rows, classes], labels [rows] (class numbers); f32 scalar";
  let description = "label_smoothing s takes (1 - s) of the label's loss and s of the mean over classes. Rows whose label is ignore_index, or names no class, are left out.";
  let family = "loss";
  let arguments = (ins FloatTensor:$logits, IndicesTensor:$labels, DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs FloatTensor:$loss);
  let assemblyFormat = "$logits `,` $labels attr-dict `:` functional-type(operands, results)";
}
def MseOp : Sinter_Inferred<"mse", [Decomposable]> {
  let summary = "mean of (x - target)^2 over all elements";
  let family = "loss";
  let arguments = (ins FloatTensor:$x, FloatTensor:$target);
  let results = (outs FloatTensor:$loss);
  let assemblyFormat = "$x `,` $target attr-dict `:` functional-type(operands, results)";
}
#endif
