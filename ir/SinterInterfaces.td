// What passes and codegen ask of an op instead of naming it.
#ifndef SINTER_INTERFACES_TD
#define SINTER_INTERFACES_TD

include "mlir/IR/OpBase.td"

class Sinter_Interface<string name> : OpInterface<name> { let cppNamespace = "::sinter::ir"; }

def EvaluableInterface : Sinter_Interface<"EvaluableOpInterface"> {
  let description = "Defines the op: the reference interpreter calls it. Floats are doubles, integers exact.";
  let methods = [InterfaceMethod<"Computes `results` (already shaped, zeroed) from `operands`.", "::llvm::LogicalResult", "evaluate",
      (ins "::llvm::ArrayRef<const ::sinter::ir::ReferenceTensor *>":$operands,
           "::llvm::MutableArrayRef<::sinter::ir::ReferenceTensor>":$results)>];
}
def ElementInterface : Sinter_Interface<"ElementOpInterface"> {
  let description = [{
    Each element of a result is a scalar function of single elements of the operands: an index map an operand and a scalar
    body. Fusion may inline such an op into any consumer.
  }];
  let methods = [
    InterfaceMethod<"Emits the element of result `result` at `at`, asking `source` for operand elements.", "::mlir::Value", "emitElement",
      (ins "unsigned":$result, "::llvm::ArrayRef<::sinter::ir::Index>":$at, "::sinter::ir::ElementSource &":$source)>,
    InterfaceMethod<[{When result dimension `dim` (-1: none) runs over vector lanes, the dimension of operand `operand` that does (-1: none);
      nullopt where lanes can't be expressed.}], "std::optional<int64_t>", "laneDim", (ins "unsigned":$operand, "int64_t":$dim),
      "", "return dim;">,
    InterfaceMethod<"Roughly how many arithmetic instructions an element costs.", "int64_t", "elementCost", (ins), "", "return 1;">,
    InterfaceMethod<"Whether operand and result are read at the same index (elementwise).", "bool", "isPointwise", (ins), "", "return false;">,
  ];
}
def DifferentiableInterface : Sinter_Interface<"DifferentiableOpInterface"> {
  let description = "Has a gradient, built of differentiable ops. An op without it but decomposable is differentiated through its parts.";
  let methods = [InterfaceMethod<[{Given the gradients of the results (null: zero), sets the gradient of each operand (null: zero or not
      differentiable) that `needed` asks for.}], "void", "buildGradient",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGrads, "::llvm::ArrayRef<bool>":$needed,
           "::llvm::MutableArrayRef<::mlir::Value>":$operandGrads)>];
}
def DecomposableInterface : Sinter_Interface<"DecomposableOpInterface"> {
  let description = "Can be written in more basic ops, which fusion then joins again.";
  let methods = [InterfaceMethod<"Builds the equivalent; one value a result.", "::llvm::SmallVector<::mlir::Value>", "decompose",
      (ins "::mlir::OpBuilder &":$builder)>];
}
def ReductionInterface : Sinter_Interface<"ReductionOpInterface"> {
  let description = "Combines elements of its one operand along dimensions; the combiner is associative up to rounding.";
  let methods = [
    InterfaceMethod<"Dimensions reduced, ascending.", "::llvm::ArrayRef<int64_t>", "reducedDims">,
    InterfaceMethod<"Whether reduced dimensions stay, with size 1.", "bool", "keepsDims">,
    InterfaceMethod<"Number of values an accumulator has (argmax: value and index).", "unsigned", "stateSize", (ins), "", "return 1;">,
    InterfaceMethod<"The neutral accumulator for elements of compute type `type`.", "::llvm::SmallVector<::mlir::Value>", "initial",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::Type":$type)>,
    InterfaceMethod<"Accumulator of one element; `position` is its linear (i64) index among the reduced dimensions, null unless stateSize is 2.",
      "::llvm::SmallVector<::mlir::Value>", "lift",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::Value":$element, "::mlir::Value":$position)>,
    InterfaceMethod<"Combines two accumulators.", "::llvm::SmallVector<::mlir::Value>", "combine",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$left, "::mlir::ValueRange":$right)>,
    InterfaceMethod<"The result of an accumulator over `count` (index) elements.", "::mlir::Value", "finish",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$state, "::mlir::Value":$count)>,
  ];
}
def ContractionInterface : Sinter_Interface<"ContractionOpInterface"> {
  let description = [{
    A sum of products, seen as batched matrix products C[b,m,n] = sum over k of A[b,m,k] B[b,k,n]. Index maps give the operand
    elements, so one generated kernel serves matmul and every convolution; vendor libraries take it by `libraryCall`.
  }];
  let methods = [
    InterfaceMethod<"Sizes of the problem: batch, m, n, k.", "::sinter::ir::ContractionSizes", "contractionSizes">,
    InterfaceMethod<"Emits A[b, m, k] (operand 0) or B[b, k, n] (operand 1); scalars only. Out of range reads give 0.", "::mlir::Value", "emitFactor",
      (ins "unsigned":$operand, "::mlir::Value":$batch, "::mlir::Value":$row, "::mlir::Value":$column, "::sinter::ir::ElementSource &":$source)>,
    InterfaceMethod<"Indices of the result element C[b, m, n].", "::llvm::SmallVector<::mlir::Value>", "resultIndices",
      (ins "::mlir::Value":$batch, "::mlir::Value":$row, "::mlir::Value":$column, "::sinter::ir::ElementSource &":$source)>,
    InterfaceMethod<"Which library operation this is (rt::LibraryOp) and its integers (rt::LibraryCall::ints).", "int64_t", "libraryCall",
      (ins "::llvm::SmallVector<int64_t> &":$ints)>,
  ];
}
def LayoutInterface : Sinter_Interface<"LayoutOpInterface"> {
  let description = "Works on images and can do so channels last (NHWC) as well as channels first (NCHW).";
  let methods = [
    InterfaceMethod<"", "bool", "isChannelsLast">,
    InterfaceMethod<"", "void", "setChannelsLastLayout", (ins "bool":$last)>,
    InterfaceMethod<"Whether operand `operand` is an image.", "bool", "isImageOperand", (ins "unsigned":$operand)>,
    InterfaceMethod<"Whether result `result` is an image.", "bool", "isImageResult", (ins "unsigned":$result)>,
    InterfaceMethod<"Whether channels last pays for itself here, so that the layout pass should start from this op.", "bool", "prefersChannelsLast">,
  ];
}
def PermutableInterface : Sinter_Interface<"PermutableOpInterface"> {
  let description = "Works alike on tensors whose dimensions are permuted, so that the layout pass can carry a layout through it.";
  let methods = [InterfaceMethod<[{Builds the op over `operands`, its own with dimensions permuted (operand dimension i is the former
      permutation[i]; one rank for all), and says in `resultPermutation` which former dimension of the result each one is. Null where
      the result would differ.}], "::mlir::Operation *", "buildPermuted",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands, "::llvm::ArrayRef<int64_t>":$permutation,
           "::llvm::SmallVectorImpl<int64_t> &":$resultPermutation)>];
}

def Evaluable : DeclareOpInterfaceMethods<EvaluableInterface>;
def Element : DeclareOpInterfaceMethods<ElementInterface, ["laneDim"]>;
def Differentiable : DeclareOpInterfaceMethods<DifferentiableInterface>;
def Decomposable : DeclareOpInterfaceMethods<DecomposableInterface>;
def Contraction : DeclareOpInterfaceMethods<ContractionInterface>;
def Layout : DeclareOpInterfaceMethods<LayoutInterface>;
def Permutable : DeclareOpInterfaceMethods<PermutableInterface>;

#endif
