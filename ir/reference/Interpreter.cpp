#include "sinter/ir/Dialect.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace sinter::ir {

/// More elements than anybody interprets: a size that comes of a mistake shall be an error, not an
/// exhausted machine.
static constexpr int64_t kMaxElements = int64_t(1) << 31;

/// The value of a size; nothing while it depends on an unbound symbol.
static std::optional<int64_t> valueOf(AffineExpr size, ArrayRef<int64_t> symbols) {
  SmallVector<AffineExpr> values;
  for (auto [position, value] : llvm::enumerate(symbols))
    values.push_back(value < 0 ? getAffineSymbolExpr(position, size.getContext())
                               : getAffineConstantExpr(value, size.getContext()));
  return constantSize(simplify(size.replaceSymbols(values)));
}

static std::string argumentName(Operation *function, unsigned argument) {
  std::string name = "argument " + std::to_string(argument);
  if (auto port =
          cast<FunctionOpInterface>(function).getArgAttrOfType<StringAttr>(argument, kPortNameAttr))
    name += " ('" + port.str() + "')";
  return name;
}

/// Binds symbols that are the size of a dimension by themselves; a repeated one must agree.
static void bindPlainSymbols(Type type, ArrayRef<int64_t> sizes,
                             SmallVectorImpl<int64_t> &symbols) {
  for (auto [dim, size] : llvm::zip_equal(dimsOf(type), sizes))
    if (auto symbol = dyn_cast<AffineSymbolExpr>(dim);
        symbol && symbol.getPosition() < symbols.size())
      if (int64_t &value = symbols[symbol.getPosition()]; value < 0)
        value = size;
}

static LogicalResult checkSymbolRanges(Operation *function, ArrayRef<int64_t> symbols) {
  auto module = function->getParentOfType<ModuleOp>();
  auto declared = module ? module->getAttrOfType<ArrayAttr>(kSymbolsAttr) : nullptr;
  if (!declared)
    return success();
  for (auto [attr, value] : llvm::zip(declared, symbols)) {
    auto symbol = dyn_cast<DictionaryAttr>(attr);
    if (!symbol || value < 0)
      continue;
    auto name = symbol.getAs<StringAttr>("name");
    auto lower = symbol.getAs<IntegerAttr>("lower"), upper = symbol.getAs<IntegerAttr>("upper");
    if ((lower && value < lower.getInt()) || (upper && value > upper.getInt()))
      return function->emitError()
             << "symbol " << (name ? name.getValue() : "?") << " = " << value
             << " is outside the range it was declared with, [" << lower << ", " << upper << "]";
  }
  return success();
}

LogicalResult Interpreter::bindSymbols(Operation *function, ArrayRef<Type> types,
                                       ArrayRef<ReferenceTensor> arguments) {
  if (types.size() != arguments.size())
    return function->emitError() << "takes " << types.size() << " arguments, got "
                                 << arguments.size();
  symbols.assign(kMaxSymbols, -1);
  auto mismatch = [&](unsigned i) {
    return function->emitError() << argumentName(function, i) << ": expected " << types[i]
                                 << ", got " << arguments[i].typeName();
  };
  for (auto [i, type] : llvm::enumerate(types)) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || tensor.getRank() != arguments[i].rank() ||
        tensor.getElementType() != arguments[i].element())
      return mismatch(i);
    bindPlainSymbols(type, arguments[i].dims(), symbols);
  }
  for (auto [i, type] : llvm::enumerate(types))
    for (auto [dim, size] : llvm::zip_equal(dimsOf(type), arguments[i].dims())) {
      auto expected = valueOf(dim, symbols);
      if (!expected)
        return function->emitError()
               << argumentName(function, i) << ": the symbols of " << type
               << " can't be found: each must be the whole size of a dimension of some argument";
      if (*expected != size)
        return mismatch(i) << ", where that size is " << *expected;
    }
  return checkSymbolRanges(function, symbols);
}

FailureOr<std::vector<ReferenceTensor>> Interpreter::run(Operation *function,
                                                         ArrayRef<ReferenceTensor> arguments) {
  auto callee = dyn_cast<FunctionOpInterface>(function);
  if (!callee || callee.isExternal())
    return function->emitError("can't be interpreted: it is not a function with a body");
  if (failed(bindSymbols(function, callee.getArgumentTypes(), arguments)))
    return failure();
  SmallVector<const ReferenceTensor *> pointers;
  for (const ReferenceTensor &argument : arguments)
    pointers.push_back(&argument);
  assigned.clear();
  auto results = runBlock(callee.getFunctionBody().front(), pointers);
  if (succeeded(results))
    for (auto &[name, value] : assigned)
      variables[name] = std::move(value);
  assigned.clear();
  return results;
}

