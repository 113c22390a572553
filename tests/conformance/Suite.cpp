#include "Suite.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

using namespace mlir;
using sinter::ir::ReferenceTensor;

namespace sinter::conformance {

/// Seeds the inputs by the op's name, so that adding an op changes no other op's inputs.
static uint64_t seedOf(StringRef name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : name)
    hash = (hash ^ uint8_t(c)) * 0x100000001b3;
  return hash;
}

Suite::Suite(MLIRContext &context, const OpInfo &op, const std::map<std::string, Bound> &bounds,
             Totals &totals)
    : context(context), op(op), bounds(bounds), totals(totals), random(seedOf(op.mnemonic)),
      handler(&context,
              [this](Diagnostic &diagnostic) { diagnostics += diagnostic.str() + "\n"; }) {}

std::vector<ReferenceTensor> Suite::Case::allArguments() const {
  std::vector<ReferenceTensor> all = arguments;
  all.insert(all.end(), weights.begin(), weights.end());
  return all;
}

static SmallVector<int64_t> sizesOf(Type type) {
  SmallVector<AffineExpr> values;
  for (const SymbolValue &symbol : kSymbols)
    values.push_back(getAffineConstantExpr(symbol.value, type.getContext()));
  SmallVector<int64_t> sizes;
  for (AffineExpr dim : ir::dimsOf(type))
    sizes.push_back(*ir::constantSize(ir::simplify(dim.replaceSymbols(values))));
  return sizes;
}

ReferenceTensor Suite::draw(const Input &input) {
  ReferenceTensor tensor(sizesOf(input.type), input.type.getElementType());
  input.fill(tensor, random);
  return tensor;
}

bool Suite::build() {
  OpBuilder b(&context);
  module = ModuleOp::create(b.getUnknownLoc());
  SmallVector<Attribute> symbols;
  for (const SymbolValue &symbol : kSymbols)
    symbols.push_back(
        b.getDictionaryAttr({b.getNamedAttr("name", b.getStringAttr(symbol.name)),
                             b.getNamedAttr("lower", b.getI64IntegerAttr(symbol.lower)),
                             b.getNamedAttr("upper", b.getI64IntegerAttr(symbol.upper))}));
  (*module)->setAttr(ir::kSymbolsAttr, b.getArrayAttr(symbols));
  for (Row &row : rowsOf(&context, op))
    cases.emplace_back().row = std::move(row);
  for (size_t i = 0; i < cases.size(); ++i)
    buildCase(i);
  totals.ops += 1;
  totals.rows += int64_t(cases.size());
  if (testing::Test::HasFailure())
    return false;
  diagnostics.clear();
  if (succeeded(verify(*module)))
    return true;
  ADD_FAILURE() << op.mnemonic << ": the rows are not valid: " << diagnostics;
  return false;
}

void Suite::print() const {
  OpPrintingFlags flags;
  (*module)->print(llvm::outs(), flags.enableDebugInfo());
  llvm::outs().flush(); // GoogleTest writes to the same place its own way
}

Block *Suite::addFunction(StringRef name, ArrayRef<Type> arguments) {
  OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
  auto type = b.getFunctionType(arguments, {});
  return func::FuncOp::create(b, b.getUnknownLoc(), name, type).addEntryBlock();
}

void Suite::finishFunction(Block *body, ValueRange results) {
  OpBuilder b = OpBuilder::atBlockEnd(body);
  func::ReturnOp::create(b, b.getUnknownLoc(), results);
  auto function = cast<func::FuncOp>(body->getParentOp());
  function.setType(b.getFunctionType(body->getArgumentTypes(), results.getTypes()));
}

/// Adds the result types that the op infers. Inference reads properties, which only an operation
/// can be given generically.
static LogicalResult inferResults(OperationState &state) {
  auto info = state.name.getRegisteredInfo();
  auto infer = info ? info->getInterface<InferTypeOpInterface>() : nullptr;
  if (!infer)
    return emitError(state.location)
           << state.name << " infers no result types: its rows must give them";
  Operation *untyped = Operation::create(state);
  LogicalResult inferred = infer->inferReturnTypes(
      state.getContext(), state.location, state.operands, untyped->getDiscardableAttrDictionary(),
      untyped->getPropertiesStorage(), {}, state.types);
  untyped->destroy();
  return inferred;
}

std::optional<Suite::Values> Suite::buildRow(const Case &c, Block *body,
                                             const std::string &prefix) {
  OpBuilder b = OpBuilder::atBlockEnd(body);
  Location loc = NameLoc::get(b.getStringAttr(c.name));
  SmallVector<Value> operands;
  for (auto [input, argument] : llvm::zip(c.row.inputs, body->getArguments()))
    operands.push_back(
        input.expanded ? Value(ir::ExpandOp::create(b, loc, input.expanded, argument)) : argument);
  if (c.row.build)
    return c.row.build(b, loc, operands, prefix);
  OperationState state(loc, "sinter." + op.mnemonic, operands, c.row.results, c.row.attributes);
  if (c.row.results.empty() && failed(inferResults(state)))
    return std::nullopt;
  return Values(b.create(state)->getResults());
}

