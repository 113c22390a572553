#include "core_support.h"

#include "sinter/base/bytes.h"
#include "sinter/core/hash.h"

#include <random>

namespace sinter::rt {
namespace {

using test::expectError;

Program sample() {
  Program program = test::stepProgram();
  program.constants.push_back({std::vector<std::byte>(100, std::byte(7))});
  program.libraryCalls.push_back({LibraryOp::Matmul, {0, 1, 0}, {PostOp::Bias, PostOp::Relu}});
  return program;
}

StatusOr<Program> reread(const std::vector<std::byte> &bytes) {
  return deserialize(bytes.data(), bytes.size());
}

TEST(Program, ExpressionsAndStringsAreInterned) {
  Program program;
  program.symbols.push_back({"n", 1, -1});
  Index n = program.addExpr({Expr::Op::Symbol, 0, 0});
  Index four = program.constant(4);
  Index product = program.addExpr({Expr::Op::Mul, n, four});
  EXPECT_EQ(program.addExpr({Expr::Op::Mul, n, four}), product);
  EXPECT_EQ(program.constant(4), four);
  EXPECT_EQ(program.addExpr({Expr::Op::Add, four, four}), program.constant(8)) << "folded";
  program.strings.push_back("filled directly");
  EXPECT_EQ(program.addString("filled directly"), 0);
  EXPECT_EQ(program.addString("new"), 1);
  EXPECT_EQ(program.addString("new"), 1);
}

TEST(Program, EvaluatesWithoutUndefinedCases) {
  Program program;
  program.symbols.push_back({"n", 0, -1});
  using Op = Expr::Op;
  Index n = program.addExpr({Op::Symbol, 0, 0});
  auto with = [&](Op op, int64_t b) { return program.addExpr({op, n, program.constant(b)}); };
  Index floor = with(Op::FloorDiv, 4), ceil = with(Op::CeilDiv, 4), mod = with(Op::Mod, 4);
  Index byZero = with(Op::FloorDiv, 0), modZero = with(Op::Mod, 0),
        minusOne = with(Op::FloorDiv, -1);
  Index least = with(Op::Min, 3), most = with(Op::Max, 3), big = with(Op::Mul, INT64_MAX);
  std::vector<int64_t> values;
  for (int64_t value : {int64_t(0), int64_t(7), int64_t(8), int64_t(-7), INT64_MIN}) {
    evaluate(program, &value, values);
    EXPECT_EQ(values[floor], int64_t(std::floor((long double)value / 4)));
    EXPECT_EQ(values[ceil], int64_t(std::ceil((long double)value / 4)));
    EXPECT_EQ(values[mod], value - values[floor] * 4);
    EXPECT_EQ(values[byZero], 0);
    EXPECT_EQ(values[modZero], 0);
    EXPECT_EQ(values[minusOne], int64_t(-uint64_t(value)));
    EXPECT_EQ(values[least], std::min<int64_t>(value, 3));
    EXPECT_EQ(values[most], std::max<int64_t>(value, 3));
    EXPECT_EQ(values[big], int64_t(uint64_t(value) * uint64_t(INT64_MAX)));
  }
}

TEST(Program, SerialisesWithoutLoss) {
  std::vector<std::byte> bytes = serialize(sample());
  StatusOr<Program> read = reread(bytes);
  ASSERT_OK(read);
  EXPECT_EQ(serialize(*read), bytes);
  EXPECT_EQ(read->symbols[0].name, "n");
  EXPECT_EQ(read->symbols[0].upper, 64);
  EXPECT_TRUE(read->variables[0].trainable);
  EXPECT_EQ(read->libraryCalls[0].postOps.back(), PostOp::Relu);
  EXPECT_EQ(read->entries[0].commands[2].scratchBytes,
            sample().entries[0].commands[2].scratchBytes);
}

TEST(Program, EveryTruncationAndEveryFlippedByteIsFound) {
  const std::vector<std::byte> good = serialize(sample());
  for (size_t size = 0; size < good.size(); ++size)
    ASSERT_FALSE(deserialize(good.data(), size).ok()) << size;
  for (size_t i = 0; i < good.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> bad = good;
      bad[i] ^= std::byte(1 << bit);
      ASSERT_FALSE(reread(bad).ok()) << "byte " << i;
    }
}

TEST(Program, DamageBehindAValidChecksumNeverParsesToSomethingUnsafe) {
  const std::vector<std::byte> good = serialize(sample());
  std::mt19937 random(1);
  int parsed = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bad = good;
    for (int change = 0; change < 1 + round % 3; ++change)
      bad[24 + random() % (bad.size() - 24)] = std::byte(random() % 4 ? random() % 256 : 255);
    if (round % 5 == 0)
      bad.resize(24 + random() % (bad.size() - 24));
    uint64_t checksum = hashBytes(bad.data() + 24, bad.size() - 24);
    std::memcpy(bad.data() + 16, &checksum, 8);
    StatusOr<Program> read = reread(bad);
    if (!read.ok())
      continue;
    ++parsed;
    ASSERT_OK(validate(*read));
    std::vector<int64_t> values, symbols(read->symbols.size(), 3);
    evaluate(*read, symbols.data(), values);
  }
  EXPECT_GT(parsed, 0) << "names and sizes may change and still be sound";
}

TEST(Program, AnotherVersionIsNamedOnBothSides) {
  std::vector<std::byte> bytes = serialize(sample());
  bytes[8] = std::byte(kProgramVersion + 41);
  expectError(reread(bytes), Code::Unsupported,
              {std::to_string(kProgramVersion + 41).c_str(),
               std::to_string(kProgramVersion).c_str(), "compile the model again"});
  expectError(deserialize(nullptr, 0), Code::Corrupt, {"not a compiled program"});
}

TEST(Program, ValidationNamesWhatIsWrong) {
  auto broken = [](auto change) {
    Program program = sample();
    change(program);
    return validate(program);
  };
  EXPECT_TRUE(broken([](Program &) {}).ok());
  expectError(broken([](Program &p) { p.entries[0].commands[0].buffers[0] = 99; }), Code::Corrupt,
              {"step", "command 0", "operand 0"});
  expectError(broken([](Program &p) { p.entries[0].commands[0].buffers[2] = 0; }), Code::Corrupt,
              {"command 0", "writes to an input"});
  expectError(broken([](Program &p) { p.entries[0].buffers[2].lastUse = 1; }), Code::Corrupt,
              {"command 2", "outside its lifetime 0..1"});
  expectError(broken([](Program &p) { p.exprs.push_back({Expr::Op::Add, 0, 1000}); }),
              Code::Corrupt, {"expression"});
  expectError(broken([](Program &p) { p.entries[0].commands[0].tasks = kNone; }), Code::Corrupt,
              {"command 0"});
  expectError(broken([](Program &p) { p.entries[0].commands[1].outputs = 3; }), Code::Corrupt,
              {"command 1", "writes 3 of 2"});
  expectError(broken([](Program &p) { p.entries[0].buffers[1].slot = 2; }), Code::Corrupt,
              {"buffer 1", "slot"});
  expectError(broken([](Program &p) { p.entries[0].buffers[2].kind = BufferKind::View; }),
              Code::Corrupt, {"buffer 2"});
  expectError(broken([](Program &p) { p.variables[0].dims = {INT64_MAX, 8}; }), Code::Corrupt,
              {"variable 'w'"});
  expectError(broken([](Program &p) { p.libraryCalls[0].ints.pop_back(); }), Code::Corrupt,
              {"library call"});
}

TEST(Program, FormulasReadLikeFormulas) {
  test::Builder b;
  Index n = b.symbol("n", 1, 8);
  Index formula = b.add(b.mul(b.c(2), n), b.c(1));
  EXPECT_EQ(formatExpr(b.program, formula), "(2 * n) + 1");
  Index half = b.program.addExpr({Expr::Op::CeilDiv, formula, b.c(2)});
  EXPECT_EQ(formatExpr(b.program, half), "ceil(((2 * n) + 1) / 2)");
  Index doubled = n;
  for (int i = 0; i < 60; ++i)
    doubled = b.add(doubled, doubled);
  EXPECT_LT(formatExpr(b.program, doubled).size(), 1000u);
}

} // namespace
} // namespace sinter::rt
