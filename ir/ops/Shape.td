// Creation and movement of data: nothing is computed, only indices.
#ifndef SINTER_SHAPE_TD
#define SINTER_SHAPE_TD
include "ir/SinterBase.td"

def FullOp : Sinter_Op<"full", [Pure, ConstantLike, Evaluable, DeclareOpInterfaceMethods<ElementInterface, ["isPointwise"]>]> {
  let summary = "every element is `value` (converted to the element type)";
  let family = "creation";
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs AnyTensor_:$y);
  let assemblyFormat = "$value attr-dict `:` type($y)";
  let builders = [OpBuilder<(ins "::mlir::RankedTensorType":$type, "double":$value)>];
  let extraClassDeclaration = "double number();";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def ConstantOp : Sinter_Op<"constant", [Pure, ConstantLike, Evaluable, AllTypesMatch<["value", "y"]>]> {
  let summary = "a tensor of given values";
  let family = "creation";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyTensor_:$y);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}
def ArangeOp : Sinter_Typed<"arange", [DeclareOpInterfaceMethods<ElementInterface>]> {
  let summary = "y[i] = start + i * step, one dimension; number of elements from the result type";
  let family = "creation";
  let arguments = (ins F64Attr:$start, F64Attr:$step);
  let results = (outs NumberTensor:$y);
  let assemblyFormat = "$start `,` $step attr-dict `:` type($y)";
}
def ExpandOp : Sinter_Typed<"expand", [Element, Differentiable, Permutable]> {
  let summary = "broadcasts: dimensions are aligned at the right; those of size 1 and new ones are repeated";
  let family = "shape";
  let arguments = (ins AnyTensor_:$x);
  let results = (outs AnyTensor_:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasFolder = 1;
}
def ReshapeOp : Sinter_Typed<"reshape", [Element, Differentiable]> {
  let summary = "the same elements in row-major order under another shape";
  let family = "shape";
  let arguments = (ins AnyTensor_:$x);
  let results = (outs AnyTensor_:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasFolder = 1;
}
def TransposeOp : Sinter_Inferred<"transpose", [Element, Differentiable]> {
  let summary = "permutes dimensions: result dimension i is operand dimension permutation[i]";
  let family = "shape";
  let arguments = (ins AnyTensor_:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs AnyTensor_:$y);
  let assemblyFormat = "$x $permutation attr-dict `:` type($x) `to` type($y)";
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}
def SliceOp : Sinter_Typed<"slice", [Element, Differentiable, Permutable]> {
  let summary = "y[i...] = x[starts + i * strides]; sizes from the result type";
  let family = "shape";
  let arguments = (ins AnyTensor_:$x, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$strides);
  let results = (outs AnyTensor_:$y);
  let assemblyFormat = "$x $starts `strides` $strides attr-dict `:` type($x) `to` type($y)";
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}
def PadOp : Sinter_Inferred<"pad", [Element, Differentiable, Permutable]> {
  let summary = "adds low and high elements of `value` around each dimension, and `interior` ones between neighbours";
  let family = "shape";
  let arguments = (ins AnyTensor_:$x, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior, F64Attr:$value);
  let results = (outs AnyTensor_:$y);
  let assemblyFormat = "$x `low` $low `high` $high `interior` $interior `value` $value attr-dict `:` type($x) `to` type($y)";
  let hasFolder = 1;
}
def ConcatOp : Sinter_Inferred<"concat", [Element, Differentiable, Permutable]> {
  let summary = "joins tensors along `dim`";
  let family = "shape";
  let arguments = (ins Variadic<AnyTensor_>:$inputs, I64Attr:$dim);
  let results = (outs AnyTensor_:$y);
  let assemblyFormat = "$inputs `dim` $dim attr-dict `:` type($inputs) `to` type($y)";
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}
#endif
