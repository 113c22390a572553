#include "ProgramBuilder.h"

#include "Epilogue.h"
#include "Foreach.h"
#include "KernelCache.h"

#include "sinter/cpu/vendor.h"
#include "sinter/cuda/library.h"
#include "sinter/ir/DType.h"

#include "llvm/ADT/MapVector.h"

#include <set>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen {

LibraryTakes libraryOf(StringRef vendor) {
  if (vendor == "onednn")
    return rt::vendorSupports;
  if (vendor == "nvidia")
    return rt::cudaLibrariesTake;
  if (vendor == "cublaslt")
    return [](const rt::LibraryCall &call, DType dtype) {
      return call.op == rt::LibraryOp::Matmul && rt::cudaLibrariesTake(call, dtype);
    };
  return {};
}

namespace {

/// The value behind reshapes, which are free: the same bytes under another shape.
Value rootOf(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  return value;
}

class Builder {
public:
  Builder(ModuleOp module, ModuleOp kernels, const ProgramOptions &options)
      : module(module), cache(kernels, options.emit), options(options) {}

  FailureOr<rt::Program> build() {
    addSymbols();
    for (auto variable : module.getOps<VariableOp>())
      addVariable(variable);
    for (auto function : module.getOps<func::FuncOp>())
      if (function.isPublic() && failed(addEntry(function)))
        return failure();
    program.kernels = cache.all();
    return std::move(program);
  }

private:
  void addSymbols();
  void addVariable(VariableOp op);
  LogicalResult addEntry(func::FuncOp function);

  rt::Index expr(AffineExpr size);
  std::vector<rt::Index> exprs(ArrayRef<AffineExpr> dims) {
    std::vector<rt::Index> result;
    for (AffineExpr dim : dims)
      result.push_back(expr(dim));
    return result;
  }
  AffineExpr bytesOf(Type tensor) {
    auto type = cast<RankedTensorType>(tensor);
    return simplify(product(dimsOf(tensor), type.getContext()) *
                    int64_t(byteSize(dtypeOf(type.getElementType()))));
  }

  // One entry.
  rt::Index addBuffer(rt::BufferKind kind, Type type, rt::Index slot, StringRef owner);
  rt::Index bufferOf(Value value);
  rt::Port port(Type type, StringRef name) {
    auto tensor = cast<RankedTensorType>(type);
    return {name.str(), dtypeOf(tensor.getElementType()), exprs(dimsOf(type))};
  }
  void chooseOutputs(func::FuncOp function);
  bool mayUpdateInPlace(AssignOp assign, GroupOp group, unsigned result);
  std::string addResults(GroupOp group);
  void addGroup(GroupOp group);
  std::set<rt::Index> variablesOf(GroupOp group, bool written);
  SmallVector<GroupOp> together(GroupOp first, const DenseSet<Operation *> &taken);
  void addTogether(ArrayRef<GroupOp> groups);
  bool addLibraryCall(GroupOp group);
  void addCopies(func::FuncOp function);
  void setLifetimes();
  rt::Command command(rt::CommandKind kind, Operation *op, std::string name);
  void addCopy(Operation *op, rt::Index from, rt::Index to) {
    rt::Command copy = command(rt::CommandKind::Copy, op, "copy");
    copy.buffers = {from, to};
    copy.outputs = 1;
    entry.commands.push_back(std::move(copy));
  }

