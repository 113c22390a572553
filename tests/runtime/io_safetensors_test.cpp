#include "io_support.h"

#include "sinter/core/file.h"
#include "sinter/core/safetensors.h"

using namespace sinter;
using namespace sinter::rt;
using namespace sinter::test;

static std::string encode(const std::string &header, const std::string &data) {
  uint64_t size = header.size();
  return std::string(reinterpret_cast<const char *>(&size), 8) + header + data;
}

static StatusOr<Safetensors> parse(const std::string &file) {
  return parseSafetensors(reinterpret_cast<const std::byte *>(file.data()), file.size(),
                          "a.safetensors");
}

static const std::vector<float> kFloats = {1, 2, 3, 4, 5, 6};
static const std::vector<int64_t> kLongs = {-1};
static const std::vector<uint8_t> kBytes = {1, 0, 1};

static std::vector<TensorView> sample() {
  return {viewOf("flags", DType::Bool, {3}, kBytes),
          viewOf("net.weight", DType::F32, {2, 3}, kFloats),
          viewOf("step \"é\"", DType::I64, {}, kLongs),
          {"none", DType::F16, {0, 5}, nullptr, 0}};
}

TEST(Safetensors, RoundTrip) {
  ScratchDirectory scratch;
  std::string path = scratch / "a.safetensors";
  TextMap metadata{{"format", "pt"}, {"note", "a \"quoted\"\nline"}};
  ASSERT_TRUE(writeSafetensors(path, sample(), metadata).ok());
  StatusOr<Safetensors> file = readSafetensors(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->metadata, metadata);
  ASSERT_EQ(file->tensors.size(), 4u);
  for (const TensorView &want : sample()) {
    const TensorView *got = file->find(want.name);
    ASSERT_NE(got, nullptr) << want.name;
    EXPECT_EQ(got->dtype, want.dtype);
    EXPECT_EQ(got->dims, want.dims);
    EXPECT_TRUE(got->aligned());
    EXPECT_EQ(std::vector(got->data, got->data + got->bytes),
              std::vector(want.data, want.data + want.bytes));
  }
  EXPECT_EQ(file->find("absent"), nullptr);
}

TEST(Safetensors, BytesDoNotDependOnTheOrderGiven) {
  ScratchDirectory scratch;
  std::vector<TensorView> tensors = sample();
  ASSERT_TRUE(writeSafetensors(scratch / "a", tensors).ok());
  std::reverse(tensors.begin(), tensors.end());
  ASSERT_TRUE(writeSafetensors(scratch / "b", tensors).ok());
  EXPECT_EQ(readAll(scratch / "a"), readAll(scratch / "b"));
}

TEST(Safetensors, ReadsFilesOfOthers) {
  std::string mnist = sharedData("models/mnist-safetensors/mnist.safetensors");
  std::string resnet = sharedData("models/resnet20-cifar10/resnet20_cifar10.safetensors");
  if (mnist.empty() || resnet.empty())
    GTEST_SKIP() << "the shared data is not here (set SINTER_SHARED_DATA)";
  StatusOr<Safetensors> file = readSafetensors(mnist);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->tensors.size(), 20u);
  const TensorView *weight = file->find("fc1.weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->dims, (std::vector<int64_t>{32, 11616}));
  EXPECT_EQ(file->find("norm1.num_batches_tracked")->dtype, DType::I64);

  file = readSafetensors(resnet);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->metadata.at("license"), "BSD-2-Clause");
  EXPECT_EQ(file->find("conv1.weight")->dims, (std::vector<int64_t>{16, 3, 3, 3}));
}

