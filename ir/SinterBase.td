// The sinter dialect: base classes every op family builds on.
#ifndef SINTER_BASE_TD
#define SINTER_BASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "ir/SinterInterfaces.td"

def Sinter_Dialect : Dialect {
  let name = "sinter";
  let cppNamespace = "::sinter::ir";
  let summary = "Deep-learning graphs over tensors with symbolic dimensions";
  let description = [{
    Tensors are builtin ranked tensors. A dimension that is not static is an affine expression of the program's
    symbols, carried in the encoding `#sinter.dims<...>`; equal expressions are equal sizes, and a dynamic dimension
    never broadcasts. Broadcasting and type promotion are explicit (`expand`, `cast`): the DSL inserts them.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
}

class Sinter_Attr<string cppName, string attrMnemonic, list<Trait> traits = []> : AttrDef<Sinter_Dialect, cppName, traits> {
  let mnemonic = attrMnemonic;
}

def Sinter_DimsAttr : Sinter_Attr<"Dims", "dims", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "sizes of a tensor with symbolic dimensions, one affine expression of symbols s0, s1, ... a dimension";
  let parameters = (ins ArrayRefParameter<"::mlir::AffineExpr">:$sizes);
  let hasCustomAssemblyFormat = 1;
}

def FloatElement : AnyTypeOf<[F16, BF16, F32, F64]>;
def IntElement : AnyTypeOf<[I64, I32, I16, I8, UI8]>;
def AnyElement : AnyTypeOf<[F16, BF16, F32, F64, I64, I32, I16, I8, UI8, I1]>;

class Sinter_Tensor<list<Type> elements>
    : ConfinedType<RankedTensorOf<elements>, [CPred<"::sinter::ir::hasKnownSizes($_self)">],
                   RankedTensorOf<elements>.summary # " with every dynamic size given by #sinter.dims">;
def FloatTensor : Sinter_Tensor<[FloatElement]>;
def NumberTensor : Sinter_Tensor<[FloatElement, IntElement]>;
def IntTensor : Sinter_Tensor<[IntElement]>;
def IndicesTensor : Sinter_Tensor<[I64, I32]>;
def PositionTensor : Sinter_Tensor<[I32]>;
def RandomState : Sinter_Tensor<[I64]>;
def BoolTensor : Sinter_Tensor<[I1]>;
def AnyTensor_ : Sinter_Tensor<[AnyElement]>;

class Sinter_Op<string mnemonic, list<Trait> traits = []> : Op<Sinter_Dialect, mnemonic, traits> {
  // Read by the conformance table (llvm-tblgen --dump-json): the family, the range inputs are drawn from, and the points
  // near which a finite difference means nothing.
  string family = "";
  string inputRange = "-2,2";
  string kinks = "";
}
// An op without effects whose result types follow from operands and attributes.
class Sinter_Inferred<string mnemonic, list<Trait> traits = []>
    : Sinter_Op<mnemonic, !listconcat([Pure, InferTypeOpAdaptor, Evaluable], traits)>;
// The same, with the result type given (it can't be inferred).
class Sinter_Typed<string mnemonic, list<Trait> traits = []> : Sinter_Op<mnemonic, !listconcat([Pure, Evaluable], traits)> {
  let hasVerifier = 1;
}

#endif
