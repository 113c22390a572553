#include "sinter/core/weights.h"

#include "sinter/base/text.h"

namespace sinter::rt {

StatusOr<std::vector<const TensorView *>> fitWeights(std::span<const Variable> variables,
                                                     const Safetensors &weights,
                                                     std::string_view origin) {
  constexpr size_t mostListed = 20;
  std::vector<std::string> names;
  for (const TensorView &tensor : weights.tensors)
    names.push_back(tensor.name);
  std::vector<const TensorView *> fitting;
  std::string problems;
  size_t count = 0;
  auto report = [&](const auto &...parts) {
    if (++count <= mostListed)
      problems += concat(count == 1 ? "" : "; ", parts...);
  };
  for (const Variable &variable : variables) {
    const TensorView *tensor = weights.find(variable.name);
    fitting.push_back(tensor);
    std::string wanted = formatType(variable.dtype, variable.dims);
    if (!tensor) {
      std::string_view near = nearestName(variable.name, names);
      report("'", variable.name, "' ", wanted, " is missing",
             near.empty() ? "" : concat(" (nearest there: '", near, "')"));
    } else if (tensor->dtype != variable.dtype || tensor->dims != variable.dims) {
      report("'", variable.name, "' is ", formatType(tensor->dtype, tensor->dims), ", must be ",
             wanted);
    }
  }
  if (count == 0)
    return fitting;
  return makeError(Code::InvalidArgument, origin, " does not fit this model: ", problems,
                   count > mostListed ? concat("; and ", count - mostListed, " more") : "",
                   ". Use weights saved from the same model");
}

Status saveWeights(const std::string &path, VariableStore &variables, const TextMap &metadata) {
  std::vector<TensorView> tensors;
  for (StoredVariable &variable : variables) {
    StatusOr<Array> value = variable.read();
    if (!value.ok())
      return value.status();
    tensors.push_back({variable.name, value->dtype(), value->dims(),
                       static_cast<const std::byte *>(value->data()), size_t(value->bytes())});
  }
  return writeSafetensors(path, std::move(tensors), metadata);
}

std::vector<VariableUse> usedVariables(const Program &program, const Entry &entry) {
  std::vector<const Buffer *> root;
  for (const Buffer &buffer : entry.buffers)
    root.push_back(buffer.kind == BufferKind::View ? root[buffer.slot] : &buffer);
  std::vector<bool> used(program.variables.size()), written(used.size());
  for (const Command &command : entry.commands)
    for (size_t i = 0; i < command.buffers.size(); ++i)
      if (const Buffer *owner = root[command.buffers[i]]; owner->kind == BufferKind::Variable) {
        used[owner->slot] = true;
        written[owner->slot] = written[owner->slot] || writesOperand(command, i);
      }
  std::vector<VariableUse> uses;
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i])
      uses.push_back({Index(i), written[i]});
  return uses;
}

std::vector<bool> writtenVariables(const Program &program) {
  std::vector<bool> written(program.variables.size());
  for (const Entry &entry : program.entries)
    for (const VariableUse &use : usedVariables(program, entry))
      written[use.slot] = written[use.slot] || use.written;
  return written;
}

} // namespace sinter::rt
