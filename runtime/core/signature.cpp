#include "signature.h"

#include "sinter/base/text.h"

namespace sinter::rt {

/// `depth` bounds the text of an expression that shares operands many times.
static std::string formatNode(const Program &program, int64_t index, int depth) {
  const Expr &expr = program.exprs[index];
  using Op = Expr::Op;
  if (expr.op == Op::Const)
    return std::to_string(expr.a);
  if (expr.op == Op::Symbol)
    return program.symbols[expr.a].name;
  if (depth == 0)
    return "...";
  auto infix = [&](const char *sign) {
    auto operand = [&](int64_t i) {
      Op inner = program.exprs[i].op;
      std::string text = formatNode(program, i, depth - 1);
      return inner == Op::Add || inner == Op::Mul || inner == Op::Mod ? "(" + text + ")" : text;
    };
    return operand(expr.a) + sign + operand(expr.b);
  };
  switch (expr.op) {
  case Op::Add:
    return infix(" + ");
  case Op::Mul:
    return infix(" * ");
  case Op::Mod:
    return infix(" % ");
  case Op::FloorDiv:
    return "floor(" + infix(" / ") + ")";
  case Op::CeilDiv:
    return "ceil(" + infix(" / ") + ")";
  default:
    return (expr.op == Op::Min ? "min(" : "max(") + formatNode(program, expr.a, depth - 1) + ", " +
           formatNode(program, expr.b, depth - 1) + ")";
  }
}

std::string formatExpr(const Program &program, Index expr) {
  return formatNode(program, expr, /*depth=*/6);
}

std::string formatPort(const Program &program, const Port &port) {
  std::string text = std::string(name(port.dtype)) + "[";
  for (size_t i = 0; i < port.dims.size(); ++i)
    text += (i ? ", " : "") + formatExpr(program, port.dims[i]);
  return text + "]";
}

Signature::Signature(const Program &program, const Entry &entry) : program(program), entry(entry) {
  std::vector<bool> bound(program.symbols.size());
  for (const Port &port : entry.inputs) {
    std::vector<Dim> &dims = inputDims.emplace_back();
    for (Index dim : port.dims) {
      const Expr &expr = program.exprs[dim];
      if (expr.op == Expr::Op::Const) {
        dims.push_back({kNone, expr.a, false});
        continue;
      }
      dims.push_back({Index(expr.a), 0, !bound[expr.a]});
      bound[expr.a] = true;
      ++symbolic;
    }
  }
}

Status Signature::countError(std::string_view what, std::span<const Port> ports, size_t got) const {
  std::string list;
  for (const Port &port : ports)
    list += (list.empty() ? " (" : ", ") + port.name + " " + formatPort(program, port);
  return makeError(Code::InvalidArgument, "entry '", entry.name, "' has ", ports.size(), " ", what,
                   ports.size() == 1 ? "" : "s", list, ports.empty() ? "" : ")", ", got ", got,
                   "; pass one array for each, in this order");
}

template <class... Parts>
Status Signature::portError(std::string_view what, const Port &port, const Argument &got,
                            const Parts &...parts) const {
  return makeError(Code::InvalidArgument, "entry '", entry.name, "': ", what, " '", port.name,
                   "' is ", formatPort(program, port), ", got ", formatType(got.dtype, got.dims),
                   parts...);
}

std::string Signature::binderOf(Index symbol) const {
  for (size_t i = 0; i < inputDims.size(); ++i)
    for (const Dim &dim : inputDims[i])
      if (dim.symbol == symbol && dim.binder)
        return entry.inputs[i].name;
  return "";
}

Status Signature::bindDim(size_t input, size_t axis, int64_t size,
                          std::vector<int64_t> &symbols) const {
  const Dim &dim = inputDims[input][axis];
  if (dim.symbol == kNone) {
    if (size == dim.size)
      return {};
    return makeError(Code::InvalidArgument, ": dimension ", axis, " must be ", dim.size);
  }
  const Symbol &symbol = program.symbols[dim.symbol];
  int64_t &value = symbols[dim.symbol];
  if (dim.binder) {
    value = size;
    if (size >= symbol.lower && (symbol.upper < 0 || size <= symbol.upper))
      return {};
    std::string upper = symbol.upper < 0 ? "" : std::to_string(symbol.upper);
    return makeError(Code::InvalidArgument, ": '", symbol.name, "' must lie in ", symbol.lower,
                     "..", upper);
  }
  if (size == value)
    return {};
  return makeError(Code::InvalidArgument, ": '", symbol.name, "' is ", value, " in input '",
                   binderOf(dim.symbol), "' and ", size, " here");
}

Status Signature::bind(std::span<const Argument> inputs, bool needData,
                       std::vector<int64_t> &symbols) const {
  if (inputs.size() != entry.inputs.size())
    return countError("input", entry.inputs, inputs.size());
  for (size_t i = 0; i < symbols.size(); ++i)
    symbols[i] = program.symbols[i].lower;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Argument &got = inputs[i];
    const Port &port = entry.inputs[i];
    if (got.dtype != port.dtype)
      return portError("input", port, got, "; convert it to ", name(port.dtype));
    if (got.dims.size() != port.dims.size())
      return portError("input", port, got, "; give it ", port.dims.size(), " dimensions");
    for (size_t axis = 0; axis < got.dims.size(); ++axis)
      if (Status status = bindDim(i, axis, got.dims[axis], symbols); !status.ok())
        return portError("input", port, got, status.message());
    if (!needData)
      continue;
    if (!got.data && elementCount(got.dims) != 0)
      return portError("input", port, got,
                       " without data (null pointer); point data at its elements");
    if (reinterpret_cast<uintptr_t>(got.data) % byteSize(port.dtype) != 0)
      return portError("input", port, got, " at an address that is not a multiple of its ",
                       byteSize(port.dtype), "-byte element; copy it to aligned memory");
  }
  return {};
}