FailureOr<std::vector<ReferenceTensor>>
Interpreter::runBlock(Block &block, ArrayRef<const ReferenceTensor *> arguments) {
  symbols.resize(kMaxSymbols, -1);
  Values values;
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = *value;
  for (Operation &op : block.without_terminator())
    if (failed(runOp(op, values)))
      return failure();
  std::vector<ReferenceTensor> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(values[value]);
  return results;
}

LogicalResult Interpreter::runOp(Operation &op, Values &values) {
  SmallVector<const ReferenceTensor *> operands;
  for (Value operand : op.getOperands()) {
    auto found = values.find(operand);
    if (found == values.end())
      return op.emitOpError("uses a value from outside the function it is run in");
    operands.push_back(&found->second);
  }
  if (isa<ReadOp>(op))
    return runRead(op, values);
  if (auto assign = dyn_cast<AssignOp>(op)) {
    assigned[assign.getVariable().str()] = *operands[0];
    return success();
  }
  if (auto shown = dyn_cast<ProbeOp>(op)) {
    if (probe)
      probe(shown.getLabel(), *operands[0]);
    return success();
  }
  return isa<GroupOp>(op) ? runGroup(op, operands, values) : evaluate(op, operands, values);
}

LogicalResult Interpreter::runRead(Operation &op, Values &values) {
  std::string name = cast<ReadOp>(op).getVariable().str();
  auto variable = variables.find(name);
  if (variable == variables.end())
    return op.emitOpError() << "reads @" << name
                            << ", which was given no value: set Interpreter::variables[\"" << name
                            << "\"] before the run";
  auto shape = staticShape(op, op.getResult(0).getType());
  if (failed(shape))
    return failure();
  if (variable->second.dims() != ArrayRef(*shape) ||
      variable->second.element() != elementType(op.getResult(0)))
    return op.emitOpError() << "reads @" << name << " as " << op.getResult(0).getType()
                            << ", its value is " << variable->second.typeName();
  values[op.getResult(0)] = variable->second;
  return success();
}

// What a group passes between its ops stays in registers; its outputs are stored.
LogicalResult Interpreter::runGroup(Operation &op, Operands operands, Values &values) {
  bool outer = std::exchange(insideGroup, true);
  auto outputs = runBlock(op.getRegion(0).front(), operands);
  insideGroup = outer;
  if (failed(outputs))
    return failure();
  for (auto [result, output] : llvm::zip_equal(op.getResults(), *outputs))
    values[result] = output.converted(keepsDoubles());
  return success();
}

LogicalResult Interpreter::evaluate(Operation &op, Operands operands, Values &values) {
  auto evaluable = dyn_cast<EvaluableOpInterface>(op);
  if (!evaluable)
    return op.emitOpError("has no reference definition (EvaluableOpInterface): a pass that expands "
                          "it must run before the "
                          "interpreter, for sinter.gradients sinter-gradient");
  std::vector<ReferenceTensor> results;
  for (Type type : op.getResultTypes()) {
    auto shape = staticShape(op, type);
    if (failed(shape))
      return failure();
    results.emplace_back(*shape, cast<RankedTensorType>(type).getElementType(), keepsDoubles());
  }
  if (failed(evaluable.evaluate(operands, results)))
    return failure();
  for (auto [result, value] : llvm::zip_equal(op.getResults(), results))
    values[result] = std::move(value);
  return success();
}

FailureOr<SmallVector<int64_t>> Interpreter::staticShape(Operation &op, Type type) const {
  if (!isa<RankedTensorType>(type))
    return op.emitOpError() << "has a result of type " << type
                            << "; the interpreter knows ranked tensors only";
  SmallVector<int64_t> shape;
  int64_t count = 1;
  for (AffineExpr dim : dimsOf(type)) {
    auto size = valueOf(dim, symbols);
    if (!size)
      return op.emitOpError() << "has a result of type " << type
                              << " with a symbol that no argument's size gives";
    if (*size < 0 || llvm::MulOverflow(count, *size, count) || count > kMaxElements)
      return op.emitOpError() << "has a result of type " << type << " whose size here, " << *size
                              << ", is negative or too large";
    shape.push_back(*size);
  }
  return shape;
}

bool Interpreter::keepsDoubles() const {
  return rounding == Rounding::None || (rounding == Rounding::Stores && insideGroup);
}

} // namespace sinter::ir
