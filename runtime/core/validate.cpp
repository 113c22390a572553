#include "sinter/base/text.h"
#include "sinter/core/program.h"

namespace sinter::rt {
namespace {

template <class Table> bool within(Index index, const Table &table) {
  return index >= 0 && size_t(index) < table.size();
}
template <class Table> bool withinOrNone(Index index, const Table &table) {
  return index == kNone || within(index, table);
}
template <class Enum> bool known(Enum value, Enum last) {
  return std::underlying_type_t<Enum>(value) <= std::underlying_type_t<Enum>(last);
}

template <class... Parts> Status malformed(const Parts &...parts) {
  return makeError(Code::Corrupt, "malformed program: ", parts..., "; compile the model again");
}

bool allExprs(const std::vector<Index> &indices, const Program &program) {
  for (Index index : indices)
    if (!within(index, program.exprs))
      return false;
  return true;
}

Status checkTables(const Program &program) {
  for (size_t i = 0; i < program.exprs.size(); ++i) {
    const Expr &expr = program.exprs[i];
    bool leaf = expr.op == Expr::Op::Const || expr.op == Expr::Op::Symbol;
    auto before = [&](int64_t operand) { return operand >= 0 && operand < int64_t(i); };
    if (!known(expr.op, Expr::Op::Max) ||
        (expr.op == Expr::Op::Symbol &&
         (expr.a < 0 || expr.a >= int64_t(program.symbols.size()))) ||
        (!leaf && !(before(expr.a) && before(expr.b))))
      return malformed("expression ", i, " refers to something that does not precede it");
  }
  for (const Symbol &symbol : program.symbols)
    if (symbol.lower < 0 || (symbol.upper >= 0 && symbol.upper < symbol.lower))
      return malformed("symbol '", symbol.name, "' has bounds ", symbol.lower, "..", symbol.upper);
  for (const Variable &variable : program.variables) {
    int64_t bytes = known(variable.dtype, DType::Bool) ? byteSize(variable.dtype) : -1;
    for (int64_t dim : variable.dims)
      if (bytes < 0 || dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes))
        bytes = -1;
    if (bytes < 0)
      return malformed("variable '", variable.name, "' has no sound type");
  }
  for (const LibraryCall &call : program.libraryCalls) {
    if (!known(call.op, LibraryOp::Conv2dWeightGrad))
      return malformed("unknown library operation ", int(call.op));
    if (call.ints.size() != (call.op == LibraryOp::Matmul ? 3 : 10))
      return malformed("a library call has ", call.ints.size(), " parameters");
    for (PostOp postOp : call.postOps)
      if (!known(postOp, PostOp::Relu))
        return malformed("unknown post-op ", int(postOp));
  }
  return {};
}

class EntryChecker {
public:
  EntryChecker(const Program &program, const Entry &entry) : program(program), entry(entry) {}

  Status check() {
    SINTER_RETURN_IF_ERROR(checkPorts(entry.inputs, /*input=*/true));
    SINTER_RETURN_IF_ERROR(checkPorts(entry.outputs, /*input=*/false));
    for (size_t i = 0; i < entry.buffers.size(); ++i)
      SINTER_RETURN_IF_ERROR(checkBuffer(i));
    for (size_t i = 0; i < entry.commands.size(); ++i)
      SINTER_RETURN_IF_ERROR(checkCommand(i));
    return {};
  }

private:
  template <class... Parts> Status bad(const Parts &...parts) {
    return malformed("entry '", entry.name, "': ", parts...);
  }

  Status checkPorts(const std::vector<Port> &ports, bool input) {
    for (const Port &port : ports) {
      if (!known(port.dtype, DType::Bool) || !allExprs(port.dims, program))
        return bad("port '", port.name, "' has no sound type");
      for (Index dim : port.dims)
        if (input && program.exprs[dim].op != Expr::Op::Const &&
            program.exprs[dim].op != Expr::Op::Symbol)
          return bad("a dimension of input '", port.name, "' is neither a constant nor a symbol");
    }
    return {};
  }

