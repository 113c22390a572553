// Structure: variables, gradients, probes, and the groups that fusion makes.
#ifndef SINTER_CONTROL_TD
#define SINTER_CONTROL_TD
include "ir/SinterBase.td"

def VariableOp : Sinter_Op<"variable", [Symbol]> {
  let summary = "named storage that outlives a call: a parameter, an optimizer slot, a statistic";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type, UnitAttr:$trainable);
  let assemblyFormat = "(`trainable` $trainable^)? $sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}
def ReadOp : Sinter_Op<"read", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "value of a variable when the step starts (all reads precede all assignments)";
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs AnyTensor_:$y);
  let assemblyFormat = "$variable attr-dict `:` type($y)";
}
def AssignOp : Sinter_Op<"assign", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "sets a variable when the step ends; at most one a variable and function";
  let arguments = (ins FlatSymbolRefAttr:$variable, AnyTensor_:$x);
  let assemblyFormat = "$variable `,` $x attr-dict `:` type($x)";
  let hasCanonicalizeMethod = 1;
}
def ProbeOp : Sinter_Op<"probe"> {
  let summary = "shows a value to the host under a label while the step runs";
  let arguments = (ins AnyTensor_:$x, StrAttr:$label);
  let assemblyFormat = "$x `,` $label attr-dict `:` type($x)";
}
def GradientsOp : Sinter_Op<"gradients", [Pure, AttrSizedOperandSegments]> {
  let summary = "gradients of `y` (summed, or weighted by `seed`) with respect to values it was computed from; expanded by sinter-gradient";
  let arguments = (ins FloatTensor:$y, Optional<FloatTensor>:$seed, Variadic<FloatTensor>:$wrt);
  let results = (outs Variadic<FloatTensor>:$grads);
  let assemblyFormat = "$y (`seed` $seed^)? `wrt` $wrt attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def YieldOp : Sinter_Op<"yield", [Pure, Terminator, HasParent<"GroupOp">]> {
  let arguments = (ins Variadic<AnyTensor_>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}
def GroupOp : Sinter_Op<"group", [Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "ops that become one kernel; the body is ordinary sinter ops over the block arguments";
  let description = [{
    `kind`: "pointwise" (every value one iteration space or an inlined index map), "reduction" (all reductions share their dimensions, which
    may be followed by more), "contraction" (one contraction and its epilogue), "scatter".
  }];
  let arguments = (ins Variadic<AnyTensor_>:$inputs, StrAttr:$kind);
  let results = (outs Variadic<AnyTensor_>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kind `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body";
  let hasVerifier = 1;
}
#endif