bool Suite::isDifferentiable(const Case &c, ValueRange results) const {
  auto isFloat = [](Value value) { return isa<FloatType>(ir::elementType(value)); };
  if (!c.row.smooth || llvm::none_of(results, isFloat))
    return false;
  Operation *made = results.front().getDefiningOp();
  return c.row.build || isa<ir::DifferentiableOpInterface, ir::DecomposableOpInterface>(made);
}

/// Weights of a result's elements: an argument, or, where its sizes are no plain symbols, which
/// arguments must have, drawn inside the function.
static bool canBeArgument(Type type) {
  return llvm::all_of(ir::dimsOf(type), [](AffineExpr dim) {
    return isa<AffineConstantExpr, AffineSymbolExpr>(dim);
  });
}

static Value drawWeights(OpBuilder &b, Location loc, Type type) {
  auto stateType = RankedTensorType::get({2}, b.getI64Type());
  Value state = ir::ConstantOp::create(b, loc, stateType,
                                       DenseElementsAttr::get(stateType, ArrayRef<int64_t>{17, 4}));
  Value uniform = ir::RandomUniformOp::create(b, loc, type, state, 1);
  return ir::SubOp::create(b, loc, uniform,
                           ir::FullOp::create(b, loc, cast<RankedTensorType>(type), 0.5));
}

Value Suite::buildLoss(Case &c, Block *body, ValueRange results) {
  OpBuilder b = OpBuilder::atBlockEnd(body);
  Location loc = NameLoc::get(b.getStringAttr(c.name));
  Value total;
  size_t weight = c.arguments.size();
  for (Value result : results) {
    if (!isa<FloatType>(ir::elementType(result)))
      continue;
    Value weights = canBeArgument(result.getType()) ? body->getArgument(weight++)
                                                    : drawWeights(b, loc, result.getType());
    SmallVector<int64_t> all =
        llvm::to_vector(llvm::seq<int64_t>(0, ir::tensorTypeOf(result).getRank()));
    Value sum = ir::SumOp::create(b, loc, ir::MulOp::create(b, loc, result, weights), all);
    if (total && sum.getType() != total.getType())
      sum = ir::CastOp::create(b, loc, total.getType(), sum);
    total = total ? Value(ir::AddOp::create(b, loc, total, sum)) : sum;
  }
  return total;
}

void Suite::buildCase(size_t index) {
  Case &c = cases[index];
  std::string number = std::to_string(index);
  c.name = op.mnemonic + "[" + number + "]" + c.row.name;
  SmallVector<Type> types;
  for (const std::vector<Input> *inputs : {&c.row.inputs, &c.row.carriers})
    for (const Input &input : *inputs) {
      types.push_back(input.type);
      c.arguments.push_back(draw(input));
    }
  OpBuilder b = OpBuilder::atBlockBegin(module->getBody());
  for (const auto &[name, input] : c.row.variables) {
    ir::VariableOp::create(b, b.getUnknownLoc(), "r" + number + name, input.type, false);
    c.variables["r" + number + name] = draw(input);
  }
  Block *body = addFunction("f" + number, types);
  auto results = buildRow(c, body, "r" + number);
  if (!results) {
    ADD_FAILURE() << c.name << ": the op can't be built: " << diagnostics;
    finishFunction(body, {});
    return;
  }
  finishFunction(body, *results);
  if (isDifferentiable(c, *results))
    buildGradient(index, types, *results);
}

void Suite::buildGradient(size_t index, SmallVector<Type> types, ValueRange results) {
  Case &c = cases[index];
  std::string number = std::to_string(index);
  for (auto [i, input] : llvm::enumerate(c.row.inputs))
    if (isa<FloatType>(input.type.getElementType()))
      c.differentiated.push_back(unsigned(i));
  if (c.differentiated.empty())
    return;
  for (Value result : results)
    if (isa<FloatType>(ir::elementType(result)) && canBeArgument(result.getType())) {
      types.push_back(result.getType());
      c.weights.push_back(draw({ir::tensorTypeOf(result), uniform(-1, 1), {}}));
    }
  Block *body = addFunction("loss" + number, types);
  finishFunction(body, buildLoss(c, body, *buildRow(c, body, "r" + number)));
  body = addFunction("grad" + number, types);
  Value loss = buildLoss(c, body, *buildRow(c, body, "r" + number));
  SmallVector<Value> wrt;
  for (unsigned argument : c.differentiated)
    wrt.push_back(body->getArgument(argument));
  OpBuilder b = OpBuilder::atBlockEnd(body);
  auto grads = ir::GradientsOp::create(b, NameLoc::get(b.getStringAttr(c.name)),
                                       ValueRange(wrt).getTypes(), loss, Value(), wrt);
  finishFunction(body, grads->getResults());
}

} // namespace sinter::conformance
