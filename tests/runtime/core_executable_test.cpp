#include "core_allocations.h"
#include "core_support.h"

#include "sinter/core/profiler.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace sinter::rt {
namespace {

using test::Builder;
using test::expectError;

class ExecutableTest : public ::testing::Test {
protected:
  void make(Program program, std::vector<sinter_kernel> kernels,
            const LibraryProvider *library = nullptr, Executable::Options options = {}) {
    ASSERT_OK(store.addAll(program));
    auto made = Executable::create(std::make_shared<const Program>(std::move(program)), 0,
                                   std::move(kernels), store, pool, library, std::move(options));
    ASSERT_OK(made);
    executable = *std::move(made);
  }
  void makeStep() {
    make(test::stepProgram(), test::stepKernels());
    store.find("w")->storage().copyFrom(std::array{1.0f, 2.0f, 3.0f, 4.0f}.data(), 16);
  }

  ThreadPool pool{2};
  VariableStore store;
  std::unique_ptr<Executable> executable;
};

Array ones(int64_t rows) {
  Array x = Array::empty(DType::F32, {rows, 4});
  for (float &value : x.values<float>())
    value = 1;
  return x;
}

TEST_F(ExecutableTest, RunsTheCommandsAndUpdatesVariablesInPlace) {
  makeStep();
  for (int64_t rows : {1, 3, 64, 3}) {
    auto results = executable->call(std::array{ones(rows)});
    ASSERT_OK(results);
    ASSERT_EQ((*results)[0].dims(), (Dims{rows, 4}));
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < 4; ++i)
        ASSERT_EQ((*results)[0].floatAt(row * 4 + i), double(i + 1 + row));
    EXPECT_EQ((*results)[1].floatAt(0), double(rows + rows * (rows - 1) / 2));
  }
  EXPECT_EQ(store.find("steps")->storage().item<int64_t>(), 4);
}

TEST_F(ExecutableTest, ASeenShapeAllocatesNothing) {
  makeStep();
  std::vector<Array> inputs = {ones(64), ones(3), ones(1)};
  std::vector<Array> y = {ones(64), ones(3), ones(1)};
  Array total = Array::zeros(DType::F32, {4});
  auto runAll = [&] {
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::array<Argument, 1> in = {inputs[i]};
      std::array<Argument, 2> out = {y[i], total};
      ASSERT_OK(executable->run(in, out));
    }
  };
  runAll();
  int64_t before = test::allocations();
  for (int round = 0; round < 10; ++round)
    runAll();
  EXPECT_EQ(test::allocations(), before);
}

TEST_F(ExecutableTest, ManyShapesStayCorrectWhenPlansAreEvicted) {
  make(test::stepProgram(), test::stepKernels(), nullptr,
       {.workspace = nullptr, .cachedShapes = 2});
  for (int round = 0; round < 3; ++round)
    for (int64_t rows = 1; rows <= 10; ++rows) {
      auto results = executable->call(std::array{ones(rows)});
      ASSERT_OK(results);
      EXPECT_EQ((*results)[0].floatAt(rows * 4 - 1), double(rows - 1));
    }
}

TEST_F(ExecutableTest, SharesAWorkspaceThatAnotherExecutableGrows) {
  auto workspace = std::make_shared<Workspace>();
  make(test::stepProgram(), test::stepKernels(), nullptr, {.workspace = workspace});
  auto first = std::move(executable);
  make(test::stepProgram(), test::stepKernels(), nullptr, {.workspace = workspace});
  ASSERT_OK(first->call(std::array{ones(2)}));
  ASSERT_OK(executable->call(std::array{ones(64)}));
  auto results = first->call(std::array{ones(2)});
  ASSERT_OK(results);
  EXPECT_EQ((*results)[0].floatAt(4), 1.0);
}

