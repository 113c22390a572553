#include "shape_plan.h"

#include "sinter/base/text.h"

#include <algorithm>

namespace sinter::rt {

template <class... Parts>
Status ShapePlanner::commandError(Code code, Index command, const Parts &...parts) const {
  CommandInfo about = info(command);
  return makeError(code, about.location, about.location.empty() ? "" : ": ", "entry '", entry.name,
                   "', command ", command, " '", about.name, "'",
                   about.module.empty() ? "" : " in ", about.module, ": ", parts...);
}

CommandInfo ShapePlanner::info(Index index) const {
  const Command &command = entry.commands[index];
  auto text = [&](Index string) -> std::string_view {
    return string == kNone ? std::string_view() : program.strings[string];
  };
  return {text(command.name), text(command.location), text(command.module)};
}

int64_t ShapePlanner::constantBytes() const {
  int64_t total = 0;
  for (const Constant &constant : program.constants)
    total += int64_t(constant.data.size());
  return total;
}

StatusOr<std::unique_ptr<ShapePlanner>>
ShapePlanner::create(const Program &program, const Entry &entry, std::vector<sinter_kernel> kernels,
                     VariableStore &variables, int threads, PrepareCall prepare) {
  if (!kernels.empty() && kernels.size() != program.kernels.size())
    return makeError(Code::Internal, "the image has ", kernels.size(), " kernels, its program ",
                     program.kernels.size(), "; compile the model again");
  for (size_t i = 0; i < kernels.size(); ++i)
    if (!kernels[i])
      return makeError(Code::Internal, "kernel '", program.kernels[i].symbol,
                       "' is missing from the image; compile the model again");
  std::unique_ptr<ShapePlanner> planner(
      new ShapePlanner(program, entry, std::move(kernels), threads, std::move(prepare)));
  for (size_t i = 0; i < entry.buffers.size(); ++i) {
    const Buffer &buffer = entry.buffers[i];
    planner->root.push_back(buffer.kind == BufferKind::View ? planner->root[buffer.slot]
                                                            : Index(i));
    planner->intervalOf.push_back(Index(planner->arenaBuffers.size()));
    if (buffer.kind == BufferKind::Arena)
      planner->arenaBuffers.push_back(Index(i));
  }
  SINTER_RETURN_IF_ERROR(planner->bindVariables(variables));
  SINTER_RETURN_IF_ERROR(planner->placeConstants());
  return planner;
}

Status ShapePlanner::bindVariables(VariableStore &variables) {
  for (const Variable &variable : program.variables) {
    StatusOr<StoredVariable *> found = variables.get(variable.name);
    if (!found.ok())
      return makeError(Code::NotFound, "entry '", entry.name, "': ", found.status().message());
    const Array &value = (*found)->storage();
    if (value.dtype() != variable.dtype || value.dims() != variable.dims)
      return makeError(Code::FailedPrecondition, "entry '", entry.name, "': variable '",
                       variable.name, "' is ", value.type(),
                       " in the store, the program was "
                       "compiled for ",
                       formatType(variable.dtype, variable.dims),
                       "; compile it again or load fitting weights");
    variableData.push_back(static_cast<std::byte *>(value.data()));
  }
  return {};
}

Status ShapePlanner::placeConstants() {
  auto misaligned = [](const std::byte *data) {
    return reinterpret_cast<uintptr_t>(data) % kAlignment != 0;
  };
  int64_t bytes = 0;
  for (const Constant &constant : program.constants)
    if (misaligned(constant.data.data()))
      bytes += alignUp(int64_t(constant.data.size()));
  StatusOr<Memory> memory = Memory::allocate(bytes);
  if (!memory.ok())
    return memory.status();
  constantMemory = *std::move(memory);
  std::byte *next = constantMemory.data();
  for (const Constant &constant : program.constants) {
    constantData.push_back(constant.data.data());
    if (!misaligned(constant.data.data()))
      continue;
    std::copy(constant.data.begin(), constant.data.end(), next);
    constantData.back() = next;
    next += alignUp(int64_t(constant.data.size()));
  }
  return {};
}

StatusOr<std::unique_ptr<ShapePlan>> ShapePlanner::plan(const std::vector<int64_t> &symbols) {
  auto plan = std::make_unique<ShapePlan>();
  plan->symbols = symbols;
  evaluate(program, symbols.data(), plan->values);
  SINTER_RETURN_IF_ERROR(sizeBuffers(*plan));
  planMemory(*plan);
  SINTER_RETURN_IF_ERROR(addSteps(*plan));
  addPatches(*plan);
  return plan;
}

Status ShapePlanner::sizeBuffers(ShapePlan &plan) const {
  auto evaluated = [&](const std::vector<Index> &exprs) {
    Dims dims;
    for (Index expr : exprs)
      dims.push_back(plan.values[expr]);
    return dims;
  };
  for (const Port &port : entry.outputs) {
    plan.outputDims.push_back(evaluated(port.dims));
    if (elementCount(plan.outputDims.back()) < 0)
      return makeError(Code::InvalidArgument, "entry '", entry.name, "': output '", port.name,
                       "' would have the shape ", formatShape(plan.outputDims.back()),
                       "; use other input shapes");
  }
  for (size_t i = 0; i < entry.buffers.size(); ++i) {
    plan.bufferDims.push_back(evaluated(entry.buffers[i].dims));
    SINTER_RETURN_IF_ERROR(sizeBuffer(plan, i));
  }
  return {};
}

/// Bytes that a buffer may have at most.
int64_t ShapePlanner::capacity(const ShapePlan &plan, const Buffer &buffer) const {
  auto bytesOf = [&](DType dtype, std::span<const int64_t> dims) {
    return elementCount(dims) * int64_t(byteSize(dtype));
  };
  switch (buffer.kind) {
  case BufferKind::Input: {
    const Port &port = entry.inputs[buffer.slot];
    Dims dims;
    for (Index dim : port.dims)
      dims.push_back(plan.values[dim]);
    return bytesOf(port.dtype, dims);
  }
  case BufferKind::Output:
    return bytesOf(entry.outputs[buffer.slot].dtype, plan.outputDims[buffer.slot]);
  case BufferKind::Variable: {
    const Variable &variable = program.variables[buffer.slot];
    return bytesOf(variable.dtype, variable.dims);
  }
  case BufferKind::Constant:
    return int64_t(program.constants[buffer.slot].data.size());
  case BufferKind::View:
    return plan.values[entry.buffers[buffer.slot].bytes] - plan.values[buffer.offset];
  case BufferKind::Arena:
    break;
  }
  return kMostBytes;
}

Status ShapePlanner::sizeBuffer(ShapePlan &plan, size_t position) const {
  const Buffer &buffer = entry.buffers[position];
  int64_t bytes = plan.values[buffer.bytes], elements = elementCount(plan.bufferDims[position]);
  int64_t offset = buffer.kind == BufferKind::View ? plan.values[buffer.offset] : 0;
  int64_t elementBytes = int64_t(byteSize(buffer.dtype));
  auto refuse = [&](const auto &...parts) {
    std::string owner = buffer.name == kNone ? "unnamed" : program.strings[buffer.name];
    return makeError(Code::Corrupt, "entry '", entry.name, "': buffer ", position, " (", owner,
                     ") of type ", formatType(buffer.dtype, plan.bufferDims[position]), ": ",
                     parts..., "; compile the model again");
  };
  if (elements < 0 || elements > kMostBytes / elementBytes || bytes > kMostBytes)
    return makeError(Code::InvalidArgument, "entry '", entry.name,
                     "': these shapes need a buffer of type ",
                     formatType(buffer.dtype, plan.bufferDims[position]),
                     ", which no machine holds; use smaller inputs");
  if (bytes < elements * elementBytes)
    return refuse(bytes, " bytes are too few");
  if (bytes > capacity(plan, buffer) || offset < 0)
    return refuse(bytes, " bytes at offset ", offset, " exceed what contains them");
  if (offset % elementBytes != 0)
    return refuse("its offset ", offset, " is not a multiple of the element");
  plan.offsets.push_back(buffer.kind == BufferKind::View ? plan.offsets[buffer.slot] + offset : 0);
  return {};
}

void ShapePlanner::planMemory(ShapePlan &plan) const {
  for (Index index : arenaBuffers) {
    const Buffer &buffer = entry.buffers[index];
    plan.intervals.push_back({plan.values[buffer.bytes], buffer.firstUse, buffer.lastUse});
  }
  plan.arena = planArena(plan.intervals);
}

Status ShapePlanner::addSteps(ShapePlan &plan) {
  size_t operands = 0;
  for (const Command &command : entry.commands)
    operands += command.buffers.size();
  plan.pointers.assign(operands, nullptr);
  size_t next = 0;
  for (size_t i = 0; i < entry.commands.size(); ++i) {
    SINTER_RETURN_IF_ERROR(addStep(plan, Index(i), next));
    next += entry.commands[i].buffers.size();
  }
  return {};
}

Status ShapePlanner::addStep(ShapePlan &plan, Index index, size_t firstPointer) {
  const Command &command = entry.commands[index];
  Step step{.kind = command.kind, .command = index, .buffers = plan.pointers.data() + firstPointer};
  switch (command.kind) {
  case CommandKind::Launch: {
    step.kernel = kernels.empty() ? nullptr : kernels[command.target];
    step.tasks = plan.values[command.tasks];
    int64_t scratch = command.scratchBytes == kNone ? 0 : plan.values[command.scratchBytes];
    if (step.tasks < 0 || scratch < 0 || scratch > kMostBytes / threads)
      return commandError(Code::Corrupt, index, "needs ", step.tasks, " tasks and ", scratch,
                          " bytes of scratch for these shapes; compile the model again");
    if (step.tasks == 0)
      return {};
    step.scratchStride = alignUp(scratch);
    plan.scratchBytes = std::max(plan.scratchBytes, step.scratchStride * threads);
    break;
  }
  case CommandKind::Library:
    if (elementCount(plan.bufferDims[command.buffers[2]]) == 0)
      return {};
    SINTER_RETURN_IF_ERROR(addLibraryStep(plan, step));
    break;
  case CommandKind::Copy: {
    step.bytes = plan.values[entry.buffers[command.buffers[0]].bytes];
    if (int64_t target = plan.values[entry.buffers[command.buffers[1]].bytes]; target != step.bytes)
      return commandError(Code::Corrupt, index, "copies ", step.bytes, " bytes onto ", target,
                          "; compile the model again");
    if (step.bytes == 0)
      return {};
    break;
  }
  case CommandKind::Probe:
    break;
  }
  plan.steps.push_back(step);
  return {};
}

Status ShapePlanner::addLibraryStep(ShapePlan &plan, Step &step) {
  const Command &command = entry.commands[step.command];
  if (!prepare)
    return commandError(Code::FailedPrecondition, step.command,
                        "calls a vendor library, but none is linked in; link the CPU library or "
                        "compile with --vendor=none");
  std::vector<LibraryOperand> operands;
  std::vector<int64_t> key = {command.target};
  for (Index index : command.buffers) {
    const Buffer &owner = entry.buffers[root[index]];
    LibraryOperand operand{entry.buffers[index].dtype, plan.bufferDims[index], nullptr};
    if (owner.kind == BufferKind::Constant && !placed)
      operand.constant = constantData[owner.slot] + plan.offsets[index];
    key.insert(key.end(), {int64_t(operand.dtype), int64_t(operand.dims.size()),
                           int64_t(reinterpret_cast<intptr_t>(operand.constant))});
    key.insert(key.end(), operand.dims.begin(), operand.dims.end());
    operands.push_back(operand);
  }
  std::erase_if(cache, [](const CachedPrimitive &entry) { return entry.primitive.expired(); });
  auto known = std::find_if(cache.begin(), cache.end(),
                            [&](const CachedPrimitive &entry) { return entry.key == key; });
  std::shared_ptr<PreparedCall> primitive;
  if (known != cache.end()) {
    primitive = known->primitive.lock();
  } else {
    auto made = prepare(program.libraryCalls[command.target], operands);
    if (!made.ok())
      return commandError(made.status().code(), step.command, made.status().message());
    primitive = *std::move(made);
    cache.push_back({std::move(key), primitive});
  }
  step.primitive = primitive.get();
  plan.scratchBytes = std::max(plan.scratchBytes, primitive->scratchBytes());
  plan.primitives.push_back(std::move(primitive));
  return {};
}

void ShapePlanner::addPatches(ShapePlan &plan) const {
  plan.ports.resize(entry.inputs.size() + entry.outputs.size());
  size_t next = 0;
  for (const Command &command : entry.commands)
    for (Index index : command.buffers) {
      const Buffer &owner = entry.buffers[root[index]];
      if (owner.kind == BufferKind::Input)
        plan.ports[owner.slot].patches.push_back({next, plan.offsets[index]});
      if (owner.kind == BufferKind::Output)
        plan.ports[entry.inputs.size() + owner.slot].patches.push_back({next, plan.offsets[index]});
      ++next;
    }
}

std::byte *ShapePlanner::base(const ShapePlan &plan, Index index, std::byte *arena) const {
  const Buffer &buffer = entry.buffers[index];
  switch (buffer.kind) {
  case BufferKind::Variable:
    return variableData[buffer.slot];
  case BufferKind::Constant:
    return const_cast<std::byte *>(constantData[buffer.slot]); // commands only read it
  case BufferKind::Arena:
    return arena + plan.arena.offsets[intervalOf[index]];
  default:
    return nullptr; // a port, set for each call
  }
}

void ShapePlanner::resolve(ShapePlan &plan, std::byte *arena, uint64_t version) const {
  size_t next = 0;
  for (const Command &command : entry.commands)
    for (Index index : command.buffers) {
      if (std::byte *first = base(plan, root[index], arena))
        plan.pointers[next] = first + plan.offsets[index];
      ++next;
    }
  plan.workspaceVersion = version;
}

std::string ShapePlanner::describe(const ShapePlan &plan) const {
  std::vector<std::string_view> owners;
  for (Index index : arenaBuffers) {
    Index name = entry.buffers[index].name;
    owners.push_back(name == kNone ? "(unnamed)" : std::string_view(program.strings[name]));
  }
  return describeArena(plan.intervals, plan.arena, owners);
}

} // namespace sinter::rt
