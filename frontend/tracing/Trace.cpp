#include "tracing/Trace.h"

#include "sinter/ir/Dialect.h"
#include "sinter/optim.h"

#include "mlir/IR/Verifier.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace sinter::detail {

static thread_local Trace *currentTrace = nullptr;

Trace *Trace::current() { return currentTrace; }

Trace::Trace(std::shared_ptr<SessionState> state, std::string name, Options options, Where at)
    : session(std::move(state)), options(options),
      info(std::make_shared<TraceInfo>(TraceInfo{std::move(name), placeOf(at)})),
      owned(ModuleOp::create(UnknownLoc::get(&session->context))), module(*owned),
      builder(&session->context), ownSymbols(session->context), symbols(ownSymbols),
      outer(currentTrace) {
  begin();
}

Trace::Trace(std::shared_ptr<SessionState> state, std::string name, Options options, Where at,
             ModuleOp into, Symbols &shared)
    : session(std::move(state)), options(options),
      info(std::make_shared<TraceInfo>(TraceInfo{std::move(name), placeOf(at)})), module(into),
      builder(&session->context), ownSymbols(session->context), symbols(shared),
      outer(currentTrace) {
  begin();
}

void Trace::begin() {
  builder.setInsertionPointToEnd(module.getBody());
  function =
      func::FuncOp::create(builder, module.getLoc(), info->name, builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  currentTrace = this;
}

Trace::~Trace() {
  info->ended = true;
  currentTrace = outer;
}

Location Trace::location(Where at) const {
  llvm::StringRef file = at.file_name();
  return ir::makeLocation(&session->context, file.substr(file.rfind('/') + 1), at.line(),
                          currentModule());
}

Value Trace::addArgument(RankedTensorType type, const std::string &name, Location location) {
  unsigned position = function.getNumArguments();
  auto attributes = builder.getDictionaryAttr(
      builder.getNamedAttr(ir::kPortNameAttr, builder.getStringAttr(name)));
  auto inserted = function.insertArgument(position, type, attributes, location);
  assert(succeeded(inserted));
  (void)inserted;
  return function.getArgument(position);
}

Value Trace::constant(const TensorState &tensor, Location location) {
  const Array &array = tensor.array;
  auto type = tensorType(session->context, array.dtype(), array.dims());
  // MLIR packs bools into bits, eight a byte; arrays hold one a byte.
  DenseElementsAttr values;
  if (array.dtype() == DType::Bool) {
    std::span<const bool> bools = array.values<bool>();
    values = DenseElementsAttr::get(type, llvm::ArrayRef<bool>(bools.data(), bools.size()));
  } else {
    llvm::ArrayRef<char> bytes(static_cast<const char *>(array.data()), size_t(array.bytes()));
    values = array.elements() ? DenseElementsAttr::getFromRawBuffer(type, bytes)
                              : DenseElementsAttr::get(type, llvm::ArrayRef<Attribute>());
  }
  return ir::ConstantOp::create(builder, location, type, values);
}

Value Trace::value(const std::shared_ptr<const TensorState> &state, Where at) {
  const TensorState &tensor = *state;
  if (tensor.trace) {
    if (tensor.trace == info)
      return tensor.value;
    bool outside = options.kind == Kind::Eager;
    fail(at, "a Tensor ", tensor.type, " of ",
         tensor.trace->ended ? "a function that has ended" : "another function", " ('",
         tensor.trace->name, "' traced at ", tensor.trace->place, "; made at ",
         placeOf(tensor.made), ") is used ", outside ? "outside it" : "in '" + info->name + "'",
         ": return it from its function, or make it a Variable and assign() it", inModule());
  }
  auto [known, isNew] = captured.try_emplace(state, Value());
  if (isNew) {
    Location made = location(tensor.made);
    if (options.kind == Kind::Eager) {
      auto type = tensorType(session->context, tensor.array.dtype(), tensor.array.dims());
      known->second = addArgument(type, text("input", inputs.size()), made);
      inputs.push_back(tensor.array);
    } else {
      known->second = constant(tensor, made);
    }
  }
  return known->second;
}

void Trace::declare(const VariableState &variable) {
  if (module.lookupSymbol(variable.name()))
    return;
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  auto type = tensorType(session->context, variable.dtype(), variable.dims());
  ir::VariableOp::create(top, module.getLoc(), variable.name(), type, variable.trainable);
}

Value Trace::read(const std::shared_ptr<VariableState> &original) {
  std::shared_ptr<VariableState> variable = original;
  if (options.weights)
    if (const Variable *average = options.weights->find(Variable(original)))
      variable = average->shared();
  if (variable->session && variable->session != session)
    fail(line, "the variable ", variable->name(),
         " belongs to another Session than the function that uses it", inModule(),
         "; make the module and the function with one Session");
  auto [position, isNew] = positions.try_emplace(variable.get(), tracked.size());
  if (isNew) {
    declare(*variable);
    auto type = tensorType(session->context, variable->dtype(), variable->dims());
    Value value =
        ir::ReadOp::create(builder, location(line), type, llvm::StringRef(variable->name()));
    tracked.push_back({variable, {value}});
  }
  return tracked[position->second].versions.back();
}

void Trace::assign(const std::shared_ptr<VariableState> &variable, Value value) {
  read(variable);
  tracked[positions.at(variable.get())].versions.push_back(value);
}

llvm::ArrayRef<Value> Trace::versions(const VariableState &variable) const {
  auto position = positions.find(&variable);
  return position == positions.end() ? llvm::ArrayRef<Value>()
                                     : llvm::ArrayRef<Value>(tracked[position->second].versions);
}

Tensor Trace::tensor(Value value, Where at) {
  auto state = std::make_shared<TensorState>();
  state->trace = info;
  state->value = value;
  state->type = str(value.getType(), symbols);
  state->session = session;
  state->made = at;
  return Tensor(std::move(state));
}

bool Trace::flag(const std::shared_ptr<Flag> &flag) {
  observed.push_back({flag, flag->value});
  return flag->value;
}

void Trace::finish(llvm::ArrayRef<Value> results, llvm::ArrayRef<std::string> names) {
  Location end = location(line);
  if (randomIds) {
    const auto &state = session->randomState();
    auto type = tensorType(session->context, DType::I64, {2});
    Value one = ir::ConstantOp::create(builder, end, type,
                                       DenseElementsAttr::get(type, llvm::ArrayRef<int64_t>{0, 1}));
    assign(state, ir::AddOp::create(builder, end, read(state), one));
  }
  for (const Tracked &entry : tracked)
    if (entry.versions.size() > 1)
      ir::AssignOp::create(builder, end, entry.variable->name(), entry.versions.back());
  func::ReturnOp::create(builder, end, results);
  SmallVector<Type> types;
  for (Value result : results)
    types.push_back(result.getType());
  function.setFunctionType(builder.getFunctionType(function.getFunctionType().getInputs(), types));
  for (size_t i = 0; i < results.size(); ++i) {
    std::string name = i < names.size() ? names[i] : text("output", i);
    function.setResultAttr(unsigned(i), ir::kPortNameAttr, builder.getStringAttr(name));
  }
  if (!symbols.empty())
    module->setAttr(ir::kSymbolsAttr, symbols.attribute());
}

std::vector<Array> Trace::run() {
  std::string key;
  llvm::raw_string_ostream stream(key);
  module->print(stream, OpPrintingFlags().enableDebugInfo(false));
  std::shared_ptr<Runnable> &runnable = session->eager[key];
  if (!runnable)
    runnable = session->compile(module, info->name, true);
  return runnable->run(inputs);
}

} // namespace sinter::detail
