#include "device_side.h"

#include "sinter/base/text.h"
#include "sinter/core/weights.h"

#include <limits>

namespace sinter::rt {

StatusOr<std::unique_ptr<DeviceSide>> DeviceSide::create(std::shared_ptr<DeviceVariables> copies,
                                                         const Program &program, const Entry &entry,
                                                         std::vector<DeviceKernel> kernels,
                                                         VariableStore &store) {
  if (kernels.size() != program.kernels.size())
    return makeError(Code::Internal, "the image has ", kernels.size(),
                     " device kernels, its program ", program.kernels.size(),
                     "; compile the model again");
  std::unique_ptr<DeviceSide> side(
      new DeviceSide(std::move(copies), program, entry, std::move(kernels)));
  SINTER_RETURN_IF_ERROR(side->findVariables(store));
  SINTER_RETURN_IF_ERROR(side->placeConstants());
  side->ports.resize(entry.inputs.size() + entry.outputs.size());
  return side;
}

DeviceSide::~DeviceSide() {
  for (std::vector<Block> *blocks : {&constants, &ports})
    for (Block &block : *blocks)
      device.free(block.data);
  device.free(arena.data);
  device.free(scratch.data);
}

Status DeviceSide::grow(Block &block, int64_t bytes, const WorkOrigin &origin) {
  if (block.data && bytes <= block.bytes)
    return {};
  device.free(block.data); // first, so that both never exist together
  block = {};
  ++growths;
  StatusOr<void *> memory = device.allocate(size_t(std::max<int64_t>(bytes, 1)), origin);
  if (!memory.ok())
    return memory.status();
  block = {*memory, bytes};
  return {};
}

Status DeviceSide::findVariables(VariableStore &store) {
  store.noteCopies();
  // What a command writes in part keeps the rest, so that written ones have to be there as well.
  for (const VariableUse &use : usedVariables(program, entry)) {
    StatusOr<StoredVariable *> found = store.get(program.variables[use.slot].name);
    if (!found.ok())
      return found.status();
    StatusOr<void *> data = copies->place(**found);
    if (!data.ok())
      return data.status();
    variables.push_back({use.slot, *found, use.written, *data});
  }
  return {};
}

Status DeviceSide::placeConstants() {
  for (const Constant &constant : program.constants) {
    Block &block = constants.emplace_back();
    SINTER_RETURN_IF_ERROR(grow(block, int64_t(constant.data.size()), owner("constant")));
    SINTER_RETURN_IF_ERROR(device.copyToDevice(block.data, constant.data.data(),
                                               constant.data.size(), owner("constant")));
  }
  return {};
}

void DeviceSide::place(ShapePlanner &planner) const {
  std::vector<std::byte *> variableData(program.variables.size());
  std::vector<const std::byte *> constantData;
  for (const Used &variable : variables)
    variableData[variable.slot] = static_cast<std::byte *>(variable.data);
  for (const Block &constant : constants)
    constantData.push_back(static_cast<const std::byte *>(constant.data));
  planner.place(std::move(variableData), std::move(constantData));
}

Status DeviceSide::attach(const ShapePlanner &planner, ShapePlan &plan) {
  SINTER_RETURN_IF_ERROR(grow(arena, plan.arena.peak, owner(entry.name)));
  SINTER_RETURN_IF_ERROR(grow(scratch, plan.scratchBytes, owner("library scratch")));
  auto bytesOf = [&](const Port &port) {
    int64_t elements = 1;
    for (Index dim : port.dims)
      elements *= plan.values[dim];
    return elements * int64_t(byteSize(port.dtype));
  };
  for (size_t i = 0; i < ports.size(); ++i) {
    bool isInput = i < entry.inputs.size();
    const Port &port = isInput ? entry.inputs[i] : entry.outputs[i - entry.inputs.size()];
    SINTER_RETURN_IF_ERROR(grow(ports[i], bytesOf(port), owner(port.name)));
  }
  if (plan.workspaceVersion == growths)
    return {};
  planner.resolve(plan, static_cast<std::byte *>(arena.data), growths);
  plan.replay = nullptr; // what was recorded may refer to what has moved, scratch among it
  for (size_t i = 0; i < ports.size(); ++i)
    plan.setPort(i, ports[i].data);
  return {};
}

Status DeviceSide::begin(std::span<const Argument> inputs) {
  for (const Used &used : variables) {
    SINTER_RETURN_IF_ERROR(copies->update(*used.variable));
    if (used.isWritten) // even if the step fails halfway: the host's contents are old then, too
      copies->changed(*used.variable);
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (int64_t bytes = elementCount(inputs[i].dims) * int64_t(byteSize(inputs[i].dtype)))
      SINTER_RETURN_IF_ERROR(device.copyToDevice(ports[i].data, inputs[i].data, size_t(bytes),
                                                 owner(entry.inputs[i].name)));
  return {};
}

/// Tells the device where each buffer ends, which it cannot know as they share the arena.
void DeviceSide::describe(const ShapePlan &plan, const Step &step) {
  const Command &command = entry.commands[step.command];
  described.clear();
  for (size_t i = 0; i < command.buffers.size(); ++i) {
    const Buffer &buffer = entry.buffers[command.buffers[i]];
    std::string_view name;
    if (buffer.name != kNone)
      name = program.strings[buffer.name];
    described.push_back(
        {step.buffers[i], size_t(plan.values[buffer.bytes]), name, writesOperand(command, i)});
  }
  device.describeBuffers(described);
}

Status DeviceSide::launch(const ShapePlanner &planner, const ShapePlan &plan, const Step &step) {
  const Command &command = entry.commands[step.command];
  CommandInfo about = planner.info(step.command);
  LaunchShape shape;
  if (step.tasks > std::numeric_limits<int32_t>::max())
    return makeError(Code::InvalidArgument, about.location, about.location.empty() ? "" : ": ", "'",
                     about.name, "' needs ", step.tasks,
                     " blocks for these shapes, more than a card has; use smaller inputs");
  shape.grid[0] = uint32_t(step.tasks);
  shape.block[0] = uint32_t(program.kernels[command.target].threads);
  params.clear();
  for (size_t i = 0; i < command.buffers.size(); ++i)
    params.push_back(&step.buffers[i]);
  for (const int64_t &symbol : plan.symbols)
    params.push_back(const_cast<int64_t *>(&symbol)); // the device only reads it
  if (device.wantsBuffers())
    describe(plan, step);
  return device.launch(kernels[command.target], shape, params.data(), {about.name, about.location});
}

Status DeviceSide::execute(const ShapePlanner &planner, const ShapePlan &plan, const Step &step) {
  if (step.kind == CommandKind::Launch)
    return launch(planner, plan, step);
  CommandInfo about = planner.info(step.command);
  WorkOrigin origin{about.name, about.location};
  if (step.kind == CommandKind::Library)
    return static_cast<DevicePrimitive *>(step.primitive)->run(step.buffers, scratch.data, origin);
  return device.copy(step.buffers[1], step.buffers[0], size_t(step.bytes), origin);
}

Status DeviceSide::replay(ShapePlan &plan, FunctionRef<Status()> enqueue) {
  // The first run loads kernels and warms libraries up, which cannot be recorded.
  if (!plan.replay) {
    SINTER_RETURN_IF_ERROR(enqueue());
    plan.replay = device.makeReplay();
    return {};
  }
  return plan.replay->run(plan.pointers, enqueue, owner(entry.name));
}

StatusOr<Array> DeviceSide::download(const void *from, DType dtype, const Dims &dims,
                                     const WorkOrigin &origin) {
  StatusOr<Array> value = Array::allocate(dtype, dims);
  if (!value.ok())
    return value;
  if (value->bytes())
    SINTER_RETURN_IF_ERROR(device.copyToHost(value->data(), from, size_t(value->bytes()), origin));
  SINTER_RETURN_IF_ERROR(device.synchronize());
  return value;
}

Status DeviceSide::end(std::span<const Argument> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (int64_t bytes = elementCount(outputs[i].dims) * int64_t(byteSize(outputs[i].dtype)))
      SINTER_RETURN_IF_ERROR(device.copyToHost(outputs[i].data, ports[entry.inputs.size() + i].data,
                                               size_t(bytes), owner(entry.outputs[i].name)));
  return {};
}

} // namespace sinter::rt