TEST(Safetensors, TruncatedAnywhere) {
  ScratchDirectory scratch;
  ASSERT_TRUE(writeSafetensors(scratch / "a", sample(), {{"k", "v"}}).ok());
  std::string whole = readAll(scratch / "a");
  ASSERT_TRUE(parse(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size)
    expectError(parse(whole.substr(0, size)).status(), "a.safetensors: byte ", ";");
  expectError(parse(whole + "x").status(), "a.safetensors: byte ", "describes");
}

TEST(Safetensors, AnyByteMayChangeWithoutHarm) {
  ScratchDirectory scratch;
  ASSERT_TRUE(writeSafetensors(scratch / "a", sample(), {{"k", "v"}}).ok());
  std::string whole = readAll(scratch / "a");
  for (size_t at = 0; at < whole.size(); ++at)
    for (int value : {0, 1, 0x22, 0x2c, 0x39, 0x7d, 0xff}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      StatusOr<Safetensors> file = parse(changed);
      if (!file.ok())
        continue;
      const auto *begin = reinterpret_cast<const std::byte *>(changed.data());
      for (const TensorView &tensor : file->tensors)
        ASSERT_TRUE(tensor.data >= begin && tensor.data + tensor.bytes <= begin + changed.size());
    }
}

TEST(Safetensors, RefusesWhatIsWrong) {
  auto tensor = [](const char *dtype, const char *shape, const char *offsets) {
    return std::string("{\"dtype\":\"") + dtype + "\",\"shape\":" + shape +
           ",\"data_offsets\":" + offsets + "}";
  };
  std::string data(8, '\1');
  std::string good = tensor("F32", "[2]", "[0,8]");
  EXPECT_TRUE(parse(encode("{\"a\":" + good + "}  ", data)).ok());
  struct {
    std::string header, what;
  } cases[] = {
      {"{\"a\":" + good + ",\"a\":" + good + "}", "twice"},
      {"{\"a\":" + tensor("F32", "[3]", "[0,8]") + "}", "do not fit f32[3]"},
      {"{\"a\":" + tensor("F32", "[2]", "[8,0]") + "}", "do not fit"},
      {"{\"a\":" + tensor("F32", "[-2]", "[0,8]") + "}", "negative"},
      {"{\"a\":" + tensor("F32", "[4294967296,4294967296,4294967296]", "[0,8]") + "}",
       "do not fit"},
      {"{\"a\":" + tensor("F32", "[4294967296,4294967296,4294967296,0]", "[0,0]") + "}",
       "do not fit"},
      {"{\"a\":" + tensor("F8_E5M2", "[8]", "[0,8]") + "}", "not supported"},
      {"{\"a\":" + tensor("F32", "[1]", "[0,4]") + "}", "describes 4 bytes"},
      {"{\"a\":" + tensor("F32", "[1]", "[4,8]") + "}", "where 0 is expected"},
      {"{\"a\":" + tensor("F32", "[2]", "[0,8]") + ",\"b\":" + tensor("F32", "[1]", "[4,8]") + "}",
       "where 8 is expected"},
      {"{\"a\":" + tensor("F32", "[2]", "[0,8]") + ",\"b\":" + tensor("F32", "[1]", "[8,12]") + "}",
       "describes 12 bytes"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", "lacks"},
      {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", "repeated"},
      {"{\"a\":{\"x\":1}}", "unknown"},
      {"{\"__metadata__\":{\"k\":1}}", "expected a string"},
      {"{\"__metadata__\":{\"k\":\"\",\"k\":\"\"}}", "twice"},
      {"{\"__metadata__\":{},\"__metadata__\":{}}", "twice"},
      {"[]", "expected an object"},
  };
  for (const auto &wrong : cases)
    expectError(parse(encode(wrong.header, data)).status(), "a.safetensors: byte ", wrong.what);
  expectError(parse(std::string(8, '\xff')).status(), "byte 0", "is this a safetensors file?");
  expectError(
      parse(encode("{\"a\":" + tensor("BOOL", "[8]", "[0,8]") + "}", "\1\1\1\2\1\1\1\1")).status(),
      "byte 66", "neither 0 nor 1");
}

TEST(Safetensors, RefusesToWriteNonsense) {
  ScratchDirectory scratch;
  std::string path = scratch / "a";
  auto twice = sample();
  twice.push_back(twice[0]);
  expectError(writeSafetensors(path, twice), path, "two tensors are named");
  expectError(writeSafetensors(path, {viewOf("a", DType::F32, {7}, kFloats)}), path, "'a'");
  expectError(writeSafetensors(path, {viewOf("__metadata__", DType::F32, {6}, kFloats)}), path,
              "keeps");
  expectError(writeSafetensors(path, {viewOf("\xff", DType::F32, {6}, kFloats)}), path, "UTF-8");
  expectError(writeSafetensors(path, {}, {{"k", "\xff"}}), path, "UTF-8");
  EXPECT_TRUE(scratch.names().empty());
}

TEST(Safetensors, FullDiskKeepsTheOldFile) {
  ScratchDirectory scratch;
  std::string path = scratch / "a";
  ASSERT_TRUE(writeSafetensors(path, sample()).ok());
  std::string old = readAll(path);
  std::vector<float> large(1 << 20);
  {
    FileSizeLimit limit(1 << 16);
    expectError(writeSafetensors(path, {viewOf("w", DType::F32, {1 << 20}, large)}), path,
                "ulimit -f");
  }
  EXPECT_EQ(readAll(path), old);
  EXPECT_EQ(scratch.names().size(), 1u);
}
