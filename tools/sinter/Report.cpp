#include "Report.h"

#include "sinter/base/text.h"
#include "sinter/core/array.h"
#include "sinter/core/executable.h"

#include <algorithm>
#include <array>

namespace sinter::tools {
namespace {

using rt::BufferKind;
using rt::CommandKind;
using rt::Program;

std::string ports(const Program &program, const std::vector<rt::Port> &list) {
  std::string text;
  for (const rt::Port &port : list)
    text += concat(text.empty() ? "" : ", ", port.name, " ", rt::formatPort(program, port));
  return text;
}

std::string textAt(const Program &program, rt::Index index) {
  return index == rt::kNone ? "" : program.strings[size_t(index)];
}

/// What a command reads or writes: a port, a variable, or what owns the bytes.
std::string bufferName(const Program &program, const rt::Entry &entry, rt::Index index) {
  const rt::Buffer &buffer = entry.buffers[size_t(index)];
  size_t slot = size_t(buffer.slot);
  switch (buffer.kind) {
  case BufferKind::Input:
    return entry.inputs[slot].name;
  case BufferKind::Output:
    return entry.outputs[slot].name;
  case BufferKind::Variable:
    return program.variables[slot].name;
  case BufferKind::Constant:
    return concat("constant", slot);
  case BufferKind::View:
    return concat(bufferName(program, entry, buffer.slot), "+",
                  rt::formatExpr(program, buffer.offset));
  case BufferKind::Arena:
    break;
  }
  return concat("%", index);
}

std::string_view libraryName(rt::LibraryOp op) {
  static constexpr std::array<std::string_view, 4> names = {"matmul", "conv2d", "conv2d_input_grad",
                                                            "conv2d_weight_grad"};
  return names[size_t(op)];
}

std::string libraryText(const rt::LibraryCall &call) {
  std::string text(libraryName(call.op));
  for (rt::PostOp postOp : call.postOps)
    text += postOp == rt::PostOp::Bias ? "+bias" : postOp == rt::PostOp::Add ? "+add" : "+relu";
  return text;
}

std::string actionText(const Program &program, const rt::Command &command) {
  switch (command.kind) {
  case CommandKind::Launch:
    return concat("kernel ", command.target, " x ", rt::formatExpr(program, command.tasks));
  case CommandKind::Library:
    return libraryText(program.libraryCalls[size_t(command.target)]);
  case CommandKind::Copy:
    return "copy";
  case CommandKind::Probe:
    return "probe";
  }
  return "";
}

std::string commandText(const Program &program, const rt::Entry &entry,
                        const rt::Command &command) {
  std::string reads, writes;
  for (size_t i = 0; i < command.buffers.size(); ++i) {
    std::string &list = rt::writesOperand(command, i) ? writes : reads;
    list += (list.empty() ? "" : ", ") + bufferName(program, entry, command.buffers[i]);
  }
  std::string text = concat(textAt(program, command.name), ": ", actionText(program, command), " (",
                            reads, ") -> ", writes);
  std::string module = textAt(program, command.module), line = textAt(program, command.location);
  if (!module.empty())
    text += " in " + module;
  return line.empty() ? text : concat(text, " at ", line);
}

std::string commandCounts(const rt::Entry &entry) {
  std::array<int64_t, 4> counts{};
  for (const rt::Command &command : entry.commands)
    ++counts[size_t(command.kind)];
  std::string text = counted(int64_t(entry.commands.size()), "command");
  static constexpr const char *nouns[] = {"kernel launch", "library call", "copy", "probe"};
  const char *separator = ": ";
  for (size_t kind = 0; kind < counts.size(); ++kind)
    if (counts[kind]) {
      text += separator + counted(counts[kind], nouns[kind]);
      separator = ", ";
    }
  return text;
}

std::string symbolText(const rt::Symbol &symbol) {
  return concat("  ", symbol.name, ": ", symbol.lower, symbol.upper < 0 ? " or more" : " to ",
                symbol.upper < 0 ? "" : std::to_string(symbol.upper), "\n");
}

} // namespace

std::string counted(int64_t number, const std::string &noun) {
  std::string text = concat(number, " ", noun);
  if (number == 1)
    return text;
  if (noun.ends_with("y"))
    return text.substr(0, text.size() - 1) + "ies";
  return text + (noun.ends_with("h") ? "es" : "s");
}

std::string describeSignature(const Program &program, const rt::Entry &entry) {
  return concat(entry.name, "(", ports(program, entry.inputs), ") -> ",
                ports(program, entry.outputs));
}

std::string describeProgram(const Program &program) {
  std::string text;
  if (!program.symbols.empty())
    text += "dimensions\n";
  for (const rt::Symbol &symbol : program.symbols)
    text += symbolText(symbol);
  text += "entries\n";
  for (const rt::Entry &entry : program.entries)
    text += concat("  ", describeSignature(program, entry), "\n    ", commandCounts(entry), "\n");
  int64_t bytes = 0;
  std::string variables;
  for (const rt::Variable &variable : program.variables) {
    bytes += rt::elementCount(variable.dims) * int64_t(byteSize(variable.dtype));
    variables += concat("  ", variable.name, " ", formatType(variable.dtype, variable.dims),
                        variable.trainable ? ", trainable" : "", "\n");
  }
  if (!variables.empty())
    text += concat(counted(int64_t(program.variables.size()), "variable"), ", ", formatBytes(bytes),
                   "\n", variables);
  return text;
}

std::string describeCommands(const Program &program) {
  std::string text;
  for (const rt::Entry &entry : program.entries) {
    text += concat("commands of ", entry.name, "\n");
    for (size_t i = 0; i < entry.commands.size(); ++i)
      text += concat("  ", i, " ", commandText(program, entry, entry.commands[i]), "\n");
  }
  return text;
}

} // namespace sinter::tools
