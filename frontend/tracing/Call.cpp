#include "tracing/Call.h"

#include "sinter/ir/Dialect.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::detail {

Call::Call(const char *op, std::initializer_list<const Operand *> operands)
    : at((*operands.begin())->at), op(op) {
  std::shared_ptr<SessionState> session;
  for (const Operand *operand : operands) {
    if (operand->kind == Operand::Kind::Tensor && !operand->state)
      sinter::detail::fail(operand->at, op,
                           ": the Tensor has no value; it was made by Tensor() and never set",
                           inModule());
    if (operand->variable)
      session = operand->variable->session;
    else if (!session && operand->state)
      session = operand->state->session;
  }
  open(session);
}

Call::Call(const char *op, Where at) : at(at), op(op) { open(nullptr); }

Call::Call(const char *op, Where at, const std::shared_ptr<SessionState> &session)
    : at(at), op(op) {
  open(session);
}

void Call::open(const std::shared_ptr<SessionState> &session) {
  trace = Trace::current();
  if (!trace) {
    std::shared_ptr<SessionState> chosen = session ? session : SessionState::current();
    if (!chosen)
      sinter::detail::fail(at, op,
                           ": no Session in this thread; make one first: sn::Session session;");
    trace = &own.emplace(chosen, "eager", Trace::Options{Trace::Kind::Eager}, at);
  }
  if (trace->depth++)
    at = trace->line;
  else
    trace->line = at;
}

Call::~Call() { --trace->depth; }

Value Call::value(const Operand &operand, Type type) {
  MLIRContext &context = trace->session->context;
  switch (operand.kind) {
  case Operand::Kind::Tensor: {
    Value value = trace->value(operand.state, at);
    return type ? cast(value, type) : value;
  }
  case Operand::Kind::Variable: {
    Value value = trace->read(operand.variable);
    return type ? cast(value, type) : value;
  }
  case Operand::Kind::Float:
    if (!type)
      type = elementType(context, DType::F32);
    if (isa<FloatType>(type))
      return filled(RankedTensorType::get({}, type), operand.real);
    return filled(RankedTensorType::get({}, type), int64_t(operand.real));
  case Operand::Kind::Integer:
  case Operand::Kind::Bool:
    break;
  }
  if (!type)
    type = elementType(context, operand.kind == Operand::Kind::Bool ? DType::Bool : DType::I64);
  if (isa<FloatType>(type))
    return filled(RankedTensorType::get({}, type), double(operand.integer));
  return filled(RankedTensorType::get({}, type), operand.integer);
}

Value Call::floating(const Operand &operand) {
  Value x = value(operand);
  return isa<FloatType>(ir::elementType(x)) ? x : cast(x, DType::F32);
}

static bool isNumber(const Operand &operand) { return operand.kind >= Operand::Kind::Bool; }

/// Order of the kinds bool < integers < floats.
static int rankOf(DType type) { return isFloat(type) ? 2 : type == DType::Bool ? 0 : 1; }

Type Call::commonType(const Operand &a, const Operand &b) {
  MLIRContext &context = trace->session->context;
  auto kindOf = [](const Operand &operand) {
    return operand.kind == Operand::Kind::Float     ? 2
           : operand.kind == Operand::Kind::Integer ? 1
                                                    : 0;
  };
  if (isNumber(a) && isNumber(b))
    return elementType(context, std::array{DType::Bool, DType::I64,
                                           DType::F32}[size_t(std::max(kindOf(a), kindOf(b)))]);
  if (isNumber(a) || isNumber(b)) {
    const Operand &number = isNumber(a) ? a : b;
    Type type = ir::elementType(value(isNumber(a) ? b : a));
    if (rankOf(dtypeOf(type)) >= kindOf(number))
      return type;
    return elementType(context, kindOf(number) == 2 ? DType::F32 : DType::I64);
  }
  Value left = value(a), right = value(b);
  DType x = dtypeOf(left.getType()), y = dtypeOf(right.getType());
  if (x == y)
    return ir::elementType(left);
  if (rankOf(x) != rankOf(y))
    return elementType(context, rankOf(x) > rankOf(y) ? x : y);
  if (byteSize(x) == byteSize(y)) {
    if (isFloat(x))
      fail("f16 and bf16 meet only by an explicit cast: " + type(left) + " and " + type(right),
           {left, right});
    return elementType(context, DType::I16); // i8 and u8
  }
  return elementType(context, byteSize(x) > byteSize(y) ? x : y);
}

