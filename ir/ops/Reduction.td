// Reductions along dimensions. `dims` ascending, never negative; keepdim keeps them with size 1.
#ifndef SINTER_REDUCTION_TD
#define SINTER_REDUCTION_TD
include "ir/SinterBase.td"

class Sinter_Reduce<string mnemonic, string text, TypeConstraint type, TypeConstraint result, list<Trait> traits, list<string> methods = []>
    : Sinter_Inferred<mnemonic, !listconcat([DeclareOpInterfaceMethods<ReductionInterface, methods>, Permutable], traits)> {
  let summary = text;
  let family = "reduction";
  let arguments = (ins type:$x, DenseI64ArrayAttr:$dims, UnitAttr:$keepdim);
  let results = (outs result:$y);
  let assemblyFormat = "$x `dims` $dims (`keepdim` $keepdim^)? attr-dict `:` type($x) `to` type($y)";
  let hasCanonicalizeMethod = 1;
  let extraClassDefinition = [{
    ::llvm::ArrayRef<int64_t> $cppClass::reducedDims() { return getDims(); }
    bool $cppClass::keepsDims() { return getKeepdim(); }
  }];
}
def SumOp : Sinter_Reduce<"sum", "sum of the elements", NumberTensor, NumberTensor, [Differentiable]>;
def MeanOp : Sinter_Reduce<"mean", "mean of the elements; NaN of none", FloatTensor, FloatTensor, [Differentiable]>;
def ProdOp : Sinter_Reduce<"prod", "product of the elements", NumberTensor, NumberTensor, [Differentiable]> { let inputRange = "0.5,1.5"; }
def MaxOp : Sinter_Reduce<"max", "largest element; NaN wins; -inf (or the least integer) of none", NumberTensor, NumberTensor, [Differentiable]> { let kinks = "ties"; }
def MinOp : Sinter_Reduce<"min", "smallest element; NaN wins; +inf (or the largest integer) of none", NumberTensor, NumberTensor, [Differentiable]> { let kinks = "ties"; }
def ArgmaxOp : Sinter_Reduce<"argmax", "row-major index, among the reduced dimensions, of the first largest element; the first NaN wins; 0 of none",
                             NumberTensor, IndicesTensor, [], ["stateSize"]>;
def ArgminOp : Sinter_Reduce<"argmin", "row-major index, among the reduced dimensions, of the first smallest element; the first NaN wins; 0 of none",
                             NumberTensor, IndicesTensor, [], ["stateSize"]>;
#endif
