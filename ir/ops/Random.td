// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC'11) keyed by (seed, step, id), counted by element, so that
// values depend on nothing but these. `state` is [seed, step]; `id` is given once, at trace, and keeps CSE away.
#ifndef SINTER_RANDOM_TD
#define SINTER_RANDOM_TD
include "ir/SinterBase.td"

class Sinter_Random<string mnemonic, string text, TypeConstraint result, dag attributes = (ins)>
    : Sinter_Typed<mnemonic, [DeclareOpInterfaceMethods<ElementInterface, ["elementCost", "laneDim"]>]> {
  let summary = text;
  let family = "random";
  let arguments = !con((ins RandomState:$state, I64Attr:$id), attributes);
  let results = (outs result:$y);
  let assemblyFormat = "$state `id` $id attr-dict `:` type($state) `to` type($y)";
}
def RandomUniformOp : Sinter_Random<"random_uniform", "uniform in [0, 1), 24 random bits", FloatTensor>;
def RandomNormalOp : Sinter_Random<"random_normal", "standard normal by Box-Muller", FloatTensor>;
def RandomBernoulliOp : Sinter_Random<"random_bernoulli", "true with probability `probability`", BoolTensor, (ins F64Attr:$probability)>;

def DropoutOp : Sinter_Op<"dropout", [Pure, AllTypesMatch<["x", "y"]>, Evaluable, Decomposable]> {
  let summary = "each element is 0 with probability `probability` (where random_bernoulli is true), else x / (1 - probability)";
  let family = "random";
  let arguments = (ins FloatTensor:$x, RandomState:$state, I64Attr:$id, F64Attr:$probability);
  let results = (outs FloatTensor:$y);
  let assemblyFormat = "$x `,` $state `id` $id `probability` $probability attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
#endif