TEST_F(ExecutableTest, WrongArgumentsAreNamed) {
  makeStep();
  auto call = [&](std::vector<Array> inputs) { return executable->call(inputs); };
  expectError(call({}), Code::InvalidArgument, {"'step' has 1 input (x f32[n, 4]), got 0"});
  expectError(call({Array::zeros(DType::F64, {2, 4})}), Code::InvalidArgument,
              {"input 'x' is f32[n, 4], got f64[2, 4]"});
  expectError(call({Array::zeros(DType::F32, {4})}), Code::InvalidArgument, {"got f32[4]"});
  expectError(call({ones(2).reshape({4, 2})}), Code::InvalidArgument,
              {"got f32[4, 2]", "dimension 1 must be 4"});
  expectError(call({Array::zeros(DType::F32, {65, 4})}), Code::InvalidArgument,
              {"'n' must lie in 1..64"});
  expectError(call({Array::zeros(DType::F32, {0, 4})}), Code::InvalidArgument,
              {"'n' must lie in 1..64"});

  Array x = ones(2), y = ones(2), total = Array::zeros(DType::F32, {4});
  auto run = [&](Argument in, std::vector<Argument> out) {
    return executable->run(std::span(&in, 1), out);
  };
  expectError(run(x, {y}), Code::InvalidArgument, {"2 outputs", "got 1"});
  expectError(run(x, {ones(3), total}), Code::InvalidArgument,
              {"output 'y' is f32[n, 4], got f32[3, 4]", "for these inputs it is f32[2, 4]"});
  expectError(run({nullptr, DType::F32, x.dims()}, {y, total}), Code::InvalidArgument,
              {"input 'x'", "null pointer"});
  expectError(run({static_cast<char *>(x.data()) + 1, DType::F32, x.dims()}, {y, total}),
              Code::InvalidArgument, {"4-byte element"});
  expectError(run(x, {x, total}), Code::InvalidArgument, {"output 'y' overlaps", "input 'x'"});
  expectError(run(x, {x, total}), Code::InvalidArgument, {"overlaps"});
  expectError(run(x, {y, y.rows(0, 1).reshape({4})}), Code::InvalidArgument,
              {"output 'total' overlaps", "output 'y'"});
  ASSERT_OK(run(x, {y, total}));
  EXPECT_EQ(store.find("steps")->storage().item<int64_t>(), 1) << "the refused calls ran nothing";
}

TEST_F(ExecutableTest, EqualSymbolsMustAgree) {
  Builder b;
  Index n = b.symbol("n", 0, -1);
  Entry entry;
  entry.name = "pair";
  entry.inputs = {{"a", DType::F32, {n}}, {"b", DType::F32, {n}}};
  b.program.entries.push_back(entry);
  make(b.program, {});
  expectError(
      executable->call(std::array{Array::zeros(DType::F32, {2}), Array::zeros(DType::F32, {3})}),
      Code::InvalidArgument, {"input 'b'", "'n' is 2 in input 'a' and 3 here"});
  EXPECT_TRUE(
      executable->call(std::array{Array::zeros(DType::F32, {0}), Array::zeros(DType::F32, {0})})
          .ok());
}

TEST_F(ExecutableTest, VariablesMustBeThereWithTheirType) {
  auto program = std::make_shared<const Program>(test::stepProgram());
  auto create = [&] { return Executable::create(program, 0, test::stepKernels(), store, pool); };
  (void)*store.add("v", DType::F32, {4}, true);
  expectError(create(), Code::NotFound, {"no variable 'w'", "did you mean 'v'"});
  (void)*store.add("w", DType::F32, {5}, true);
  expectError(create(), Code::FailedPrecondition, {"'w' is f32[5]", "compiled for f32[4]"});
  expectError(Executable::create(program, 0, {test::scaleRows}, store, pool), Code::Internal,
              {"1 kernels", "3"});
  expectError(Executable::create(program, 5, test::stepKernels(), store, pool),
              Code::InvalidArgument, {"entry 5"});
}

