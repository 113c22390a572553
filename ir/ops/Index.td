// Reads and writes at positions given by data. Indices out of range read 0 (gather) or are skipped (scatter): nothing is
// ever touched out of bounds.
#ifndef SINTER_INDEX_TD
#define SINTER_INDEX_TD
include "ir/SinterBase.td"

def EmbeddingOp : Sinter_Inferred<"embedding", [Element, Differentiable]> {
  let summary = "y[i..., :] = weight[index[i...], :]; weight [rows, width]";
  let family = "index";
  let arguments = (ins AnyTensor_:$weight, IndicesTensor:$index);
  let results = (outs AnyTensor_:$y);
  let assemblyFormat = "$weight `,` $index attr-dict `:` functional-type(operands, results)";
}
def EmbeddingGradOp : Sinter_Typed<"embedding_grad", [Differentiable]> {
  let summary = "transpose of embedding: rows of dy added, in order, at the rows that index names; result [rows, width]";
  let family = "index";
  let arguments = (ins NumberTensor:$dy, IndicesTensor:$index);
  let results = (outs NumberTensor:$y);
  let assemblyFormat = "$dy `,` $index attr-dict `:` functional-type(operands, results)";
}
def GatherOp : Sinter_Inferred<"gather", [Element, Differentiable]> {
  let summary = "y[i, j, k] = x[i, index[i, j, k], k] for dim 1; index has x's rank and is no larger than x outside `dim`";
  let family = "index";
  let arguments = (ins AnyTensor_:$x, IndicesTensor:$index, I64Attr:$dim);
  let results = (outs AnyTensor_:$y);
  let assemblyFormat = "$x `,` $index `dim` $dim attr-dict `:` functional-type(operands, results)";
}
def ScatterAddOp : Sinter_Inferred<"scatter_add", [Differentiable]> {
  let summary = "y = x with y[i, index[i, j, k], k] += src[i, j, k] for dim 1, added in row-major order of src";
  let family = "index";
  let arguments = (ins NumberTensor:$x, IndicesTensor:$index, NumberTensor:$src, I64Attr:$dim);
  let results = (outs NumberTensor:$y);
  let assemblyFormat = "$x `,` $index `,` $src `dim` $dim attr-dict `:` functional-type(operands, results)";
}
def OneHotOp : Sinter_Inferred<"one_hot", [Element]> {
  let summary = "y[i..., c] = index[i...] == c, as i64 0 or 1 (the result's element type may be given by `type`)";
  let family = "index";
  let arguments = (ins IndicesTensor:$index, I64Attr:$classes, TypeAttr:$type);
  let results = (outs NumberTensor:$y);
  let assemblyFormat = "$index `classes` $classes attr-dict `:` type($index) `to` type($y)";
}
#endif