std::pair<Value, Value> Call::matched(const Operand &a, const Operand &b, bool floating) {
  Type type = commonType(a, b);
  if (floating && !isa<FloatType>(type))
    type = elementType(trace->session->context, DType::F32);
  Value left = value(a, type), right = value(b, type);
  if (left.getType() == right.getType())
    return {left, right};
  ir::Dims dims;
  if (isNumber(a) || isNumber(b))
    dims = ir::dimsOf(isNumber(a) ? right : left);
  else
    dims = commonShape(value(a), value(b));
  return {broadcast(left, dims), broadcast(right, dims)};
}

Value Call::cast(Value value, Type element) {
  if (ir::elementType(value) == element)
    return value;
  return emit("cast", value, {}, ir::tensorType(ir::dimsOf(value), element));
}

Value Call::broadcast(Value value, llvm::ArrayRef<AffineExpr> dims) {
  Type type = ir::tensorType(dims, ir::elementType(value));
  return value.getType() == type ? value : emit("expand", value, {}, type);
}

ir::Dims Call::commonShape(Value a, Value b) {
  ir::Dims left = ir::dimsOf(a), right = ir::dimsOf(b);
  ir::Dims &longer = left.size() < right.size() ? right : left;
  ir::Dims &shorter = left.size() < right.size() ? left : right;
  ir::Dims result = longer;
  size_t shift = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    AffineExpr &size = result[shift + i];
    if (ir::isOne(size))
      size = shorter[i];
    else if (size != shorter[i] && !ir::isOne(shorter[i]))
      fail(text("shapes do not broadcast: ", type(a), " and ", type(b), " (sizes ",
                trace->symbols.dim(longer[shift + i]).str(), " and ",
                trace->symbols.dim(shorter[i]).str(), ", counted from the right)"),
           {a, b});
  }
  return result;
}

Value Call::reshape(Value value, llvm::ArrayRef<AffineExpr> dims) {
  Type type = ir::tensorType(dims, ir::elementType(value));
  return value.getType() == type ? value : emit("reshape", value, {}, type);
}

Value Call::permute(Value value, std::vector<int64_t> order) {
  bool moves = false;
  for (size_t i = 0; i < order.size(); ++i)
    moves |= order[i] != int64_t(i);
  return moves ? emit("transpose", value, {{"permutation", std::move(order)}}) : value;
}

Value Call::filled(RankedTensorType type, double number) {
  auto value = FloatAttr::get(type.getElementType(), number);
  return ir::FullOp::create(builder(), location(), type, value);
}

Value Call::filled(RankedTensorType type, int64_t number) {
  if (isa<FloatType>(type.getElementType()))
    return filled(type, double(number));
  auto integer = llvm::cast<IntegerType>(type.getElementType());
  int64_t width = integer.getWidth();
  int64_t least = integer.isUnsigned() || width == 1 ? 0 : llvm::minIntN(width);
  int64_t most = width == 64            ? llvm::maxIntN(64)
                 : integer.isUnsigned() ? int64_t(llvm::maxUIntN(width))
                 : width == 1           ? 1
                                        : llvm::maxIntN(width);
  if (number < least || number > most)
    fail(text("the number ", number, " does not fit ", name(dtypeOf(type)), ", which holds ", least,
              " to ", most, "; cast the Tensor first"));
  auto value = IntegerAttr::get(type.getElementType(), number);
  return ir::FullOp::create(builder(), location(), type, value);
}

Value Call::like(Value value, double number) {
  auto type = llvm::cast<RankedTensorType>(value.getType());
  return isa<FloatType>(type.getElementType()) ? filled(type, number)
                                               : filled(type, int64_t(number));
}

NamedAttribute Call::attribute(const Attr &attr) const {
  Builder builder(&trace->session->context);
  auto make = [&]<class T>(const T &content) -> Attribute {
    if constexpr (std::is_same_v<T, bool>)
      return builder.getUnitAttr();
    else if constexpr (std::is_same_v<T, int64_t>)
      return builder.getI64IntegerAttr(content);
    else if constexpr (std::is_same_v<T, double>)
      return builder.getF64FloatAttr(content);
    else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
      return builder.getDenseI64ArrayAttr(content);
    else if constexpr (std::is_same_v<T, DType>)
      return TypeAttr::get(elementType(trace->session->context, content));
    else
      return builder.getStringAttr(content);
  };
  return builder.getNamedAttr(attr.name, std::visit(make, attr.content));
}