/// out i64[6] = views of an arena buffer, a constant and an input, in one.
TEST_F(ExecutableTest, ViewsConstantsAndZeroTasks) {
  Builder b;
  Index two = b.c(2);
  Entry entry;
  entry.name = "concat";
  entry.inputs = {{"x", DType::I64, {b.c(4)}}};
  entry.outputs = {{"out", DType::I64, {b.c(6)}}};
  b.program.constants.push_back({std::vector<std::byte>(16, std::byte(1))});
  b.program.kernels = {{"never"}};
  auto view = [&](Index parent, int64_t offset) {
    Buffer result = b.buffer(BufferKind::View, DType::I64, {two}, parent);
    result.offset = b.c(offset);
    return result;
  };
  Buffer arena = b.buffer(BufferKind::Arena, DType::I64, {two}, kNone);
  arena.firstUse = 0, arena.lastUse = 2;
  entry.buffers = {b.buffer(BufferKind::Input, DType::I64, {b.c(4)}, 0),
                   b.buffer(BufferKind::Output, DType::I64, {b.c(6)}, 0),
                   b.buffer(BufferKind::Constant, DType::I64, {two}, 0),
                   arena,
                   view(1, 0),
                   view(1, 16),
                   view(1, 32),
                   view(0, 16)};
  auto copy = [&](Index from, Index to) {
    Command command;
    command.kind = CommandKind::Copy, command.buffers = {from, to}, command.outputs = 1;
    return command;
  };
  entry.commands = {copy(7, 3), copy(3, 5), copy(2, 4), copy(7, 6),
                    b.launch(0, {1}, b.c(0), "nothing to do")};
  b.program.entries.push_back(entry);
  make(b.program, {[](void *const *, const int64_t *, void *, int64_t, int64_t) { std::abort(); }});
  auto results =
      executable->call(std::array{Array::of({int64_t(1), int64_t(2), int64_t(3), int64_t(4)})});
  ASSERT_OK(results);
  constexpr int64_t ones = 0x0101010101010101;
  EXPECT_TRUE(identical((*results)[0],
                        Array::of({ones, ones, int64_t(3), int64_t(4), int64_t(3), int64_t(4)})));
}

TEST_F(ExecutableTest, SizesThatDoNotFitAreFoundWhenTheShapeIsPlanned) {
  auto planned = [&](auto change) {
    Program program = test::stepProgram();
    change(program);
    auto made = Executable::create(std::make_shared<const Program>(program), 0, test::stepKernels(),
                                   store, pool);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return (*made)->call(std::array{ones(2)});
  };
  ASSERT_OK(store.addAll(test::stepProgram()));
  expectError(planned([](Program &p) { p.entries[0].buffers[2].bytes = p.constant(31); }),
              Code::Corrupt, {"hidden", "31 bytes are too few"});
  expectError(planned([](Program &p) { p.entries[0].buffers[3].bytes = p.constant(64); }),
              Code::Corrupt, {"exceed what contains them"});
  expectError(planned([](Program &p) { p.entries[0].commands[1].buffers = {1, 3}; }), Code::Corrupt,
              {"copies 16 bytes onto 32"});
  expectError(planned([](Program &p) { p.entries[0].commands[0].tasks = p.constant(-1); }),
              Code::Corrupt, {"model.cc:7", "'scale'", "-1 tasks"});
  expectError(
      planned([](Program &p) { p.entries[0].buffers[2].bytes = p.constant(int64_t(1) << 50); }),
      Code::InvalidArgument, {"no machine holds"});
}

/// Doubles its first operand, to see what the executor hands to a library.
class FakeLibrary : public LibraryProvider {
public:
  struct Primitive : LibraryPrimitive {
    int64_t rows;
    int64_t scratchBytes() const override { return 4096; }
    Status run(void *const *buffers, void *scratch, ThreadPool &) override {
      std::memset(scratch, 0xff, 4096);
      for (int64_t i = 0; i < rows * 4; ++i)
        static_cast<float *>(buffers[2])[i] = 2 * static_cast<float *>(buffers[0])[i];
      return rows == 5 ? Status(Code::Internal, "library says no") : Status();
    }
  };
  StatusOr<std::unique_ptr<LibraryPrimitive>>
  prepare(const LibraryCall &, std::span<const LibraryOperand> operands) const override {
    ++prepared;
    if (operands[0].dims[0] == 7)
      return Status(Code::Unsupported, "no matmul of 7 rows");
    EXPECT_NE(operands[1].constant, nullptr);
    auto primitive = std::make_unique<Primitive>();
    primitive->rows = operands[0].dims[0];
    return std::unique_ptr<LibraryPrimitive>(std::move(primitive));
  }
  mutable int prepared = 0;
};

