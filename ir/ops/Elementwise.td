// Elementwise ops. The payload and the derivative are C++ expressions over E, which is a number (interpreter), a scalar or
// vector (codegen) or a tensor (gradients): one formula, three readings. See sinter/ir/Expr.h.
#ifndef SINTER_ELEMENTWISE_TD
#define SINTER_ELEMENTWISE_TD
include "ir/SinterBase.td"

// derivative: an expression over x, y = f(x) and the incoming gradient g; empty: zero everywhere.
class Sinter_Unary<string mnemonic, string payload_, string derivative_, int cost_ = 1, string range = "-2,2", string kinks_ = "",
                   TypeConstraint type = FloatTensor, dag attributes = (ins)>
    : Sinter_Op<mnemonic, !listconcat([Pure, SameOperandsAndResultType, Evaluable, DeclareOpInterfaceMethods<ElementInterface, ["elementCost", "isPointwise"]>],
                                      !if(!empty(derivative_), []<Trait>, [Differentiable]))> {
  string payload = payload_;
  string derivative = derivative_;
  let family = "unary";
  let inputRange = range;
  let kinks = kinks_;
  let arguments = !con((ins type:$x), attributes);
  let results = (outs type:$y);
  let assemblyFormat = "$x attr-dict `:` type($y)";
  let summary = "y = " # payload_;
  let extraClassDeclaration = [{ template <class E> E payload(E x) { return }] # payload_ # "; }\n"
    # !if(!empty(derivative_), "", [{ template <class E> E derivative(E x, E y, E g) { (void)x; (void)y; return }] # derivative_ # "; }\n");
  let extraClassDefinition = [{
    ::mlir::Value $cppClass::emitElement(unsigned, ::llvm::ArrayRef<Index> at, ElementSource &source) {
      return payload(source.expr(0, at)).value; }
    ::llvm::LogicalResult $cppClass::evaluate(::llvm::ArrayRef<const ReferenceTensor *> in, ::llvm::MutableArrayRef<ReferenceTensor> out) {
      for (int64_t i = 0; i < out[0].size(); ++i) out[0].set(i, payload(in[0]->at(i)));
      return ::llvm::success(); }
    int64_t $cppClass::elementCost() { return }] # cost_ # [{; }
    bool $cppClass::isPointwise() { return true; }
  }] # !if(!empty(derivative_), "", [{
    void $cppClass::buildGradient(::mlir::OpBuilder &builder, ::mlir::ValueRange grads, ::llvm::ArrayRef<bool>, ::llvm::MutableArrayRef<::mlir::Value> result) {
      TensorExpr g(builder, getLoc(), grads[0]);
      result[0] = derivative(g.with(getX()), g.with(getY()), g).value; }
  }]);
}

// da, db: expressions over a, b, y and g.
class Sinter_Binary<string mnemonic, string payload_, string da_, string db_, int cost_ = 1, string range = "-2,2", string kinks_ = "",
                    TypeConstraint type = FloatTensor, list<Trait> traits = []>
    : Sinter_Op<mnemonic, !listconcat([Pure, SameOperandsAndResultType, Evaluable, Differentiable,
                                       DeclareOpInterfaceMethods<ElementInterface, ["elementCost", "isPointwise"]>], traits)> {
  string payload = payload_;
  let family = "binary";
  let inputRange = range;
  let kinks = kinks_;
  let arguments = (ins type:$a, type:$b);
  let results = (outs type:$y);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($y)";
  let summary = "y = " # payload_;
  let extraClassDeclaration = [{ template <class E> E payload(E a, E b) { return }] # payload_ # [{; }
    template <class E> E derivativeA(E a, E b, E y, E g) { (void)a; (void)b; (void)y; return }] # da_ # [{; }
    template <class E> E derivativeB(E a, E b, E y, E g) { (void)a; (void)b; (void)y; return }] # db_ # "; }\n";
  let extraClassDefinition = [{
    ::mlir::Value $cppClass::emitElement(unsigned, ::llvm::ArrayRef<Index> at, ElementSource &source) {
      return payload(source.expr(0, at), source.expr(1, at)).value; }
    ::llvm::LogicalResult $cppClass::evaluate(::llvm::ArrayRef<const ReferenceTensor *> in, ::llvm::MutableArrayRef<ReferenceTensor> out) {
      for (int64_t i = 0; i < out[0].size(); ++i) out[0].set(i, payload(in[0]->at(i), in[1]->at(i)));
      return ::llvm::success(); }
    int64_t $cppClass::elementCost() { return }] # cost_ # [{; }
    bool $cppClass::isPointwise() { return true; }
    void $cppClass::buildGradient(::mlir::OpBuilder &builder, ::mlir::ValueRange grads, ::llvm::ArrayRef<bool> needed, ::llvm::MutableArrayRef<::mlir::Value> result) {
      TensorExpr g(builder, getLoc(), grads[0]), a = g.with(getA()), b = g.with(getB()), y = g.with(getY());
      if (needed[0]) result[0] = derivativeA(a, b, y, g).value;
      if (needed[1]) result[1] = derivativeB(a, b, y, g).value; }
  }];
}

