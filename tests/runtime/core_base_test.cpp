#include "sinter/base/bytes.h"
#include "sinter/base/dtype.h"
#include "sinter/base/float16.h"
#include "sinter/base/function_ref.h"
#include "sinter/base/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sinter {
namespace {

TEST(DType, NamesRoundTripAndSizesAreThoseOfC) {
  for (int i = 0; i < kDTypeCount; ++i)
    EXPECT_EQ(parseDType(name(DType(i))), DType(i));
  EXPECT_EQ(parseDType("float"), std::nullopt);
  EXPECT_EQ(byteSize(DType::F64), 8u);
  EXPECT_EQ(byteSize(DType::BF16), 2u);
  EXPECT_EQ(byteSize(DType::Bool), 1u);
  EXPECT_TRUE(isFloat(DType::BF16));
  EXPECT_FALSE(isFloat(DType::U8));
}

TEST(Float16, EveryHalfReadsAsTheCompilersOwn) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    float ours = halfToFloat(uint16_t(bits));
    float theirs = float(std::bit_cast<_Float16>(uint16_t(bits)));
    if (std::isnan(theirs))
      EXPECT_TRUE(std::isnan(ours));
    else
      ASSERT_EQ(std::bit_cast<uint32_t>(ours), std::bit_cast<uint32_t>(theirs)) << bits;
  }
}

TEST(Float16, FloatsRoundToTheNearestHalf) {
  for (uint64_t bits = 0; bits <= 0xffffffff; bits += 997) {
    float value = std::bit_cast<float>(uint32_t(bits));
    uint16_t theirs = std::bit_cast<uint16_t>(_Float16(value));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(value))));
    else
      ASSERT_EQ(floatToHalf(value), theirs) << value;
  }
  for (float tie : {65519.96f, 65520.0f, 5.9604645e-8f, 2.9802322e-8f, 6.1035156e-5f, -0.0f})
    EXPECT_EQ(floatToHalf(tie), std::bit_cast<uint16_t>(_Float16(tie))) << tie;
}

TEST(BFloat16, RoundsToNearestEvenAndKeepsNan) {
  EXPECT_EQ(floatToBFloat16(1.0f), 0x3f80);
  EXPECT_EQ(floatToBFloat16(std::bit_cast<float>(0x3f808000u)), 0x3f80); // tie to even
  EXPECT_EQ(floatToBFloat16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
  EXPECT_EQ(floatToBFloat16(std::bit_cast<float>(0x3f808001u)), 0x3f81);
  EXPECT_EQ(floatToBFloat16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(std::isnan(bfloat16ToFloat(floatToBFloat16(std::bit_cast<float>(0x7f800001u)))));
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    float value = bfloat16ToFloat(uint16_t(bits));
    ASSERT_TRUE(std::isnan(value) || floatToBFloat16(value) == bits) << bits;
  }
}

TEST(Text, ShapesBytesAndNearestNames) {
  EXPECT_EQ(formatShape({}), "[]");
  EXPECT_EQ(formatType(DType::BF16, std::vector<int64_t>{2, 3}), "bf16[2, 3]");
  EXPECT_EQ(formatBytes(1023), "1023 B");
  EXPECT_EQ(formatBytes(1536), "1.5 KiB");
  EXPECT_EQ(formatBytes(int64_t(3) << 30), "3.0 GiB");
  std::vector<std::string> names = {"head.weight", "head.bias", "body.weight"};
  EXPECT_EQ(nearestName("head.wieght", names), "head.weight");
  EXPECT_EQ(nearestName("something.else.entirely", names), "");
}

TEST(Bytes, ReaderStopsAtTheEndAndStaysFailed) {
  ByteWriter writer;
  writer.write(uint32_t(7));
  writer.writeString("seven");
  ByteReader reader(writer.bytes.data(), writer.bytes.size());
  EXPECT_EQ(reader.read<uint32_t>(), 7u);
  EXPECT_EQ(reader.readString(), "seven");
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.read<uint8_t>(), 0);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.readBytes(0), nullptr);

  ByteReader counts("\xff\xff\xff\xff\x01", 5);
  EXPECT_EQ(counts.readCount(8), 0u);
  EXPECT_FALSE(counts.ok());
}

TEST(FunctionRef, CallsWhatItRefersTo) {
  int total = 0;
  auto add = [&](int value) { return total += value; };
  FunctionRef<int(int)> ref = add;
  EXPECT_EQ(ref(2), 2);
  EXPECT_EQ(ref(3), 5);
}

} // namespace
} // namespace sinter
