// Transposes by tiles in shared memory against the CPU's kernels, bit by bit, under the emulated
// card's checks: sizes that tiles don't divide, joined dimensions, several inputs, all widths.
#include "sinter/sinter.h"

#include <gtest/gtest.h>

#include <cstring>

namespace sn = sinter;
using sn::Array;
using sn::Tensor;

namespace {

Array filled(sn::DType dtype, const sn::rt::Dims &dims) {
  Array array = Array::empty(dtype, dims);
  auto *bytes = static_cast<uint8_t *>(array.data());
  for (int64_t i = 0; i < array.bytes(); ++i)
    bytes[i] = dtype == sn::boolean ? uint8_t(i % 3 == 0) : uint8_t(i * 37 % 61);
  return array;
}

template <class F> Array run(const char *device, F function, const std::vector<Array> &inputs) {
  sn::Options options;
  options.verbose = false;
  options.set(device);
  if (std::strstr(device, "emu"))
    options.set("--sinter-emu=check");
  sn::Session session{options};
  auto compiled = sn::jit(session, function);
  return compiled(inputs);
}

template <class F> void expectEqual(F function, const std::vector<Array> &inputs) {
  Array expected = run("--sinter-device=cpu", function, inputs);
  Array actual = run("--sinter-device=emu", function, inputs);
  ASSERT_EQ(expected.type(), actual.type());
  EXPECT_EQ(std::memcmp(expected.data(), actual.data(), size_t(expected.bytes())), 0)
      << expected.type();
}

using Tensors = std::vector<Tensor>;

TEST(CudaTranspose, OfTwoDimensions) {
  for (sn::rt::Dims dims : {sn::rt::Dims{64, 96}, {37, 45}, {8, 130}, {33, 9}, {7, 50}}) {
    for (sn::DType dtype : {sn::f32, sn::f64, sn::f16, sn::bf16, sn::u8, sn::i64})
      expectEqual([](Tensors x) { return transpose(x[0]) * 2; }, {filled(dtype, dims)});
    expectEqual([](Tensors x) { return logical_not(transpose(x[0])); },
                {filled(sn::boolean, dims)});
  }
}

TEST(CudaTranspose, OfImages) {
  for (sn::rt::Dims dims : {sn::rt::Dims{2, 16, 9, 11}, {3, 8, 4, 8}, {1, 40, 33, 1}}) {
    expectEqual([](Tensors x) { return permute(x[0], {0, 2, 3, 1}) + 1.0; },
                {filled(sn::f32, dims)});
    expectEqual([](Tensors x) { return permute(x[0], {0, 3, 1, 2}) + 1.0; },
                {filled(sn::f32, dims)});
    expectEqual([](Tensors x) { return permute(x[0], {3, 2, 1, 0}) + 1.0; },
                {filled(sn::f32, dims)});
  }
}

TEST(CudaTranspose, OfSeveralInputs) {
  expectEqual(
      [](Tensors x) {
        Tensor sum = transpose(exp(x[0])) + transpose(x[1]) + x[2];
        return where(transpose(x[3]), sum, sum * unsqueeze(x[4], 1));
      },
      {filled(sn::u8, {45, 37}), filled(sn::i64, {45, 37}), filled(sn::u8, {37, 45}),
       filled(sn::boolean, {45, 37}), filled(sn::u8, {37})});
  // One input both ways.
  expectEqual([](Tensors x) { return transpose(x[0]) + x[0]; }, {filled(sn::f32, {40, 40})});
}

} // namespace