  ModuleOp module;
  KernelCache cache;
  const ProgramOptions &options;
  rt::Program program;
  llvm::StringMap<rt::Index> variables;
  rt::Entry entry;
  DenseMap<Value, rt::Index> buffers;
  /// Values written straight to where they are wanted: an output or a variable.
  DenseMap<Value, std::pair<rt::BufferKind, rt::Index>> destination;
};

void Builder::addSymbols() {
  auto symbols = module->getAttrOfType<ArrayAttr>(kSymbolsAttr);
  if (!symbols)
    return;
  for (auto symbol : symbols.getAsRange<DictionaryAttr>()) {
    auto bound = [&](StringRef name, int64_t fallback) {
      auto value = symbol.getAs<IntegerAttr>(name);
      return value ? value.getInt() : fallback;
    };
    program.symbols.push_back(
        {symbol.getAs<StringAttr>("name").str(), bound("lower", 0), bound("upper", -1)});
  }
}

void Builder::addVariable(VariableOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  variables[op.getSymName()] = rt::Index(program.variables.size());
  program.variables.push_back({op.getSymName().str(), dtypeOf(type.getElementType()),
                               type.getShape().vec(), op.getTrainable()});
}

rt::Index Builder::expr(AffineExpr size) {
  if (auto constant = constantSize(size))
    return program.constant(*constant);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(size))
    return program.addExpr({rt::Expr::Op::Symbol, int64_t(symbol.getPosition()), 0});
  auto binary = cast<AffineBinaryOpExpr>(size);
  rt::Index left = expr(binary.getLHS()), right = expr(binary.getRHS());
  auto op = [&] {
    switch (size.getKind()) {
    case AffineExprKind::Add:
      return rt::Expr::Op::Add;
    case AffineExprKind::Mul:
      return rt::Expr::Op::Mul;
    case AffineExprKind::FloorDiv:
      return rt::Expr::Op::FloorDiv;
    case AffineExprKind::CeilDiv:
      return rt::Expr::Op::CeilDiv;
    default:
      return rt::Expr::Op::Mod;
    }
  }();
  return program.addExpr({op, left, right});
}

rt::Index Builder::addBuffer(rt::BufferKind kind, Type type, rt::Index slot, StringRef owner) {
  rt::Buffer buffer;
  buffer.kind = kind;
  buffer.dtype = dtypeOf(cast<RankedTensorType>(type).getElementType());
  buffer.dims = exprs(dimsOf(type));
  buffer.slot = slot;
  buffer.bytes = expr(bytesOf(type));
  buffer.name = program.addString(owner);
  if (kind == rt::BufferKind::View)
    buffer.offset = program.constant(0);
  entry.buffers.push_back(std::move(buffer));
  return rt::Index(entry.buffers.size() - 1);
}

rt::Index Builder::bufferOf(Value value) {
  if (auto known = buffers.find(value); known != buffers.end())
    return known->second;
  Operation *op = value.getDefiningOp();
  rt::Index result;
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    result = addBuffer(rt::BufferKind::View, value.getType(), bufferOf(reshape.getX()), "reshape");
  } else if (auto read = dyn_cast<ReadOp>(op)) {
    result = addBuffer(rt::BufferKind::Variable, value.getType(),
                       variables.lookup(read.getVariable()), read.getVariable());
  } else {
    auto constant = cast<ConstantOp>(op);
    result = addBuffer(rt::BufferKind::Constant, value.getType(),
                       rt::Index(program.constants.size()), "constant");
    program.constants.push_back({constantBytes(constant)});
  }
  return buffers[value] = result;
}

rt::Command Builder::command(rt::CommandKind kind, Operation *op, std::string name) {
  rt::Command result;
  result.kind = kind;
  result.name = program.addString(name);
  result.location = program.addString(sourceOf(op->getLoc()));
  result.module = program.addString(modulePathOf(op->getLoc()));
  return result;
}

/// Whether a group uses an argument's element for its results' elements at the same index alone.
static bool isReadInPlace(BlockArgument argument) {
  SmallVector<Value> work{argument};
  DenseSet<Operation *> seen;
  while (!work.empty())
    for (Operation *user : work.pop_back_val().getUsers()) {
      if (isa<YieldOp>(user) || !seen.insert(user).second)
        continue;
      auto element = dyn_cast<ElementOpInterface>(user);
      if (!element || !element.isPointwise())
        return false;
      llvm::append_range(work, user->getResults());
    }
  return true;
}

/// Whether `group` may write the new value straight over the old one: nothing reads the old one
/// later, and the group itself only at the element it writes.
bool Builder::mayUpdateInPlace(AssignOp assign, GroupOp group, unsigned result) {
  for (auto read : assign->getParentOfType<func::FuncOp>().getOps<ReadOp>()) {
    if (read.getVariable() != assign.getVariable())
      continue;
    SmallVector<Value> work{read.getY()};
    while (!work.empty()) {
      Value value = work.pop_back_val();
      for (OpOperand &use : value.getUses()) {
        Operation *user = use.getOwner();
        if (isa<ReshapeOp>(user)) {
          work.push_back(user->getResult(0));
          continue;
        }
        if (user == group) {
          BlockArgument argument = group.getBody().getArgument(use.getOperandNumber());
          if (group.getKind() != "pointwise" ||
              argument.getType() != group.getResult(result).getType() || !isReadInPlace(argument))
            return false;
          continue;
        }
        if (!isa<GroupOp>(user) || !user->isBeforeInBlock(group))
          return false;
      }
    }
  }
  return true;
}

