// A pack comes back as it was written, and a damaged one is refused.
#include "made_packs.h"

#include "sinter/core/file.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sinter::gpucheck {
namespace {

class PackFile : public testing::Test {
protected:
  ~PackFile() override { std::filesystem::remove(path); }
  std::string path = testing::TempDir() + "gpu_check_" + std::to_string(::getpid()) + ".pack";

  std::string content() {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void rewrite(const std::string &bytes) { ASSERT_OK(rt::writeFile(path, bytes)); }
};

using rt::test::expectError;

TEST_F(PackFile, ComesBackAsItWas) {
  Pack pack = countPack("conformance/count", "number_i32");
  pack.code.push_back({DeviceCode::Form::Cubin, "sm_90", 13000, std::string("\0\1", 2)});
  pack.cases[0].variables = {{"w", rt::Array::of({1.5f, -2.0f})}};
  Step &step = pack.cases[0].steps[0];
  step.inputs = {rt::Array::scalar(int64_t(7)), rt::Array::empty(DType::F16, {0, 3})};
  Bound bound{1e-4, 2, 1e-30, rt::Array::of({1.0, 3.0})};
  step.expected.push_back({Expected::Of::Variable, 0, "w", rt::Array::of({1.0f, 2.0f}), bound});
  ASSERT_OK(writePack(path, pack));
  auto read = readPack(path);
  ASSERT_OK(read);
  EXPECT_EQ(read->name, pack.name);
  EXPECT_EQ(read->program, pack.program);
  ASSERT_EQ(read->code.size(), 2u);
  EXPECT_EQ(read->code[1].form, DeviceCode::Form::Cubin);
  EXPECT_EQ(read->code[1].toolkit, 13000);
  EXPECT_EQ(read->code[1].bytes, pack.code[1].bytes);
  ASSERT_EQ(read->cases.size(), 2u);
  EXPECT_EQ(read->cases[1].name, "wrong");
  EXPECT_TRUE(identical(read->cases[0].variables[0].value, pack.cases[0].variables[0].value));
  const Step &back = read->cases[0].steps[0];
  EXPECT_EQ(back.inputs[1].type(), "f16[0, 3]");
  EXPECT_EQ(back.inputs[0].item<int64_t>(), 7);
  ASSERT_EQ(back.expected.size(), 2u);
  EXPECT_EQ(back.expected[1].of, Expected::Of::Variable);
  EXPECT_EQ(back.expected[1].bound.floor, 2);
  EXPECT_TRUE(identical(back.expected[1].bound.scale, bound.scale));
  EXPECT_FALSE(back.expected[0].bound.scale);
}

TEST_F(PackFile, DamageIsFound) {
  ASSERT_OK(writePack(path, countPack("count", "number_i32")));
  std::string whole = content();
  for (size_t at : {size_t(9), size_t(20), size_t(40), whole.size() - 1}) {
    std::string damaged = whole;
    damaged[at] = char(damaged[at] ^ 4);
    rewrite(damaged);
    auto read = readPack(path);
    EXPECT_FALSE(read.ok()) << "byte " << at;
    EXPECT_NE(read.status().message().find(path), std::string::npos) << read.status().message();
  }
  rewrite(whole.substr(0, whole.size() - 8));
  expectError(readPack(path), Code::Corrupt, {"size or checksum", "unpack"});
  rewrite("hello");
  expectError(readPack(path), Code::Corrupt, {"no pack"});
  std::string other = whole;
  other[8] = 9;
  rewrite(other);
  expectError(readPack(path), Code::Unsupported, {"version 9", "reads 1"});
}

} // namespace
} // namespace sinter::gpucheck
