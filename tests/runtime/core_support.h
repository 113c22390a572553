// Hand-written kernels and the programs the executor's tests run them in.
#pragma once

#include "sinter/abi/kernel.h"
#include "sinter/core/executable.h"
#include "sinter/core/program.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sinter::rt::test {

#define ASSERT_OK(expression)                                                                      \
  do {                                                                                             \
    const auto &outcome = (expression);                                                            \
    ASSERT_TRUE(outcome.ok()) << ::sinter::rt::test::statusOf(outcome).message();                  \
  } while (false)

inline const Status &statusOf(const Status &status) { return status; }
template <class T> const Status &statusOf(const StatusOr<T> &result) { return result.status(); }

/// Expects failure with the code and every one of the words in the message. A user's mistake takes
/// one line.
template <class Result>
void expectError(const Result &result, Code code, std::initializer_list<const char *> words) {
  const Status &status = statusOf(result);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(status.code(), code) << status.message();
  for (const char *word : words)
    EXPECT_NE(status.message().find(word), std::string::npos)
        << "no '" << word << "' in: " << status.message();
  if (code == Code::InvalidArgument) {
    EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
  }
}

/// Rows of 4 floats: y = x * w + y's row number, one task a row.
inline void scaleRows(void *const *buffers, const int64_t *, void *, int64_t begin, int64_t end) {
  auto *x = static_cast<const float *>(buffers[0]);
  auto *w = static_cast<const float *>(buffers[1]);
  auto *y = static_cast<float *>(buffers[2]);
  for (int64_t row = begin; row < end; ++row)
    for (int64_t i = 0; i < 4; ++i)
      y[row * 4 + i] = x[row * 4 + i] * w[i] + float(row);
}

/// Sums x over its n rows of 4 into y[4], by way of the worker's scratch; one task.
inline void sumRows(void *const *buffers, const int64_t *symbols, void *scratch, int64_t, int64_t) {
  auto *x = static_cast<const float *>(buffers[0]);
  auto *y = static_cast<float *>(buffers[1]);
  auto *sums = static_cast<float *>(scratch);
  for (int64_t i = 0; i < 4; ++i)
    sums[i] = 0;
  for (int64_t row = 0; row < symbols[0]; ++row)
    for (int64_t i = 0; i < 4; ++i)
      sums[i] += x[row * 4 + i];
  for (int64_t i = 0; i < 4; ++i)
    y[i] = sums[i];
}

/// v += 1, an i64 counter; one task.
inline void countUp(void *const *buffers, const int64_t *, void *, int64_t, int64_t) {
  ++*static_cast<int64_t *>(buffers[0]);
}

/// Builds tables with few words.
struct Builder {
  Program program;

  Index c(int64_t value) { return program.constant(value); }
  Index symbol(std::string name, int64_t lower, int64_t upper) {
    program.symbols.push_back({std::move(name), lower, upper});
    return program.addExpr({Expr::Op::Symbol, int64_t(program.symbols.size()) - 1, 0});
  }
  Index mul(Index a, Index b) { return program.addExpr({Expr::Op::Mul, a, b}); }
  Index add(Index a, Index b) { return program.addExpr({Expr::Op::Add, a, b}); }

  Buffer buffer(BufferKind kind, DType dtype, std::vector<Index> dims, Index slot,
                std::string_view name = "buffer") {
    Buffer result;
    result.kind = kind, result.dtype = dtype, result.dims = dims, result.slot = slot;
    result.bytes = c(int64_t(byteSize(dtype)));
    for (Index dim : dims)
      result.bytes = mul(result.bytes, dim);
    result.name = program.addString(name);
    return result;
  }
  Command launch(Index kernel, std::vector<Index> buffers, Index tasks, std::string_view name) {
    Command command;
    command.kind = CommandKind::Launch, command.target = kernel, command.outputs = 1;
    command.buffers = std::move(buffers), command.tasks = tasks;
    command.name = program.addString(name);
    command.location = program.addString("model.cc:7");
    command.module = program.addString("net.head");
    command.flops = command.bytes = c(100);
    return command;
  }
};

/// Entry "step": x f32[n, 4] (n in 1..64), variables w f32[4] and steps i64[];
/// h = scaleRows(x, w); y f32[n, 4] = copy of h; total f32[4] = sumRows(h); ++steps.
/// Kernels: scaleRows, sumRows, countUp.
inline Program stepProgram() {
  Builder b;
  Index n = b.symbol("n", 1, 64), four = b.c(4);
  b.program.variables = {{"w", DType::F32, {4}, true}, {"steps", DType::I64, {}, false}};
  b.program.kernels = {{"scale_rows"}, {"sum_rows"}, {"count_up"}};
  Entry entry{.name = "step",
              .inputs = {{"x", DType::F32, {n, four}}},
              .outputs = {},
              .buffers = {},
              .commands = {}};
  entry.outputs = {{"y", DType::F32, {n, four}}, {"total", DType::F32, {four}}};
  Buffer h = b.buffer(BufferKind::Arena, DType::F32, {n, four}, kNone, "hidden");
  h.firstUse = 0, h.lastUse = 2;
  entry.buffers = {b.buffer(BufferKind::Input, DType::F32, {n, four}, 0, "x"),
                   b.buffer(BufferKind::Variable, DType::F32, {four}, 0, "w"),
                   h,
                   b.buffer(BufferKind::Output, DType::F32, {n, four}, 0, "y"),
                   b.buffer(BufferKind::Output, DType::F32, {four}, 1, "total"),
                   b.buffer(BufferKind::Variable, DType::I64, {}, 1, "steps")};
  Command copy;
  copy.kind = CommandKind::Copy, copy.buffers = {2, 3}, copy.outputs = 1;
  copy.name = b.program.addString("keep");
  Command sum = b.launch(1, {2, 4}, b.c(1), "sum");
  sum.scratchBytes = b.c(16);
  entry.commands = {b.launch(0, {0, 1, 2}, n, "scale"), copy, sum,
                    b.launch(2, {5}, b.c(1), "count")};
  b.program.entries.push_back(std::move(entry));
  return b.program;
}

inline std::vector<sinter_kernel> stepKernels() { return {scaleRows, sumRows, countUp}; }

} // namespace sinter::rt::test
