// Pooling over image windows. Images are NCHW, or NHWC with channels_last.
#ifndef SINTER_POOLING_TD
#define SINTER_POOLING_TD
include "ir/SinterBase.td"

// padding: top, left, bottom, right.
defvar windowAttributes = (ins DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding,
                               DenseI64ArrayAttr:$dilation, UnitAttr:$channels_last);
class Sinter_Pool<string mnemonic, dag operands, TypeConstraint result, bit inferred, list<Trait> traits>
    : Sinter_Op<mnemonic, !listconcat([Pure, Evaluable, DeclareOpInterfaceMethods<ElementInterface, ["laneDim", "elementCost"]>, Layout],
        !if(inferred, [InferTypeOpAdaptor], []<Trait>), traits)> {
  let family = "pooling";
  let arguments = !con(operands, windowAttributes);
  let results = (outs result:$y);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = !not(inferred);
}
def MaxPool2dOp : Sinter_Pool<"max_pool2d", (ins FloatTensor:$x), FloatTensor, 1, [Differentiable]> {
  let summary = "largest element of each window (padding never wins; NaN does)";
  let kinks = "ties";
}
def MaxPool2dIndexOp : Sinter_Pool<"max_pool2d_index", (ins FloatTensor:$x), PositionTensor, 1, []> {
  let summary = "row-major position inside its window of each window's first largest element";
}
def PoolGatherOp : Sinter_Pool<"pool_gather", (ins FloatTensor:$x, PositionTensor:$index), FloatTensor, 1, [Differentiable]> {
  let summary = "the element of x at position `index` of each window (0 where that is padding); max_pool2d(x) = pool_gather(x, max_pool2d_index(x))";
}
def PoolScatterOp : Sinter_Pool<"pool_scatter", (ins FloatTensor:$dy, PositionTensor:$index), FloatTensor, 0, [Differentiable]> {
  let summary = "transpose of pool_gather: each element of dy is added at the position its window's `index` names; shape of x from the result type";
}
def AvgPool2dOp : Sinter_Pool<"avg_pool2d", (ins FloatTensor:$x), FloatTensor, 1, [Differentiable]> {
  let summary = "mean of each window over kernel height x width elements (padding counts as 0 and is counted)";
}
def AvgPool2dGradOp : Sinter_Pool<"avg_pool2d_grad", (ins FloatTensor:$dy), FloatTensor, 0, [Differentiable]> {
  let summary = "transpose of avg_pool2d; shape of x from the result type";
}
#endif
