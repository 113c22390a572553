// Calls of the vendor library for tests: operands with data, canaries around all
// that a call may write, and the naive loops that define its results.
#pragma once

#include "sinter/base/float16.h"
#include "sinter/base/text.h"
#include "sinter/core/memory.h"
#include "sinter/cpu/vendor.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace sinter::rt {

/// A dense array; values are kept in f32 and stored as `dtype`.
struct TestTensor {
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
  std::vector<float> values;
  bool constant = false;

  int64_t elements() const {
    int64_t count = 1;
    for (int64_t dim : dims)
      count *= dim;
    return count;
  }
  std::vector<std::byte> bytes() const {
    std::vector<std::byte> data(values.size() * byteSize(dtype));
    for (size_t i = 0; i < values.size(); ++i)
      if (uint16_t half = floatToBFloat16(values[i]); dtype == DType::BF16)
        std::memcpy(&data[2 * i], &half, 2);
      else
        std::memcpy(&data[4 * i], &values[i], 4);
    return data;
  }
};

/// Small integers make every sum exact, so that results compare for equality;
/// otherwise normal values, whose sums show any change of order.
inline TestTensor randomTensor(std::vector<int64_t> dims, unsigned seed, bool integers = true,
                               DType dtype = DType::F32) {
  TestTensor tensor{dtype, std::move(dims), {}, false};
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> whole(-3, 3);
  std::normal_distribution<float> normal;
  tensor.values.resize(tensor.elements());
  for (float &value : tensor.values)
    value = integers ? float(whole(generator)) : normal(generator);
  return tensor;
}

inline float rounded(double value, DType dtype) {
  return dtype == DType::BF16 ? bfloat16ToFloat(floatToBFloat16(float(value))) : float(value);
}

/// A block of exactly `size` bytes between canaries, filled with NaN patterns.
class GuardedBytes {
public:
  explicit GuardedBytes(int64_t size)
      : size(size), memory(*Memory::allocate(alignUp(size) + 2 * margin)) {
    std::memset(memory.data(), 0xff, memory.bytes());
  }
  std::byte *data() { return memory.data() + margin; }
  bool intact() const {
    auto untouched = [](std::byte byte) { return byte == std::byte(0xff); };
    const std::byte *first = memory.data(), *last = first + memory.bytes();
    const std::byte *end = first + margin + size;
    return std::all_of(first, first + margin, untouched) && std::all_of(end, last, untouched);
  }

private:
  static constexpr int64_t margin = 256;
  int64_t size;
  Memory memory;
};

inline StatusOr<std::unique_ptr<LibraryPrimitive>>
prepare(const LibraryCall &call, const std::vector<TestTensor> &tensors,
        const std::vector<std::vector<std::byte>> &data) {
  std::vector<LibraryOperand> operands;
  for (size_t i = 0; i < tensors.size(); ++i)
    operands.push_back(
        {tensors[i].dtype, tensors[i].dims, tensors[i].constant ? data[i].data() : nullptr});
  return vendorLibrary()->prepare(call, operands);
}

inline const VendorPrimitive &inspect(const LibraryPrimitive &primitive) {
  return static_cast<const VendorPrimitive &>(primitive);
}

/// Runs `call` on `tensors` (the result, number 2, needs no values) with a pool
/// of `threads`, twice, and returns the result's values.
inline std::vector<float> runCall(const LibraryCall &call, const std::vector<TestTensor> &tensors,
                                  int threads) {
  std::vector<std::vector<std::byte>> data;
  for (const TestTensor &tensor : tensors)
    data.push_back(tensor.bytes());
  auto primitive = prepare(call, tensors, data);
  EXPECT_TRUE(primitive.ok()) << primitive.status().message();
  if (!primitive.ok())
    return {};
  const TestTensor &result = tensors[2];
  int64_t resultBytes = result.elements() * int64_t(byteSize(result.dtype));
  ThreadPool pool(threads);
  std::vector<std::byte> first;
  for (int round = 0; round < 2; ++round) { // the second one finds other addresses
    GuardedBytes output(resultBytes), scratch((*primitive)->scratchBytes());
    std::vector<void *> buffers;
    for (std::vector<std::byte> &bytes : data)
      buffers.push_back(bytes.data());
    buffers[2] = output.data();
    Status status = (*primitive)->run(buffers.data(), scratch.data(), pool);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(output.intact()) << "wrote outside the result";
    EXPECT_TRUE(scratch.intact()) << "wrote outside the scratch";
    std::vector<std::byte> bytes(output.data(), output.data() + resultBytes);
    if (round == 0)
      first = bytes;
    EXPECT_TRUE(first == bytes) << "two runs differ";
  }
  std::vector<float> values(result.elements());
  for (size_t i = 0; i < values.size(); ++i)
    if (uint16_t half = 0; result.dtype == DType::BF16) {
      std::memcpy(&half, &first[2 * i], 2);
      values[i] = bfloat16ToFloat(half);
    } else {
      std::memcpy(&values[i], &first[4 * i], 4);
    }
  return values;
}

/// The post-ops of `call` on sums of the naive loops; `channelOf` gives the bias
/// index of an element.
template <class ChannelOf>
std::vector<float> finish(const LibraryCall &call, const std::vector<TestTensor> &tensors,
                          std::vector<double> sums, ChannelOf channelOf) {
  size_t operand = 3;
  for (PostOp postOp : call.postOps) {
    const TestTensor *tensor = postOp == PostOp::Relu ? nullptr : &tensors[operand++];
    for (size_t i = 0; i < sums.size(); ++i)
      if (postOp == PostOp::Relu)
        sums[i] = std::max(sums[i], 0.0);
      else
        sums[i] += tensor->values[postOp == PostOp::Add ? i : channelOf(i)];
  }
  std::vector<float> values(sums.size());
  for (size_t i = 0; i < sums.size(); ++i)
    values[i] = rounded(sums[i], tensors[2].dtype);
  return values;
}

/// Fails at the first difference rather than listing all.
inline void expectEqual(const std::vector<float> &actual, const std::vector<float> &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_EQ(actual[i], expected[i]) << "element " << i << " of " << actual.size();
}

/// Bits must be the same for every number of threads.
inline void expectSameBits(const LibraryCall &call, const std::vector<TestTensor> &tensors) {
  std::vector<float> one = runCall(call, tensors, 1);
  for (int threads : {2, 3, 8}) {
    std::vector<float> many = runCall(call, tensors, threads);
    ASSERT_EQ(std::memcmp(one.data(), many.data(), one.size() * sizeof(float)), 0)
        << threads << " threads";
  }
}

} // namespace sinter::rt