class Sinter_BoolResult<string mnemonic, string payload_, TypeConstraint type, string family_>
    : Sinter_Op<mnemonic, [Pure, InferTypeOpAdaptor, Evaluable, SameTypeOperands,
                           DeclareOpInterfaceMethods<ElementInterface, ["isPointwise"]>]> {
  string payload = payload_;
  let family = family_;
  let arguments = (ins type:$a, type:$b);
  let results = (outs BoolTensor:$y);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($a)";
  let summary = "y = " # payload_;
  let extraClassDeclaration = [{ template <class E> E payload(E a, E b) { return }] # payload_ # "; }\n";
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *context, std::optional<::mlir::Location>, Adaptor operands,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(::llvm::cast<::mlir::RankedTensorType>(operands.getA().getType()).clone(::mlir::IntegerType::get(context, 1)));
      return ::llvm::success(); }
    ::mlir::Value $cppClass::emitElement(unsigned, ::llvm::ArrayRef<Index> at, ElementSource &source) {
      return payload(source.expr(0, at), source.expr(1, at)).value; }
    ::llvm::LogicalResult $cppClass::evaluate(::llvm::ArrayRef<const ReferenceTensor *> in, ::llvm::MutableArrayRef<ReferenceTensor> out) {
      for (int64_t i = 0; i < out[0].size(); ++i) out[0].set(i, payload(in[0]->at(i), in[1]->at(i)));
      return ::llvm::success(); }
    bool $cppClass::isPointwise() { return true; }
  }];
}

// Arithmetic.
def AddOp : Sinter_Binary<"add", "a + b", "g", "g", 1, "-2,2", "", NumberTensor, [Commutative]> { let hasFolder = 1; let hasCanonicalizeMethod = 1; }
def SubOp : Sinter_Binary<"sub", "a - b", "g", "-g", 1, "-2,2", "", NumberTensor> { let hasFolder = 1; let hasCanonicalizeMethod = 1; }
def MulOp : Sinter_Binary<"mul", "a * b", "g * b", "g * a", 1, "-2,2", "", NumberTensor, [Commutative]> { let hasFolder = 1; let hasCanonicalizeMethod = 1; }
def DivOp : Sinter_Binary<"div", "a / b", "g / b", "-(g * y / b)", 4, "0.5,2"> { let hasFolder = 1; let hasCanonicalizeMethod = 1; }
def PowOp : Sinter_Binary<"pow", "pow(a, b)", "select(eq(b, 0.0), 0.0 * g, g * b * pow(a, b - 1.0))", "select(a > 0.0, g * y * log(a), 0.0 * g)", 30, "0.3,2"> { let hasCanonicalizeMethod = 1; }
def Atan2Op : Sinter_Binary<"atan2", "atan2(a, b)", "g * b / (a * a + b * b)", "-(g * a / (a * a + b * b))", 30, "0.3,2">;
def MaximumOp : Sinter_Binary<"maximum", "max(a, b)", "select(a > b, g, select(eq(a, b), 0.5 * g, 0.0 * g))",
                              "select(a < b, g, select(eq(a, b), 0.5 * g, 0.0 * g))", 1, "-2,2", "a=b", NumberTensor, [Commutative]> { let hasFolder = 1; }