void Builder::chooseOutputs(func::FuncOp function) {
  Block &block = function.getBody().front();
  auto claim = [&](Value value, rt::BufferKind kind, rt::Index slot) {
    Value root = rootOf(value);
    if (root.getDefiningOp<GroupOp>())
      destination.try_emplace(root, kind, slot);
  };
  for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands()))
    claim(value, rt::BufferKind::Output, rt::Index(i));
  for (auto assign : block.getOps<AssignOp>()) {
    Value root = rootOf(assign.getX());
    auto group = root.getDefiningOp<GroupOp>();
    if (group && mayUpdateInPlace(assign, group, cast<OpResult>(root).getResultNumber()))
      claim(root, rt::BufferKind::Variable, variables.lookup(assign.getVariable()));
  }
}

/// "matmul.add.relu": what the group computes, in order, without repetitions and mere data
/// movement.
static std::string groupName(GroupOp group) {
  llvm::SmallSetVector<StringRef, 8> parts;
  for (Operation &op : group.getBody().front().without_terminator())
    if (!isa<ExpandOp, ReshapeOp, FullOp>(op))
      parts.insert(op.getName().stripDialect());
  constexpr size_t kMostParts = 5;
  std::string name;
  for (auto [i, part] : llvm::enumerate(parts))
    if (i < kMostParts)
      name += (i ? "." : "") + part.str();
  if (parts.size() > kMostParts)
    name += "…";
  return name.empty() ? "fill" : name;
}

/// Makes the buffers of a group's results; returns its name.
std::string Builder::addResults(GroupOp group) {
  std::string name = groupName(group);
  for (Value output : group.getResults()) {
    auto [kind, slot] = destination.lookup_or(output, std::pair(rt::BufferKind::Arena, rt::kNone));
    buffers[output] = addBuffer(kind, output.getType(), slot, name);
  }
  return name;
}

/// The variables that a group reads, or overwrites in place.
std::set<rt::Index> Builder::variablesOf(GroupOp group, bool written) {
  std::set<rt::Index> slots;
  if (written) {
    for (Value result : group.getResults())
      if (auto place = destination.find(result);
          place != destination.end() && place->second.first == rt::BufferKind::Variable)
        slots.insert(place->second.second);
    return slots;
  }
  for (Value operand : group->getOperands())
    if (auto read = rootOf(operand).getDefiningOp<ReadOp>())
      slots.insert(variables.lookup(read.getVariable()));
  return slots;
}

static bool meet(const std::set<rt::Index> &a, const std::set<rt::Index> &b) {
  return llvm::any_of(a, [&](rt::Index slot) { return b.contains(slot); });
}

/// `first` and later groups that one launch can do with it, in the place of the last.
SmallVector<GroupOp> Builder::together(GroupOp first, const DenseSet<Operation *> &taken) {
  SmallVector<GroupOp> groups{first};
  if (!options.emitForeach || !isElementwise(first))
    return groups;
  constexpr size_t kMostOperands = 400; // a kernel's parameters have 4 KiB
  size_t each = first->getNumOperands() + first->getNumResults();
  std::set<rt::Index> read = variablesOf(first, false), written = variablesOf(first, true);
  DenseSet<Value> results(first->result_begin(), first->result_end());
  for (Operation *op = first->getNextNode(); op; op = op->getNextNode()) {
    auto next = dyn_cast<GroupOp>(op);
    if (isa<ProbeOp>(op) || (next && llvm::any_of(next->getOperands(), [&](Value operand) {
                               return results.contains(rootOf(operand));
                             })))
      break; // what needs the results has to come behind them
    if (!next)
      continue;
    std::set<rt::Index> itsRead = variablesOf(next, false), itsWritten = variablesOf(next, true);
    if (meet(itsWritten, read))
      break; // nor may what they read change before
    if (taken.contains(next) || !isElementwise(next) || !sameElementwise(first, next) ||
        meet(itsRead, written) || (groups.size() + 1) * each > kMostOperands)
      continue;
    groups.push_back(next);
    read.insert(itsRead.begin(), itsRead.end());
    written.insert(itsWritten.begin(), itsWritten.end());
    results.insert(next->result_begin(), next->result_end());
  }
  return groups;
}

