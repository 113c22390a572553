#include "ops/Fold.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FoldInterfaces.h"

using namespace mlir;

namespace sinter::ir {

/// Results of more elements than this are computed when the program runs.
static constexpr int64_t kMaxFoldedElements = 1024;

std::optional<Number> filledWith(Attribute constant) {
  if (auto real = dyn_cast_or_null<FloatAttr>(constant))
    return Number{false, real.getValueAsDouble(), 0};
  auto integer = dyn_cast_or_null<IntegerAttr>(constant);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.getType().isUnsignedInteger() || integer.getType().isInteger(1);
  APInt bits = integer.getValue();
  return Number{true, 0, isUnsigned ? int64_t(bits.getZExtValue()) : bits.getSExtValue()};
}

bool isFilledWith(Attribute constant, double number) {
  auto value = filledWith(constant);
  return value && value->toDouble() == number;
}

std::optional<Number> filledWith(Value value) {
  Attribute constant;
  return matchPattern(value, m_Constant(&constant)) ? filledWith(constant) : std::nullopt;
}

bool isFilledWith(Value value, double number) {
  auto filled = filledWith(value);
  return filled && filled->toDouble() == number;
}

TypedAttr scalarAttr(Number number, Type element) {
  ReferenceTensor rounded({}, element);
  rounded.set(0, number);
  if (rounded.isFloat())
    return FloatAttr::get(element, rounded.real(0));
  return IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(), rounded.at(0).integer,
                                         /*isSigned=*/true,
                                         /*implicitTrunc=*/true));
}

TypedAttr scalarAttr(double number, Type element) {
  return scalarAttr(Number{false, number, 0}, element);
}

Attribute canonicalConstant(ElementsAttr elements) {
  auto dense = dyn_cast<DenseElementsAttr>(elements);
  if (!dense || !dense.isSplat())
    return elements;
  // sinter.full computes with doubles, which hold integers up to 2^53.
  Attribute value = dense.getSplatValue<Attribute>();
  auto integer = dyn_cast<IntegerAttr>(value);
  return integer && integer.getValue().getSignificantBits() > 53 ? Attribute(elements) : value;
}

namespace {

std::optional<ReferenceTensor> tensorOf(Attribute constant, ArrayRef<int64_t> shape, Type element) {
  auto number = filledWith(constant);
  if (!number)
    return ReferenceTensor::fromElements(cast<ElementsAttr>(constant));
  ReferenceTensor tensor(shape, element);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, *number);
  return tensor;
}

Attribute attributeOf(const ReferenceTensor &tensor) {
  SmallVector<Attribute> values;
  for (int64_t i = 0; i < tensor.size(); ++i)
    values.push_back(scalarAttr(tensor.at(i), tensor.element()));
  return canonicalConstant(
      DenseElementsAttr::get(RankedTensorType::get(tensor.dims(), tensor.element()), values));
}

bool isSmall(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.hasStaticShape() && tensor.getNumElements() <= kMaxFoldedElements;
}

struct ConstantFolding : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;

  LogicalResult fold(Operation *op, ArrayRef<Attribute> constants,
                     SmallVectorImpl<OpFoldResult> &results) const final {
    auto evaluable = dyn_cast<EvaluableOpInterface>(op);
    if (!evaluable || constants.empty() ||
        !llvm::all_of(constants, [](Attribute a) { return a != nullptr; }))
      return failure();
    // One element stands for all of an elementwise op over filled tensors, whatever their shape.
    auto pointwise = dyn_cast<ElementOpInterface>(op);
    bool single = pointwise && pointwise.isPointwise() &&
                  llvm::all_of(constants, [](Attribute a) { return filledWith(a).has_value(); });
    if (!single && !(llvm::all_of(op->getOperandTypes(), isSmall) &&
                     llvm::all_of(op->getResultTypes(), isSmall)))
      return failure();
    auto shapeOf = [&](Value value) {
      return single ? ArrayRef<int64_t>() : tensorTypeOf(value).getShape();
    };

    SmallVector<ReferenceTensor> inputs, outputs;
    for (auto [operand, constant] : llvm::zip(op->getOperands(), constants)) {
      auto tensor = tensorOf(constant, shapeOf(operand), elementType(operand));
      if (!tensor)
        return failure();
      inputs.push_back(std::move(*tensor));
    }
    for (Value result : op->getResults())
      outputs.emplace_back(shapeOf(result), elementType(result));
    SmallVector<const ReferenceTensor *> pointers;
    for (ReferenceTensor &input : inputs)
      pointers.push_back(&input);
    if (failed(evaluable.evaluate(pointers, outputs)))
      return failure();
    for (ReferenceTensor &output : outputs)
      results.push_back(attributeOf(output));
    return success();
  }
};

} // namespace

void addConstantFolding(SinterDialect &dialect) {
  dialect.addInterface(std::make_unique<ConstantFolding>(&dialect));
}

} // namespace sinter::ir