Program libraryProgram() {
  Builder b;
  Index n = b.symbol("n", 1, -1), four = b.c(4);
  Entry entry;
  entry.name = "double";
  entry.inputs = {{"x", DType::F32, {n, four}}};
  entry.outputs = {{"y", DType::F32, {n, four}}, {"z", DType::F32, {n, four}}};
  b.program.constants.push_back({std::vector<std::byte>(64)});
  b.program.libraryCalls = {{LibraryOp::Matmul, {0, 0, 0}, {PostOp::Add, PostOp::Relu}}};
  entry.buffers = {b.buffer(BufferKind::Input, DType::F32, {n, four}, 0),
                   b.buffer(BufferKind::Constant, DType::F32, {four, four}, 0),
                   b.buffer(BufferKind::Output, DType::F32, {n, four}, 0),
                   b.buffer(BufferKind::Output, DType::F32, {n, four}, 1)};
  for (Index out : {2, 3}) {
    Command command;
    command.kind = CommandKind::Library, command.target = 0, command.outputs = 1;
    command.buffers = {0, 1, out, 0}; // the residual stands behind the result
    command.name = b.program.addString("matmul"), command.location = b.program.addString("m.cc:3");
    entry.commands.push_back(command);
  }
  b.program.entries.push_back(entry);
  return b.program;
}

TEST_F(ExecutableTest, LibraryPrimitivesAreMadeOncePerShapeAndShared) {
  FakeLibrary library;
  make(libraryProgram(), {}, &library);
  for (int64_t rows : {2, 3, 2, 3}) {
    auto results = executable->call(std::array{ones(rows)});
    ASSERT_OK(results);
    EXPECT_EQ((*results)[1].floatAt(rows * 4 - 1), 2.0);
  }
  EXPECT_EQ(library.prepared, 2);
  expectError(executable->call(std::array{ones(5)}), Code::Internal,
              {"m.cc:3", "'matmul'", "library says no"});
  expectError(executable->call(std::array{ones(7)}), Code::Unsupported,
              {"m.cc:3", "no matmul of 7 rows"});
  make(libraryProgram(), {});
  expectError(executable->call(std::array{ones(2)}), Code::FailedPrecondition,
              {"none is linked in", "--vendor=none"});
}

TEST_F(ExecutableTest, ResultsDoNotDependOnTheNumberOfThreads) {
  std::vector<Array> results;
  for (int threads : {1, 2, 3}) {
    ThreadPool other(threads);
    VariableStore variables;
    Program program = test::stepProgram();
    ASSERT_OK(variables.addAll(program));
    auto made = Executable::create(std::make_shared<const Program>(program), 0, test::stepKernels(),
                                   variables, other);
    ASSERT_OK(made);
    auto result = (*made)->call(std::array{ones(61)});
    ASSERT_OK(result);
    results.push_back((*result)[0]);
  }
  EXPECT_TRUE(identical(results[0], results[1]));
  EXPECT_TRUE(identical(results[0], results[2]));
}

TEST_F(ExecutableTest, ProfilerNamesCommandsAndWritesATrace) {
  makeStep();
  Profiler profiler;
  EXPECT_NE(profiler.report().find("nothing was profiled"), std::string::npos);
  executable->setHooks({.profiler = &profiler});
  for (int i = 0; i < 3; ++i)
    ASSERT_OK(executable->call(std::array{ones(64)}));
  std::string report = profiler.report();
  for (const char *word : {"entry step: 3 runs", "scale in net.head at model.cc:7", "keep", "count",
                           "GFLOP/s", "net.head\n"})
    EXPECT_NE(report.find(word), std::string::npos) << word << " not in\n" << report;
  std::string path = ::testing::TempDir() + "/core_trace.json";
  ASSERT_OK(profiler.writeTrace(path));
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str().find("{\"displayTimeUnit\""), 0u);
  EXPECT_NE(text.str().find("\"name\":\"scale\""), std::string::npos);
  EXPECT_FALSE(profiler.writeTrace("/nonexistent/trace.json").ok());
  executable->setHooks({});
  profiler.reset();
  ASSERT_OK(executable->call(std::array{ones(64)}));
  EXPECT_NE(profiler.report().find("nothing was profiled"), std::string::npos);
}