void Builder::addTogether(ArrayRef<GroupOp> groups) {
  std::string name;
  for (GroupOp group : groups)
    name = addResults(group);
  const GroupCode &code = cache.add(groups, options.emitForeach);
  const GroupKernel &kernel = code.kernels.front();
  rt::Command launch =
      command(rt::CommandKind::Launch, groups.front(), name + " x" + std::to_string(groups.size()));
  launch.target = cache.number(kernel.symbol);
  AffineExpr traffic = constantDim(0, module.getContext());
  for (GroupOp group : groups)
    for (Value value : group->getOperands()) {
      launch.buffers.push_back(bufferOf(value));
      traffic = traffic + bytesOf(value.getType());
    }
  for (GroupOp group : groups)
    for (Value value : group->getResults()) {
      launch.buffers.push_back(bufferOf(value));
      traffic = traffic + bytesOf(value.getType());
    }
  launch.outputs = rt::Index(kernel.outputs);
  launch.tasks = expr(kernel.tasks);
  launch.bytes = expr(simplify(traffic));
  entry.commands.push_back(std::move(launch));
}

void Builder::addGroup(GroupOp group) {
  std::string name = addResults(group);
  if (options.library && addLibraryCall(group))
    return;
  const GroupCode &code = cache.lookup(group);
  SmallVector<rt::Index> operands;
  for (Value value : group->getOperands())
    operands.push_back(bufferOf(value));
  for (Value value : group->getResults())
    operands.push_back(bufferOf(value));
  for (RankedTensorType temporary : code.temporaries)
    operands.push_back(addBuffer(rt::BufferKind::Arena, temporary, rt::kNone, name));
  AffineExpr traffic = constantDim(0, group.getContext());
  for (Value value : group->getOperands())
    traffic = traffic + bytesOf(value.getType());
  for (Value value : group->getResults())
    traffic = traffic + bytesOf(value.getType());
  for (const GroupKernel &kernel : code.kernels) {
    rt::Command launch = command(rt::CommandKind::Launch, group, name);
    launch.target = cache.number(kernel.symbol);
    for (unsigned operand : kernel.operands)
      launch.buffers.push_back(operands[operand]);
    launch.outputs = rt::Index(kernel.outputs);
    launch.tasks = expr(kernel.tasks);
    if (kernel.scratchBytes)
      launch.scratchBytes = program.constant(kernel.scratchBytes);
    launch.bytes = expr(simplify(traffic));
    if (AffineExpr flops = contractionFlops(group))
      launch.flops = expr(flops);
    entry.commands.push_back(std::move(launch));
  }
}

bool Builder::addLibraryCall(GroupOp group) {
  if (group.getKind() != "contraction")
    return false;
  auto epilogue = libraryEpilogue(group);
  if (!epilogue || prefersGenerated(group))
    return false;
  rt::LibraryCall call;
  SmallVector<int64_t> ints;
  call.op = rt::LibraryOp(epilogue->contraction.libraryCall(ints));
  call.ints.assign(ints.begin(), ints.end());
  call.postOps = epilogue->postOps;
  if (!options.library(call, dtypeOf(elementType(epilogue->contraction->getOperand(0)))))
    return false;
  rt::Command library = command(rt::CommandKind::Library, group, groupName(group));
  auto outer = [&](Value inner) {
    return bufferOf(group->getOperand(cast<BlockArgument>(inner).getArgNumber()));
  };
  library.buffers = {outer(epilogue->contraction->getOperand(0)),
                     outer(epilogue->contraction->getOperand(1)), bufferOf(group.getResult(0))};
  for (Value operand : epilogue->operands)
    library.buffers.push_back(outer(operand));
  library.outputs = 1;
  library.flops = expr(contractionFlops(group));
  library.target = rt::Index(program.libraryCalls.size());
  program.libraryCalls.push_back(std::move(call));
  entry.commands.push_back(std::move(library));
  return true;
}