Status Signature::checkOutputs(std::span<const Argument> outputs,
                               std::span<const Dims> expected) const {
  if (outputs.size() != entry.outputs.size())
    return countError("output", entry.outputs, outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Argument &got = outputs[i];
    const Port &port = entry.outputs[i];
    if (got.dtype != port.dtype ||
        !std::equal(got.dims.begin(), got.dims.end(), expected[i].begin(), expected[i].end()))
      return portError("output", port, got, "; for these inputs it is ",
                       formatType(port.dtype, expected[i]));
    if (!got.data && elementCount(expected[i]) != 0)
      return portError("output", port, got,
                       " without data (null pointer); point data at its elements");
    if (reinterpret_cast<uintptr_t>(got.data) % byteSize(port.dtype) != 0)
      return portError("output", port, got, " at an address that is not a multiple of its ",
                       byteSize(port.dtype), "-byte element; use aligned memory");
  }
  return {};
}

Status Signature::checkOverlap(std::span<const Argument> inputs,
                               std::span<const Argument> outputs) const {
  auto range = [](const Argument &argument) {
    auto first = reinterpret_cast<uintptr_t>(argument.data);
    return std::pair(first, first + elementCount(argument.dims) * byteSize(argument.dtype));
  };
  auto overlap = [&](const Argument &a, const Argument &b) {
    auto [firstA, endA] = range(a);
    auto [firstB, endB] = range(b);
    return firstA < endB && firstB < endA;
  };
  auto refuse = [&](size_t output, std::string_view what, const std::string &name) {
    return makeError(Code::InvalidArgument, "entry '", entry.name, "': the memory of output '",
                     entry.outputs[output].name, "' overlaps that of ", what, " '", name,
                     "'; pass separate memory");
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (size_t j = 0; j < inputs.size(); ++j)
      if (overlap(outputs[i], inputs[j]))
        return refuse(i, "input", entry.inputs[j].name);
    for (size_t j = 0; j < i; ++j)
      if (overlap(outputs[i], outputs[j]))
        return refuse(i, "output", entry.outputs[j].name);
  }
  return {};
}

} // namespace sinter::rt
