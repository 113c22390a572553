// idx files and the MNIST data set.
#include "io_support.h"

#include "sinter/data/dataset.h"
#include "sinter/data/idx.h"

#include <zlib.h>

using namespace sinter;
using namespace sinter::rt;
using namespace sinter::rt::data;
using namespace sinter::test;

static std::string encode(unsigned char type, const std::vector<uint32_t> &dims,
                          const std::string &data) {
  std::string file = {0, 0, static_cast<char>(type), static_cast<char>(dims.size())};
  for (uint32_t dim : dims)
    for (int shift : {24, 16, 8, 0})
      file += static_cast<char>(dim >> shift);
  return file + data;
}

static std::string zip(const std::string &content) {
  std::string result(content.size() + 100, '\0');
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef *>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

static StatusOr<Array> parse(const std::string &file) {
  return parseIdx(reinterpret_cast<const std::byte *>(file.data()), file.size(), "x.idx");
}

TEST(Idx, EveryTypeInNativeOrder) {
  EXPECT_TRUE(identical(*parse(encode(0x08, {2, 2}, "\1\2\3\xff")),
                        Array::of<uint8_t>({1, 2, 3, 255}, {2, 2})));
  EXPECT_TRUE(identical(*parse(encode(0x09, {1}, "\xff")), Array::of<int8_t>({-1})));
  EXPECT_TRUE(identical(*parse(encode(0x0b, {1}, "\1\2")), Array::of<int16_t>({0x102})));
  EXPECT_TRUE(identical(*parse(encode(0x0c, {1}, {1, 2, 3, 4})), Array::of<int32_t>({0x1020304})));
  EXPECT_TRUE(
      identical(*parse(encode(0x0d, {1}, {'\x3f', '\xc0', 0, 0})), Array::of<float>({1.5f})));
  EXPECT_TRUE(identical(*parse(encode(0x0e, {1}, {'\xc0', 0, 0, 0, 0, 0, 0, 0})),
                        Array::of<double>({-2.0})));
  EXPECT_EQ(parse(encode(0x08, {0, 28}, ""))->dims(), (Dims{0, 28}));
  EXPECT_EQ(parse(encode(0x08, {}, "\7"))->item<int>(), 7);
}

TEST(Idx, TruncatedAnywhere) {
  std::string plain = encode(0x0b, {2, 3}, "0123456789ab");
  for (const std::string &whole : {plain, zip(plain)}) {
    ASSERT_TRUE(parse(whole).ok());
    for (size_t size = 0; size < whole.size(); ++size)
      expectError(parse(whole.substr(0, size)).status(), "x.idx: byte ", ";");
    expectError(parse(whole + "x").status(), "x.idx: byte ", "1 unexpected bytes at the end");
  }
}

TEST(Idx, RefusesWhatIsWrong) {
  expectError(parse("P5 28 28").status(), "x.idx: byte 0", "no idx file");
  expectError(parse(encode(0x0a, {1}, "1")).status(), "x.idx: byte 0", "type code");
  expectError(parse(encode(0x08, {4000000000, 1000000000}, "")).status(), "x.idx: byte 12",
              "promises");
  expectError(parse(encode(0x0e, {4000000000, 4000000000}, "")).status(), "x.idx: byte 12",
              "beyond");
  expectError(parse(zip(encode(0x08, {3}, "1234"))).status(), "of the unpacked data", "more data");
  expectError(parse(zip(encode(0x08, {5}, "1234"))).status(), "of the unpacked data",
              "1 bytes too early");
}

TEST(Idx, DamageInCompressedDataIsFound) {
  std::string whole = zip(encode(0x08, {8, 8}, std::string(64, 'x')));
  // Byte 4 to 9 of a gzip header, time, flags and system, mean nothing to us.
  for (size_t at = 10; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    expectError(parse(changed).status(), "x.idx: byte ", ";");
  }
}

TEST(Mnist, ReadsTheDigits) {
  StatusOr<Mnist> digits = mnist(SINTER_MNIST_DIR);
  ASSERT_TRUE(digits.ok()) << digits.status().message();
  EXPECT_EQ(digits->train->size(), 60000);
  EXPECT_EQ(digits->test->size(), 10000);
  Sample first = *digits->train->at(0);
  EXPECT_EQ(first[0].type(), "u8[1, 28, 28]");
  EXPECT_EQ(first[1].type(), "i64[]");
  EXPECT_EQ(first[1].item<int>(), 5) << "the first training digit is a five";
  EXPECT_EQ((*digits->test->at(9999))[1].item<int>(), 6) << "the last test digit is a six";
  EXPECT_NE(digits->train->fingerprint(), digits->test->fingerprint());
}

TEST(Mnist, RefusesWhatIsNotMnist) {
  ScratchDirectory scratch;
  expectError(mnist(scratch.path()).status(), scratch.path(), "the four MNIST files");
  for (std::string part : {"train", "t10k"}) {
    writeAll(scratch / (part + "-images-idx3-ubyte"),
             encode(0x08, {2, 28, 28}, std::string(2 * 784, 'x')));
    writeAll(scratch / (part + "-labels-idx1-ubyte"), encode(0x08, {2}, "\1\2"));
  }
  EXPECT_TRUE(mnist(scratch.path()).ok());
  writeAll(scratch / "t10k-labels-idx1-ubyte", encode(0x08, {2}, "\1\12"));
  expectError(mnist(scratch.path()).status(), "t10k-labels", "label 1 is 10");
  writeAll(scratch / "t10k-labels-idx1-ubyte", encode(0x08, {3}, "\1\2\3"));
  expectError(mnist(scratch.path()).status(), "t10k-labels", "expected labels u8[2]");
  writeAll(scratch / "train-images-idx3-ubyte", encode(0x08, {2, 784}, std::string(2 * 784, 'x')));
  expectError(mnist(scratch.path()).status(), "train-images", "u8[n, 28, 28]");
}