/// Values that are returned or assigned but could not be written in place. Old values of variables
/// are saved before any variable is overwritten.
void Builder::addCopies(func::FuncOp function) {
  Block &block = function.getBody().front();
  for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands())) {
    auto place = destination.find(rootOf(value));
    if (place != destination.end() &&
        place->second == std::pair(rt::BufferKind::Output, rt::Index(i)))
      continue;
    addCopy(block.getTerminator(), bufferOf(value),
            addBuffer(rt::BufferKind::Output, value.getType(), rt::Index(i), "result"));
  }
  SmallVector<std::pair<AssignOp, rt::Index>> pending;
  for (auto assign : block.getOps<AssignOp>()) {
    rt::Index slot = variables.lookup(assign.getVariable());
    auto place = destination.find(rootOf(assign.getX()));
    if (place != destination.end() && place->second == std::pair(rt::BufferKind::Variable, slot))
      continue;
    rt::Index from = bufferOf(assign.getX());
    if (rootOf(assign.getX()).getDefiningOp<ReadOp>()) {
      rt::Index saved = addBuffer(rt::BufferKind::Arena, assign.getX().getType(), rt::kNone,
                                  assign.getVariable());
      addCopy(assign, from, saved);
      from = saved;
    }
    pending.emplace_back(assign, from);
  }
  for (auto [assign, from] : pending)
    addCopy(assign, from,
            addBuffer(rt::BufferKind::Variable, assign.getX().getType(),
                      variables.lookup(assign.getVariable()), assign.getVariable()));
}

void Builder::setLifetimes() {
  std::vector<rt::Index> root;
  for (auto [i, buffer] : llvm::enumerate(entry.buffers)) {
    root.push_back(buffer.kind == rt::BufferKind::View ? root[size_t(buffer.slot)] : rt::Index(i));
    buffer.firstUse = rt::Index(entry.commands.size());
    buffer.lastUse = -1;
  }
  for (auto [i, command] : llvm::enumerate(entry.commands))
    for (rt::Index operand : command.buffers) {
      rt::Buffer &buffer = entry.buffers[size_t(root[size_t(operand)])];
      buffer.firstUse = std::min(buffer.firstUse, rt::Index(i));
      buffer.lastUse = std::max(buffer.lastUse, rt::Index(i));
    }
  for (rt::Buffer &buffer : entry.buffers)
    if (buffer.lastUse < 0)
      buffer.firstUse = buffer.lastUse = 0;
}

LogicalResult Builder::addEntry(func::FuncOp function) {
  entry = {};
  buffers.clear();
  destination.clear();
  entry.name = function.getName().str();
  Block &block = function.getBody().front();
  auto portName = [&](DictionaryAttr attributes, StringRef kind, size_t i) {
    auto name = attributes ? attributes.getAs<StringAttr>(kPortNameAttr) : StringAttr();
    return name ? name.str() : (kind + Twine(i)).str();
  };
  for (auto [i, argument] : llvm::enumerate(block.getArguments())) {
    std::string name = portName(function.getArgAttrDict(unsigned(i)), "input", i);
    entry.inputs.push_back(port(argument.getType(), name));
    buffers[argument] = addBuffer(rt::BufferKind::Input, argument.getType(), rt::Index(i), name);
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    entry.outputs.push_back(
        port(type, portName(function.getResultAttrDict(unsigned(i)), "output", i)));
  chooseOutputs(function);
  DenseSet<Operation *> taken; // by a launch of several groups, in the place of the last
  DenseMap<Operation *, SmallVector<GroupOp>> launches;
  for (Operation &op : block.without_terminator()) {
    if (auto group = dyn_cast<GroupOp>(op)) {
      if (!taken.contains(group)) {
        SmallVector<GroupOp> groups = together(group, taken);
        if (groups.size() == 1)
          addGroup(group);
        else
          taken.insert(groups.begin(), groups.end()), launches[groups.back()] = groups;
      }
      if (auto launch = launches.find(group); launch != launches.end())
        addTogether(launch->second);
    } else if (auto probe = dyn_cast<ProbeOp>(op)) {
      rt::Command show = command(rt::CommandKind::Probe, probe, probe.getLabel().str());
      show.buffers = {bufferOf(probe.getX())};
      entry.commands.push_back(std::move(show));
    } else if (!isa<ReadOp, ConstantOp, ReshapeOp, AssignOp>(op)) {
      return op.emitError("has no kernel");
    }
  }
  addCopies(function);
  setLifetimes();
  program.entries.push_back(std::move(entry));
  return success();
}

} // namespace

FailureOr<rt::Program> buildProgram(ModuleOp module, ModuleOp kernels,
                                    const ProgramOptions &options) {
  return Builder(module, kernels, options).build();
}

} // namespace sinter::codegen
