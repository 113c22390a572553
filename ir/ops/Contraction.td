// Sums of products: matrix multiplication and convolution, and the gradients of convolution, which are contractions too.
#ifndef SINTER_CONTRACTION_TD
#define SINTER_CONTRACTION_TD
include "ir/SinterBase.td"

def MatmulOp : Sinter_Inferred<"matmul", [Differentiable, Contraction]> {
  let summary = "batched matrix product; leading dimensions are equal; transpose_a/b read the last two dimensions swapped";
  let family = "contraction";
  let arguments = (ins NumberTensor:$a, NumberTensor:$b, UnitAttr:$transpose_a, UnitAttr:$transpose_b);
  let results = (outs NumberTensor:$y);
  let assemblyFormat = "$a (`transposed` $transpose_a^)? `,` $b (`transposed` $transpose_b^)? attr-dict `:` type($a) `,` type($b) `to` type($y)";
  let hasCanonicalizeMethod = 1;
}
def LinearOp : Sinter_Inferred<"linear", [Decomposable]> {
  let summary = "y = x weight^T + bias; x [..., in], weight [out, in], bias [out]";
  let family = "contraction";
  let arguments = (ins FloatTensor:$x, FloatTensor:$weight, Optional<FloatTensor>:$bias);
  let results = (outs FloatTensor:$y);
  let assemblyFormat = "$x `,` $weight (`,` $bias^)? attr-dict `:` functional-type(operands, results)";
}

// Attributes all three share: stride, padding (top, left, bottom, right), dilation, groups; x and y are NCHW, or NHWC with
// channels_last; the weight is [out, in / groups, height, width] always.
defvar convAttributes = (ins DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilation, I64Attr:$groups,
                             UnitAttr:$channels_last);
class Sinter_Conv<string mnemonic, dag operands, list<Trait> traits> : Sinter_Op<mnemonic,
    !listconcat([Pure, Evaluable, Differentiable, Contraction, Layout], traits)> {
  let family = "contraction";
  let arguments = !con(operands, convAttributes);
  let results = (outs FloatTensor:$y);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Conv2dOp : Sinter_Conv<"conv2d", (ins FloatTensor:$x, FloatTensor:$weight), [InferTypeOpAdaptor]> {
  let summary = "cross-correlation of images";
  let hasVerifier = 0;
}
def Conv2dInputGradOp : Sinter_Conv<"conv2d_input_grad", (ins FloatTensor:$dy, FloatTensor:$weight), []> {
  let summary = "gradient of conv2d with respect to its input, of the result's type";
}
def Conv2dWeightGradOp : Sinter_Conv<"conv2d_weight_grad", (ins FloatTensor:$x, FloatTensor:$dy), []> {
  let summary = "gradient of conv2d with respect to its weight, of the result's type";
}
#endif