namespace {

/// Properties of an op that does not exist yet, for type inference.
class Properties {
public:
  Properties(RegisteredOperationName name, DictionaryAttr attributes,
             llvm::function_ref<InFlightDiagnostic()> emitError)
      : name(name), bytes(size_t(std::max(name.getOpPropertyByteSize(), 1))) {
    if (!name.getOpPropertyByteSize())
      return;
    name.initOpProperties(storage(), nullptr);
    name.populateDefaultProperties(storage());
    ok = succeeded(name.setOpPropertiesFromAttribute(name, storage(), attributes, emitError));
  }
  ~Properties() {
    if (name.getOpPropertyByteSize())
      name.destroyOpProperties(storage());
  }
  OpaqueProperties storage() { return OpaqueProperties(bytes.data()); }
  bool ok = true;

private:
  RegisteredOperationName name;
  std::vector<std::max_align_t> bytes; // more than enough bytes, aligned for any property
};

} // namespace

std::vector<Value> Call::emitMany(const char *opName, const Values &operands,
                                  const std::vector<Attr> &attributes, TypeRange results) {
  MLIRContext &context = trace->session->context;
  std::string message;
  std::vector<Value> values;
  {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (message.empty())
        message = diagnostic.str();
    });
    OperationState state(location(), (llvm::StringRef("sinter.") + opName).str());
    state.addOperands(operands);
    for (const Attr &attr : attributes)
      if (!std::holds_alternative<bool>(attr.content) || std::get<bool>(attr.content))
        state.attributes.append(attribute(attr));
    state.addTypes(results);
    auto name = state.name.getRegisteredInfo();
    assert(name && "an op of the dialect");
    auto *inference = name->getInterface<InferTypeOpInterface>();
    bool ok = true;
    if (results.empty() && inference) {
      DictionaryAttr dictionary = state.attributes.getDictionary(&context);
      Properties properties(*name, dictionary, [&] { return mlir::emitError(state.location); });
      ok = properties.ok &&
           succeeded(inference->inferReturnTypes(&context, state.location, operands, dictionary,
                                                 properties.storage(), {}, state.types));
    }
    if (ok) {
      Operation *created = builder().create(state);
      ok = succeeded(mlir::verify(created));
      values.assign(created->result_begin(), created->result_end());
    }
    if (!ok && message.empty())
      message = "operands do not fit";
    if (ok)
      message.clear();
  }
  if (!message.empty()) {
    // "'sinter.conv2d' op says what": the op is named already.
    if (size_t prefix = message.find("' op "); message[0] == '\'' && prefix != message.npos)
      message = message.substr(prefix + 5);
    fail(message, operands);
  }
  return values;
}

Value Call::emit(const char *opName, const Values &operands, const std::vector<Attr> &attributes,
                 Type result) {
  return emitMany(opName, operands, attributes, result ? TypeRange(result) : TypeRange())[0];
}

/// What the operands are called in errors.
static const char *operandName(llvm::StringRef op, size_t position, size_t count) {
  static constexpr const char *kWeighted[] = {"x", "weight", "bias", "mean", "variance"};
  if (op.starts_with("conv") || op == "linear" || op == "layer_norm" ||
      op.starts_with("batch_norm"))
    return position < 5 ? kWeighted[position] : "operand";
  if (op == "cross_entropy" || op == "nll")
    return position ? "labels" : "logits";
  if (op == "embedding")
    return position ? "index" : "weight";
  if (count == 2)
    return position ? "right" : "left";
  return "operand";
}

std::string Call::describe(const Values &operands) const {
  std::string result;
  for (size_t i = 0; i < operands.size(); ++i) {
    Value value = operands[i];
    result += text(result.empty() ? "; " : ", ", operandName(op, i, operands.size()), " ");
    if (auto read = value.getDefiningOp<ir::ReadOp>())
      result += text("is the variable ", read.getVariable().str());
    else
      result += text("made at ", ir::sourceOf(value.getLoc()));
  }
  return result;
}

void Call::fail(const std::string &message, const Values &operands) const {
  sinter::detail::fail(at, op, ": ", message, inModule(), describe(operands));
}

std::vector<Tensor> Call::done(const Values &results) {
  std::vector<Tensor> tensors;
  if (!own) {
    for (Value result : results)
      tensors.push_back(trace->tensor(result, at));
    return tensors;
  }
  own->finish(results);
  for (Array &array : own->run()) {
    auto state = std::make_shared<TensorState>();
    state->array = std::move(array);
    state->session = own->session;
    state->made = at;
    tensors.push_back(Tensor(std::move(state)));
  }
  return tensors;
}

Tensor Call::done(Value result) { return done(Values{result})[0]; }

} // namespace sinter::detail
