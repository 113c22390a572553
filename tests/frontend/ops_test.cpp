// Operations outside a trace: PyTorch's meaning of types, broadcasting and shapes.
#include "Interpreted.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sn = sinter;
using sn::Array;
using sn::Tensor;

namespace {

class Ops : public ::testing::Test {
protected:
  sn::testing::InterpretedSession session;
  Tensor a = Array::of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  Tensor row = Array::of<float>({10, 20, 30}, {3});
  Tensor bytes = Array::of<uint8_t>({1, 2, 255}, {3});
  Tensor longs = Array::of<int64_t>({1, 2, 3}, {3});
};

std::vector<double> values(const Tensor &tensor) {
  Array array = tensor.array();
  std::vector<double> result;
  for (int64_t i = 0; i < array.elements(); ++i)
    result.push_back(isFloat(array.dtype()) ? array.floatAt(i) : double(array.integerAt(i)));
  return result;
}
using V = std::vector<double>;

TEST_F(Ops, Broadcasts) {
  EXPECT_EQ((a + row).type(), "f32[2, 3]");
  EXPECT_EQ(values(a + row), (V{11, 22, 33, 14, 25, 36}));
  EXPECT_EQ(values(row - 1), (V{9, 19, 29}));
  EXPECT_EQ(values(unsqueeze(row, 1) * Tensor(Array::of<float>({1, 2}, {2}))),
            (V{10, 20, 20, 40, 30, 60}));
}

TEST_F(Ops, PromotesAsPyTorch) {
  EXPECT_EQ((bytes + 1).dtype(), sn::u8);
  EXPECT_EQ((bytes / 255.0).type(), "f32[3]");
  EXPECT_EQ((bytes + longs).dtype(), sn::i64);
  EXPECT_EQ((longs / longs).dtype(), sn::f32);
  EXPECT_EQ((longs * 0.5).dtype(), sn::f32);
  EXPECT_EQ((longs * 2).dtype(), sn::i64);
  EXPECT_EQ((cast(row, sn::bf16) * 2.0).dtype(), sn::bf16);
  EXPECT_EQ((cast(row, sn::f16) + row).dtype(), sn::f32);
  EXPECT_EQ((cast(bytes, sn::i8) + bytes).dtype(), sn::i16);
  EXPECT_EQ((cast(row, sn::f64) + row).dtype(), sn::f64);
  EXPECT_EQ((longs == bytes).dtype(), sn::boolean);
  EXPECT_EQ(sum(longs == 2).dtype(), sn::i64);
  EXPECT_EQ(exp(longs).dtype(), sn::f32);
  EXPECT_THROW(cast(row, sn::f16) + cast(row, sn::bf16), sn::Error);
}

TEST_F(Ops, Reduces) {
  EXPECT_EQ(values(sum(a)), V{21});
  EXPECT_EQ(values(mean(a, 1)), (V{2, 5}));
  EXPECT_EQ(max(a, -1, {.keepdim = true}).type(), "f32[2, 1]");
  EXPECT_EQ(values(argmax(a, 1)), (V{2, 2}));
  EXPECT_NEAR(variance(a).item<double>(), 3.5, 1e-6);
  EXPECT_NEAR(variance(a, {0, 1}, {.unbiased = false}).item<double>(), 35.0 / 12, 1e-6);
  EXPECT_NEAR(logsumexp(row).item<double>(), 30 + std::log1p(std::exp(-10.0) + std::exp(-20.0)),
              1e-4);
  EXPECT_EQ(logsumexp(a, 1).type(), "f32[2]");
  EXPECT_NEAR(norm(Tensor(Array::of<float>({3, 4}))).item<float>(), 5, 1e-6);
}

TEST_F(Ops, Multiplies) {
  Tensor b = Array::of<float>({1, 0, 0, 1, 1, 1}, {3, 2});
  EXPECT_EQ(values(matmul(a, b)), (V{4, 5, 10, 11}));
  EXPECT_EQ(matmul(row, b).type(), "f32[2]");
  EXPECT_EQ(values(matmul(a, row)), (V{140, 320}));
  EXPECT_EQ(matmul(row, row).type(), "f32[]");
  EXPECT_EQ(matmul(sn::ones({5, 1, 2, 3}), sn::ones({4, 3, 2})).type(), "f32[5, 4, 2, 2]");
  EXPECT_EQ(values(linear(a, sn::ones({1, 3}), sn::ones({1}))), (V{7, 16}));
}

TEST_F(Ops, Reshapes) {
  EXPECT_EQ(reshape(a, {3, -1}).type(), "f32[3, 2]");
  EXPECT_EQ(flatten(sn::ones({2, 3, 4, 5}), {.first = 1}).type(), "f32[2, 60]");
  EXPECT_EQ(values(transpose(a, 0, 1)), (V{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(permute(sn::ones({2, 3, 4}), {2, 0, 1}).type(), "f32[4, 2, 3]");
  EXPECT_EQ(values(slice(a, 1, {.start = 1})), (V{2, 3, 5, 6}));
  EXPECT_EQ(values(slice(a, 1, {.start = -2, .stop = -1})), (V{2, 5}));
  EXPECT_EQ(values(slice(a, -1, {.step = 2})), (V{1, 3, 4, 6}));
  EXPECT_EQ(values(select(a, 0, -1)), (V{4, 5, 6}));
  EXPECT_EQ(values(sn::concat({row, row}, 0)), (V{10, 20, 30, 10, 20, 30}));
  EXPECT_EQ(sn::stack({row, row}, 1).type(), "f32[3, 2]");
  EXPECT_EQ(split(a, 2, 1)[1].type(), "f32[2, 1]");
  EXPECT_EQ(chunk(a, 2, 0).size(), 2u);
  EXPECT_EQ(values(pad(row, {1, 2}, 7)), (V{7, 10, 20, 30, 7, 7}));
  EXPECT_EQ(values(roll(row, 1, 0)), (V{30, 10, 20}));
  EXPECT_EQ(values(tril(reshape(a, {3, 2}))), (V{1, 0, 3, 4, 5, 6}));
  EXPECT_EQ(values(sn::eye(2)), (V{1, 0, 0, 1}));
  EXPECT_EQ(values(expand(unsqueeze(row, 0), {2, -1})), (V{10, 20, 30, 10, 20, 30}));
}

TEST_F(Ops, Indexes) {
  Tensor index = Array::of<int64_t>({1, 0}, {2});
  EXPECT_EQ(values(embedding(a, index)), (V{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(values(index_select(a, 1, index)), (V{2, 1, 5, 4}));
  EXPECT_EQ(values(gather(a, 1, unsqueeze(index, 1))), (V{2, 4}));
  EXPECT_EQ(values(one_hot(index, 3)), (V{0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(one_hot(index, 3, sn::f32).dtype(), sn::f32);
  EXPECT_EQ(values(scatter_add(row, 0, index, sn::ones({2}))), (V{11, 21, 30}));
}

TEST_F(Ops, LossesAgreeWithTheirFormulas) {
  Tensor logits = Array::of<float>({1, 2, 3, 1, 1, 1}, {2, 3}), labels = Array::of<int64_t>({2, 0});
  double expected = (std::log(1 + std::exp(-1) + std::exp(-2)) + std::log(3)) / 2;
  EXPECT_NEAR(cross_entropy(logits, labels).item<double>(), expected, 1e-6);
  EXPECT_NEAR(nll(log_softmax(logits, 1), labels).item<double>(), expected, 1e-6);
  EXPECT_NEAR(
      cross_entropy(expand(unsqueeze(logits, 2), {2, 3, 4}), expand(unsqueeze(labels, 1), {2, 4}))
          .item<double>(),
      expected, 1e-6);
  EXPECT_NEAR(mse(row, 10.0).item<double>(), 500.0 / 3, 1e-4);
  EXPECT_NEAR(l1(row, 10.0).item<double>(), 10, 1e-5);
  EXPECT_NEAR(huber(Tensor(Array::of<float>({0.5, 3})), 0.0).item<double>(), (0.125 + 2.5) / 2,
              1e-6);
  EXPECT_NEAR(
      binary_cross_entropy_with_logits(Tensor(Array::of<float>({2, -1})), 1.0).item<double>(),
      (std::log1p(std::exp(-2)) + std::log1p(std::exp(1))) / 2, 1e-6);
}

TEST_F(Ops, LayersRunInThreeLines) {
  sn::Conv2d conv{{session, "conv"}, {.in = 3, .out = 4, .kernel = 3, .padding = 1}};
  EXPECT_EQ(conv(sn::ones({1, 3, 8, 8})).type(), "f32[1, 4, 8, 8]");
  sn::LayerNorm norm{{session, "norm"}, 3};
  EXPECT_NEAR(values(norm(a))[0], -1.2247, 1e-3);
  EXPECT_EQ(max_pool2d(sn::ones({1, 1, 4, 6}), {.kernel = 2}).type(), "f32[1, 1, 2, 3]");
  EXPECT_EQ(adaptive_avg_pool2d(sn::ones({1, 2, 4, 6}), 1).type(), "f32[1, 2, 1, 1]");
}

TEST_F(Ops, RandomNumbersAdvanceByStep) {
  Tensor x = sn::random_uniform({100}), y = sn::random_uniform({100});
  EXPECT_NE(values(x), values(y));
  for (double v : values(x))
    EXPECT_TRUE(v >= 0 && v < 1);
  sn::testing::InterpretedSession again;
  EXPECT_EQ(values(sn::random_uniform({100})), values(x));
}

} // namespace