  bool slotExists(const Buffer &buffer, size_t position) {
    switch (buffer.kind) {
    case BufferKind::Input:
      return within(buffer.slot, entry.inputs);
    case BufferKind::Output:
      return within(buffer.slot, entry.outputs);
    case BufferKind::Variable:
      return within(buffer.slot, program.variables);
    case BufferKind::Constant:
      return within(buffer.slot, program.constants);
    case BufferKind::Arena:
      return buffer.firstUse >= 0 && buffer.firstUse <= buffer.lastUse;
    case BufferKind::View:
      return buffer.slot >= 0 && size_t(buffer.slot) < position &&
             within(buffer.offset, program.exprs);
    }
    return false;
  }

  Status checkBuffer(size_t position) {
    const Buffer &buffer = entry.buffers[position];
    if (!known(buffer.kind, BufferKind::View) || !known(buffer.dtype, DType::Bool) ||
        !allExprs(buffer.dims, program) || !within(buffer.bytes, program.exprs) ||
        !withinOrNone(buffer.name, program.strings))
      return bad("buffer ", position, " has no sound type");
    if (!slotExists(buffer, position))
      return bad("buffer ", position, " refers to a slot that does not exist");
    root.push_back(buffer.kind == BufferKind::View ? root[buffer.slot] : Index(position));
    return {};
  }

  Status checkCommand(size_t position) {
    const Command &command = entry.commands[position];
    for (Index text : {command.name, command.location, command.module})
      if (!withinOrNone(text, program.strings))
        return bad("command ", position, " has a name out of range");
    for (Index expr : {command.tasks, command.scratchBytes, command.flops, command.bytes})
      if (!withinOrNone(expr, program.exprs))
        return bad("command ", position, " has a size out of range");
    SINTER_RETURN_IF_ERROR(checkOperands(command, position));
    size_t operands = command.buffers.size();
    bool sound = false;
    switch (command.kind) {
    case CommandKind::Launch:
      sound = within(command.target, program.kernels) && command.tasks != kNone;
      break;
    case CommandKind::Library:
      sound = within(command.target, program.libraryCalls) && command.outputs == 1 &&
              operands == operandsOf(program.libraryCalls[command.target]);
      break;
    case CommandKind::Copy:
      sound = operands == 2 && command.outputs == 1;
      break;
    case CommandKind::Probe:
      sound = operands == 1 && command.outputs == 0;
      break;
    }
    return sound ? Status() : bad("command ", position, " lacks its target or operands");
  }

  Status checkOperands(const Command &command, size_t position) {
    size_t operands = command.buffers.size();
    if (command.outputs < 0 || size_t(command.outputs) > operands)
      return bad("command ", position, " writes ", command.outputs, " of ", operands, " operands");
    for (size_t i = 0; i < operands; ++i) {
      if (!within(command.buffers[i], entry.buffers))
        return bad("command ", position, " has operand ", i, " out of range");
      const Buffer &owner = entry.buffers[root[command.buffers[i]]];
      bool written = writesOperand(command, i);
      if (written && (owner.kind == BufferKind::Input || owner.kind == BufferKind::Constant))
        return bad("command ", position, " writes to an input or a constant");
      if (owner.kind == BufferKind::Arena &&
          (Index(position) < owner.firstUse || Index(position) > owner.lastUse))
        return bad("command ", position, " uses buffer ", command.buffers[i],
                   " outside its lifetime ", owner.firstUse, "..", owner.lastUse);
    }
    return {};
  }

  static size_t operandsOf(const LibraryCall &call) {
    size_t operands = 3;
    for (PostOp postOp : call.postOps)
      operands += postOp != PostOp::Relu;
    return operands;
  }

  const Program &program;
  const Entry &entry;
  std::vector<Index> root; ///< the buffer that holds each buffer's bytes
};

} // namespace

Status validate(const Program &program) {
  SINTER_RETURN_IF_ERROR(checkTables(program));
  for (const Entry &entry : program.entries)
    SINTER_RETURN_IF_ERROR(EntryChecker(program, entry).check());
  return {};
}

} // namespace sinter::rt
