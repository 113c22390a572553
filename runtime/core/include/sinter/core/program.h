// The compiled program: a flat, versioned command list.
//
// codegen/ fills a Program, the executor runs it, an artifact embeds its
// serialised form; JIT, artifact, emulator and profiler all see this one
// structure. It owns no memory but its own tables, holds no pointers into
// anything, and is immutable once handed to an Executable, so any number of
// threads may read it.
#pragma once

#include "sinter/base/dtype.h"
#include "sinter/base/status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sinter::rt {

/// Raised whenever the meaning or encoding of anything below changes.
inline constexpr uint32_t kProgramVersion = 2;

using Index = int32_t; ///< position in one of the Program's tables
inline constexpr Index kNone = -1;

/// A symbolic dimension, e.g. "n" in 1..64. `upper` < 0: unbounded.
/// Its value is read from the entry's inputs that have it as a dimension; an
/// entry without such an input sees the lower bound.
struct Symbol {
  std::string name;
  int64_t lower = 0, upper = -1;
};

/// Integer expressions over symbols, in evaluation order: operands of a node
/// stand before it, so one forward sweep evaluates all of them. Divisions round
/// down (CeilDiv up); by zero they give zero, and overflow wraps.
struct Expr {
  enum class Op : uint8_t { Const, Symbol, Add, Mul, FloorDiv, CeilDiv, Mod, Min, Max };
  Op op = Op::Const;
  int64_t a = 0; ///< Const: the value; Symbol: index of the symbol; else index of an Expr
  int64_t b = 0; ///< second operand's Expr index

  bool operator==(const Expr &) const = default;
};

/// Where a buffer's bytes live.
enum class BufferKind : uint8_t {
  Input,    ///< the caller's array number `slot`
  Output,   ///< the caller's (or runtime's) result number `slot`
  Variable, ///< instance storage of variable number `slot`, fixed address
  Constant, ///< constant number `slot`, read only
  Arena,    ///< planned storage, live from command `firstUse` to `lastUse`
  View,     ///< bytes at `offset` inside buffer `slot`, which stands before it in the table
};

struct Buffer {
  BufferKind kind = BufferKind::Arena;
  DType dtype = DType::F32;
  std::vector<Index> dims;         ///< Expr indices; row-major, contiguous
  Index slot = kNone;              ///< see BufferKind
  Index offset = kNone;            ///< View: Expr of the byte offset in the parent
  Index bytes = kNone;             ///< Expr of the size in bytes
  Index firstUse = 0, lastUse = 0; ///< Arena: command range (inclusive) it must survive
  Index name = kNone;              ///< String: what owns the bytes, for memory reports
};

/// A vendor-library operation; `ints` per kind:
///   Matmul:  {transposeA, transposeB, batchRank}; operands A, B, C
///            (C = op(A) op(B); leading `batchRank` dims equal, or 0)
///   Conv2d*: {strideH, strideW, padTop, padLeft, padBottom, padRight,
///             dilationH, dilationW, groups, channelsLast}
///            Conv2d: x, w, y.  Conv2dInputGrad: dy, w, dx.
///            Conv2dWeightGrad: x, dy, dw.  w is OIHW whatever the layout of x.
/// Post-ops apply in order to the f32 result; each Bias / Add names the operand
/// that follows the three above.
enum class LibraryOp : uint8_t { Matmul, Conv2d, Conv2dInputGrad, Conv2dWeightGrad };
enum class PostOp : uint8_t { Bias, Add, Relu }; ///< Bias: one value a column / output channel
struct LibraryCall {
  LibraryOp op = LibraryOp::Matmul;
  std::vector<int64_t> ints;
  std::vector<PostOp> postOps;
};

enum class CommandKind : uint8_t {
  Launch,  ///< kernel `target` over `tasks` tasks
  Library, ///< library call `target`
  Copy,    ///< buffers[0] -> buffers[1], same size
  Probe,   ///< hand buffers[0] to the probe callback under `name`
};

struct Command {
  CommandKind kind = CommandKind::Launch;
  Index target = kNone;       ///< kernel or library call
  std::vector<Index> buffers; ///< inputs, then outputs (Library: in the call's order)
  Index outputs = 0;          ///< how many of `buffers` are written; see `writesOperand`
  Index tasks = kNone;        ///< Launch: Expr of the number of tasks, or of blocks
  Index scratchBytes = kNone; ///< Launch: Expr of scratch bytes a worker, or kNone
  Index name = kNone;         ///< String, e.g. "conv.relu.sum"; the command's, not the kernel's
  Index location = kNone;     ///< String, "train.cc:31"
  Index module = kNone;       ///< String, dotted module path
  Index flops = kNone, bytes = kNone; ///< Expr: work and minimal traffic, for the profiler
};

/// Whether the command writes operand `operand`: the last `outputs` of a launch or
/// copy, a library call's third.
inline bool writesOperand(const Command &command, size_t operand) {
  if (command.kind == CommandKind::Library)
    return operand == 2;
  return operand + size_t(command.outputs) >= command.buffers.size();
}

/// A kernel's symbol in the compiled image.
struct Kernel {
  std::string symbol;
  int32_t threads = 0; ///< a block of a device kernel; 0: a CPU kernel, which has none
};

struct Variable {
  std::string name; ///< unique, dotted path
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
  bool trainable = false;
};

struct Constant {
  std::vector<std::byte> data; ///< row-major, little endian
};

/// What a caller passes or receives.
struct Port {
  std::string name;
  DType dtype = DType::F32;
  std::vector<Index> dims; ///< Exprs. An input dimension is a Const or a Symbol
};

/// One callable function: its own commands over its own buffers.
struct Entry {
  std::string name;
  std::vector<Port> inputs, outputs;
  std::vector<Buffer> buffers;
  std::vector<Command> commands;
};

struct Program {
  std::vector<std::string> strings;
  std::vector<Symbol> symbols;
  std::vector<Expr> exprs;
  std::vector<Variable> variables;
  std::vector<Constant> constants;
  std::vector<Kernel> kernels;
  std::vector<LibraryCall> libraryCalls;
  std::vector<Entry> entries;

  /// Adds the expression unless an equal one is there; returns its index.
  /// Operations on constants are folded.
  Index addExpr(Expr expr);
  Index constant(int64_t value) { return addExpr({Expr::Op::Const, value, 0}); }
  /// Interns `text`; returns its index in `strings`.
  Index addString(std::string_view text);

private:
  /// Hash to table positions, caught up with the tables on use.
  std::unordered_multimap<size_t, Index> exprsByHash, stringsByHash;
};

/// Checks every index, every enumerator and that nothing writes to an input or
/// a constant, so that a Program that passed is safe to execute as far as its
/// kernels are. The error names the entry and command.
Status validate(const Program &program);

/// Little-endian bytes with magic, version and checksum.
std::vector<std::byte> serialize(const Program &program);
/// Checks magic, version (error names both versions), checksum, and `validate`s.
StatusOr<Program> deserialize(const std::byte *data, size_t size);

/// Evaluates all expressions; `values` has one element an Expr afterwards.
/// `symbols`: one value a Symbol, in table order.
void evaluate(const Program &program, const int64_t *symbols, std::vector<int64_t> &values);

} // namespace sinter::rt
