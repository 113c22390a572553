// What the executor costs beside the kernels: a call, a command, a fork-join.
// Kernels that do nothing leave the dispatch alone; compare bar 5 of the design
// (at most 100 ns a command of one task).
#include "sinter/core/executable.h"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>

using namespace sinter;
using namespace sinter::rt;

namespace {

void nothing(void *const *, const int64_t *, void *, int64_t, int64_t) {}

/// f32[n] in and out, and `commands` launches of `tasks` tasks with 4 operands.
Program emptyProgram(int64_t commands, int64_t tasks) {
  Program program;
  program.symbols.push_back({"n", 1, -1});
  Index n = program.addExpr({Expr::Op::Symbol, 0, 0}), four = program.constant(4);
  Index bytes = program.addExpr({Expr::Op::Mul, n, four});
  program.kernels = {{"nothing"}};
  Entry entry;
  entry.name = "empty";
  entry.inputs = {{"x", DType::F32, {n}}};
  entry.outputs = {{"y", DType::F32, {n}}};
  Buffer buffer;
  buffer.dims = {n}, buffer.bytes = bytes, buffer.lastUse = Index(commands - 1);
  entry.buffers.assign(3, buffer);
  entry.buffers[0].kind = BufferKind::Input, entry.buffers[0].slot = 0;
  entry.buffers[1].kind = BufferKind::Output, entry.buffers[1].slot = 0;
  Command command;
  command.target = 0, command.buffers = {0, 2, 2, 1}, command.outputs = 1;
  command.tasks = program.constant(tasks);
  entry.commands.assign(size_t(commands), command);
  program.entries.push_back(std::move(entry));
  return program;
}

/// One call after the other; `alternate` changes the arrays and the shape each time.
void runCalls(benchmark::State &state, int threads, int64_t tasks, bool alternate) {
  ThreadPool pool(threads);
  VariableStore variables;
  auto made =
      Executable::create(std::make_shared<const Program>(emptyProgram(state.range(0), tasks)), 0,
                         {nothing}, variables, pool);
  if (!made.ok()) {
    std::fprintf(stderr, "%s\n", made.status().message().c_str());
    std::exit(1);
  }
  Array x[] = {Array::zeros(DType::F32, {8}), Array::zeros(DType::F32, {16})};
  Array y[] = {Array::zeros(DType::F32, {8}), Array::zeros(DType::F32, {16})};
  const Argument in[] = {x[0], x[1]}, out[] = {y[0], y[1]};
  size_t which = 0;
  for (auto _ : state) {
    Status status = (*made)->run({&in[which], 1}, {&out[which], 1});
    benchmark::DoNotOptimize(status);
    which = alternate ? 1 - which : 0;
  }
  state.counters["per_command"] =
      benchmark::Counter(double(state.range(0)) * double(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void oneTask(benchmark::State &state) { runCalls(state, 2, 1, false); }
void oneTaskOtherShape(benchmark::State &state) { runCalls(state, 2, 1, true); }
void twoTasks(benchmark::State &state) { runCalls(state, 2, 2, false); }

BENCHMARK(oneTask)->Arg(1)->Arg(20)->Arg(200);
BENCHMARK(oneTaskOtherShape)->Arg(20);
BENCHMARK(twoTasks)->Arg(200)->UseRealTime();

void forkJoin(benchmark::State &state) {
  ThreadPool pool(int(state.range(0)));
  for (auto _ : state)
    pool.parallelFor(state.range(0),
                     [](int64_t begin, int64_t, int) { benchmark::DoNotOptimize(begin); });
}
BENCHMARK(forkJoin)->Arg(1)->Arg(2)->UseRealTime();

} // namespace

BENCHMARK_MAIN();