def MinimumOp : Sinter_Binary<"minimum", "min(a, b)", "select(a < b, g, select(eq(a, b), 0.5 * g, 0.0 * g))",
                              "select(a > b, g, select(eq(a, b), 0.5 * g, 0.0 * g))", 1, "-2,2", "a=b", NumberTensor, [Commutative]> { let hasFolder = 1; }
def NegOp : Sinter_Unary<"neg", "-x", "-g", 1, "-2,2", "", NumberTensor> { let hasFolder = 1; }
def AbsOp : Sinter_Unary<"abs", "abs(x)", "g * sign(x)", 1, "-2,2", "0", NumberTensor>;
def SignOp : Sinter_Unary<"sign", "sign(x)", "", 2, "-2,2", "0", NumberTensor>;
def ReciprocalOp : Sinter_Unary<"reciprocal", "1.0 / x", "-(g * y * y)", 4, "0.5,2">;

// Mathematics.
def ExpOp : Sinter_Unary<"exp", "exp(x)", "g * y", 12>;
def Expm1Op : Sinter_Unary<"expm1", "expm1(x)", "g * (y + 1.0)", 16>;
def LogOp : Sinter_Unary<"log", "log(x)", "g / x", 14, "0.3,3">;
def Log1pOp : Sinter_Unary<"log1p", "log1p(x)", "g / (1.0 + x)", 16, "-0.6,2">;
def SqrtOp : Sinter_Unary<"sqrt", "sqrt(x)", "g * 0.5 / y", 6, "0.3,3">;
def RsqrtOp : Sinter_Unary<"rsqrt", "rsqrt(x)", "g * (-0.5) * y / x", 8, "0.3,3">;
def SinOp : Sinter_Unary<"sin", "sin(x)", "g * cos(x)", 16>;
def CosOp : Sinter_Unary<"cos", "cos(x)", "-(g * sin(x))", 16>;
def TanOp : Sinter_Unary<"tan", "tan(x)", "g * (1.0 + y * y)", 20, "-1.2,1.2">;
def ErfOp : Sinter_Unary<"erf", "erf(x)", "g * 1.1283791670955126 * exp(-(x * x))", 20>;
def FloorOp : Sinter_Unary<"floor", "floor(x)", "", 1, "-2,2", "integers">;
def CeilOp : Sinter_Unary<"ceil", "ceil(x)", "", 1, "-2,2", "integers">;
def RoundOp : Sinter_Unary<"round", "round(x)", "", 1, "-2,2", "halves"> { let description = "To the nearest integer, ties to even."; }
def ClampOp : Sinter_Unary<"clamp", "min(max(x, d(getLower())), d(getUpper()))", "select(x >= d(getLower()) & x <= d(getUpper()), g, 0.0 * g)",
                           2, "-2,2", "bounds", FloatTensor, (ins F64Attr:$lower, F64Attr:$upper)>;

// Activations.
def ReluOp : Sinter_Unary<"relu", "max(x, 0.0)", "select(y > 0.0, g, 0.0 * g)", 1, "-2,2", "0"> { let hasFolder = 1; }
def Relu6Op : Sinter_Unary<"relu6", "min(max(x, 0.0), 6.0)", "select(x > 0.0 & x < 6.0, g, 0.0 * g)", 2, "-4,8", "0,6">;
def LeakyReluOp : Sinter_Unary<"leaky_relu", "select(x > 0.0, x, x * d(getSlope()))", "select(x > 0.0, g, g * d(getSlope()))",
                               2, "-2,2", "0", FloatTensor, (ins DefaultValuedAttr<F64Attr, "0.01">:$slope)>;
def EluOp : Sinter_Unary<"elu", "select(x > 0.0, x, expm1(min(x, 0.0)) * d(getAlpha()))", "select(x > 0.0, g, g * (y + d(getAlpha())))",
                         18, "-2,2", "0", FloatTensor, (ins DefaultValuedAttr<F64Attr, "1.0">:$alpha)>;
def GeluOp : Sinter_Unary<"gelu", "0.5 * x * (1.0 + erf(x * 0.7071067811865476))",
                          "g * (0.5 * (1.0 + erf(x * 0.7071067811865476)) + x * 0.3989422804014327 * exp(-0.5 * x * x))", 24>;
def GeluTanhOp : Sinter_Unary<"gelu_tanh", "0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))",
                              "g * geluTanhSlope(x)", 24>;