TEST_F(ExecutableTest, CheckNumericsNamesTheFirstCommandAndShowsItsInputs) {
  makeStep();
  std::vector<Array> shown;
  Hooks hooks;
  hooks.checkNumerics = true;
  hooks.onNumericsFailure = [&](const NumericsFailure &failure) {
    for (const Array &input : failure.inputs)
      shown.push_back(input.clone());
    return std::string("inputs saved to nan/");
  };
  executable->setHooks(hooks);
  ASSERT_OK(executable->call(std::array{ones(2)}));
  store.find("w")->storage().data<float>()[2] = INFINITY;
  expectError(
      executable->call(std::array{ones(2)}), Code::FailedPrecondition,
      {"model.cc:7: check-numerics: scale in net.head: inf at [0, 2] of output 0, f32[2, 4]",
       "inputs saved to nan/"});
  ASSERT_EQ(shown.size(), 2u);
  EXPECT_TRUE(identical(shown[0], ones(2)));
  Array bad = ones(2);
  bad.data<float>()[7] = NAN;
  expectError(executable->call(std::array{bad}), Code::FailedPrecondition,
              {"NaN at [1, 3] of input 'x'", "before any command ran"});
}

TEST_F(ExecutableTest, CheckNumericsShowsInputsAsTheyWereBeforeAnUpdateInPlace) {
  Builder b;
  b.program.variables = {{"v", DType::F32, {2}, true}};
  b.program.kernels = {{"spoil"}};
  Entry entry;
  entry.name = "update";
  entry.buffers = {b.buffer(BufferKind::Variable, DType::F32, {b.c(2)}, 0)};
  entry.commands = {b.launch(0, {0, 0}, b.c(1), "update")};
  b.program.entries.push_back(entry);
  make(b.program, {[](void *const *buffers, const int64_t *, void *, int64_t, int64_t) {
         static_cast<float *>(buffers[1])[1] = NAN;
       }});
  float before = -1;
  Hooks hooks;
  hooks.checkNumerics = true;
  hooks.onNumericsFailure = [&](const NumericsFailure &failure) {
    before = failure.inputs[0].data<float>()[1];
    return std::string();
  };
  executable->setHooks(hooks);
  expectError(executable->call({}), Code::FailedPrecondition, {"NaN at [1]"});
  EXPECT_EQ(before, 0.0f);
}

TEST_F(ExecutableTest, ProbesHandOverValues) {
  Program program = test::stepProgram();
  Command probe;
  probe.kind = CommandKind::Probe, probe.buffers = {2}, probe.name = program.addString("hidden");
  auto &commands = program.entries[0].commands;
  commands.insert(commands.begin() + 2, probe);
  program.entries[0].buffers[2].lastUse = 3;
  make(program, test::stepKernels());
  ASSERT_OK(executable->call(std::array{ones(2)}));
  std::string seen;
  Hooks hooks;
  hooks.probe = [&](const CommandInfo &command, const Array &value) {
    seen = std::string(command.name) + " " + value.type();
  };
  executable->setHooks(hooks);
  ASSERT_OK(executable->call(std::array{ones(2)}));
  EXPECT_EQ(seen, "hidden f32[2, 4]");
}

TEST_F(ExecutableTest, MemoryReportNamesTheOwners) {
  makeStep();
  EXPECT_NE(executable->memoryReport().find("not planned yet"), std::string::npos);
  ASSERT_OK(executable->call(std::array{ones(64)}));
  std::string report = executable->memoryReport();
  EXPECT_NE(report.find("1024 B at"), std::string::npos) << report;
  EXPECT_NE(report.find("hidden"), std::string::npos);
}

} // namespace
} // namespace sinter::rt