def SigmoidOp : Sinter_Unary<"sigmoid", "sigmoid(x)", "g * y * (1.0 - y)", 16>;
def TanhOp : Sinter_Unary<"tanh", "tanh(x)", "g * (1.0 - y * y)", 18>;
def SiluOp : Sinter_Unary<"silu", "silu(x)", "g * sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x)))", 18>;
def SoftplusOp : Sinter_Unary<"softplus", "softplus(x)", "g * sigmoid(x)", 24>;
def MishOp : Sinter_Unary<"mish", "x * tanh(softplus(x))", "g * (tanh(softplus(x)) + x * sigmoid(x) * (1.0 - tanh(softplus(x)) * tanh(softplus(x))))", 44>;
def SoftsignOp : Sinter_Unary<"softsign", "x / (1.0 + abs(x))", "g / ((1.0 + abs(x)) * (1.0 + abs(x)))", 6, "-2,2", "0">;
def HardswishOp : Sinter_Unary<"hardswish", "x * min(max(x + 3.0, 0.0), 6.0) / 6.0",
                               "select(x < -3.0, 0.0 * g, select(x > 3.0, g, g * (x / 3.0 + 0.5)))", 4, "-5,5", "-3,3">;
def PreluOp : Sinter_Binary<"prelu", "select(a > 0.0, a, a * b)", "select(a > 0.0, g, g * b)", "select(a > 0.0, 0.0 * g, g * a)", 2, "-2,2", "a=0"> {
  let description = "a: input; b: slope, already expanded to the input's shape.";
}

// Comparison and logic.
def EqOp : Sinter_BoolResult<"eq", "eq(a, b)", AnyTensor_, "compare">;
def NeOp : Sinter_BoolResult<"ne", "ne(a, b)", AnyTensor_, "compare">;
def LtOp : Sinter_BoolResult<"lt", "a < b", NumberTensor, "compare">;
def LeOp : Sinter_BoolResult<"le", "a <= b", NumberTensor, "compare">;
def GtOp : Sinter_BoolResult<"gt", "a > b", NumberTensor, "compare">;
def GeOp : Sinter_BoolResult<"ge", "a >= b", NumberTensor, "compare">;
def LogicalAndOp : Sinter_BoolResult<"logical_and", "a & b", BoolTensor, "logic">;
def LogicalOrOp : Sinter_BoolResult<"logical_or", "a | b", BoolTensor, "logic">;
def LogicalXorOp : Sinter_BoolResult<"logical_xor", "ne(a, b)", BoolTensor, "logic">;
def LogicalNotOp : Sinter_Unary<"logical_not", "!x", "", 1, "-2,2", "", BoolTensor> { let family = "logic"; let hasFolder = 1; }

def WhereOp : Sinter_Op<"where", [Pure, AllTypesMatch<["a", "b", "y"]>, Evaluable, Differentiable,
                                  DeclareOpInterfaceMethods<ElementInterface, ["isPointwise"]>]> {
  let summary = "y = condition ? a : b";
  let family = "where";
  let arguments = (ins BoolTensor:$condition, AnyTensor_:$a, AnyTensor_:$b);
  let results = (outs AnyTensor_:$y);
  let assemblyFormat = "$condition `,` $a `,` $b attr-dict `:` type($condition) `,` type($y)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def CastOp : Sinter_Op<"cast", [Pure, SameOperandsAndResultShape, Evaluable, Differentiable,
                                DeclareOpInterfaceMethods<ElementInterface, ["isPointwise"]>]> {
  let summary = "converts elements to the result's type: floats to integers truncate towards zero and saturate, NaN gives 0; to bool: x != 0";
  let family = "cast";
  let arguments = (ins AnyTensor_:$x);
  let results = (outs AnyTensor_:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def StopGradientOp : Sinter_Op<"stop_gradient", [Pure, SameOperandsAndResultType, Evaluable,
                               DeclareOpInterfaceMethods<ElementInterface, ["isPointwise"]>]> {
  let summary = "y = x, with gradient zero";
  let family = "identity";
  let arguments = (ins AnyTensor_:$x);
  let results = (outs AnyTensor_:$y);
  let assemblyFormat = "$x attr-dict `:` type($y)";
  let hasFolder = 1;
}
#endif
