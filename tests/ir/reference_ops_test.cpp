// Structured ops of the interpreter on values worked out by hand.
#include "reference_support.h"

#include <cmath>

using namespace mlir;
using namespace sinter::ir;
using testing::ElementsAre;

TEST_F(ReferenceTest, ShapeOps) {
  auto x = tensor("f32", {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(run(R"(func.func @f(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
    %0 = sinter.transpose %x [1, 0] : tensor<2x3xf32> to tensor<3x2xf32>
    return %0 : tensor<3x2xf32>
  })",
                  {x}),
              ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(run(R"(func.func @f(%x: tensor<2x3xf32>) -> tensor<1x2xf32> {
    %0 = sinter.slice %x [1, 0] strides [1, 2] : tensor<2x3xf32> to tensor<1x2xf32>
    return %0 : tensor<1x2xf32>
  })",
                  {x}),
              ElementsAre(4, 6));
  EXPECT_THAT(run(R"(func.func @f(%x: tensor<2x1xf32>) -> tensor<2x2x2xf32> {
    %0 = sinter.expand %x : tensor<2x1xf32> to tensor<2x2x2xf32>
    return %0 : tensor<2x2x2xf32>
  })",
                  {tensor("f32", {2, 1}, {1, 2})}),
              ElementsAre(1, 1, 2, 2, 1, 1, 2, 2));
  EXPECT_THAT(run(R"(func.func @f(%x: tensor<3xf32>) -> tensor<8xf32> {
    %0 = sinter.pad %x low [1] high [2] interior [1] value -1.0 : tensor<3xf32> to tensor<8xf32>
    return %0 : tensor<8xf32>
  })",
                  {tensor("f32", {3}, {1, 2, 3})}),
              ElementsAre(-1, 1, -1, 2, -1, 3, -1, -1));
  EXPECT_THAT(run(R"(func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) -> tensor<2x4xf32> {
    %0 = sinter.concat %x, %y dim 1 : tensor<2x3xf32>, tensor<2x1xf32> to tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  })",
                  {x, tensor("f32", {2, 1}, {7, 8})}),
              ElementsAre(1, 2, 3, 7, 4, 5, 6, 8));
}

TEST_F(ReferenceTest, Creation) {
  EXPECT_THAT(run(R"(func.func @f() -> tensor<3xi64> {
    %0 = sinter.full 9007199254740993 : i64 : tensor<3xi64>
    %1 = sinter.constant dense<[-9007199254740992, 0, -1]> : tensor<3xi64>
    %2 = sinter.add %0, %1 : tensor<3xi64>
    return %2 : tensor<3xi64>
  })",
                  {}),
              ElementsAre(1, 9007199254740993, 9007199254740992));
  EXPECT_THAT(run(R"(func.func @f() -> tensor<3xf32> {
    %0 = sinter.arange 1.0, 0.5 : tensor<3xf32>
    return %0 : tensor<3xf32>
  })",
                  {}),
              ElementsAre(1, 1.5, 2));
}

TEST_F(ReferenceTest, Reductions) {
  auto x = tensor("f32", {2, 3}, {1, 5, 5, 4, -2, NAN});
  EXPECT_THAT(run(R"(func.func @f(%x: tensor<2x3xf32>) -> tensor<2x1xi64> {
    %0 = sinter.argmax %x dims [1] keepdim : tensor<2x3xf32> to tensor<2x1xi64>
    return %0 : tensor<2x1xi64>
  })",
                  {x}),
              ElementsAre(1, 2));
  EXPECT_THAT(run(R"(func.func @f(%x: tensor<2x3xf32>) -> tensor<3xf32> {
    %0 = sinter.max %x dims [0] : tensor<2x3xf32> to tensor<3xf32>
    return %0 : tensor<3xf32>
  })",
                  {x}),
              nearly({4, 5, NAN}));
  EXPECT_THAT(run(R"(func.func @f(%x: tensor<2x2x2xf32>) -> tensor<2xf32> {
    %0 = sinter.mean %x dims [0, 2] : tensor<2x2x2xf32> to tensor<2xf32>
    return %0 : tensor<2xf32>
  })",
                  {tensor("f32", {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}),
              ElementsAre(3.5, 5.5));
  EXPECT_THAT(run(R"(func.func @f(%x: tensor<0xi32>) -> tensor<i32> {
    %0 = sinter.min %x dims [0] : tensor<0xi32> to tensor<i32>
    return %0 : tensor<i32>
  })",
                  {tensor("i32", {0}, {})}),
              ElementsAre(2147483647));
}

TEST_F(ReferenceTest, Matmul) {
  auto a = tensor("f32", {2, 3}, {1, 2, 3, 4, 5, 6}), b = tensor("f32", {2, 3}, {1, 0, 1, 0, 1, 0});
  EXPECT_THAT(run(R"(func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x2xf32> {
    %0 = sinter.matmul %a, %b transposed : tensor<2x3xf32>, tensor<2x3xf32> to tensor<2x2xf32>
    return %0 : tensor<2x2xf32>
  })",
                  {a, b}),
              ElementsAre(4, 2, 10, 5));
  EXPECT_THAT(run(R"(func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<3x3xf32> {
    %0 = sinter.matmul %a transposed, %b : tensor<2x3xf32>, tensor<2x3xf32> to tensor<3x3xf32>
    return %0 : tensor<3x3xf32>
  })",
                  {a, b}),
              ElementsAre(1, 4, 1, 2, 5, 2, 3, 6, 3));
  EXPECT_THAT(
      run(R"(func.func @f(%x: tensor<2x3xf32>, %w: tensor<1x3xf32>, %b: tensor<1xf32>) -> tensor<2x1xf32> {
    %0 = sinter.linear %x, %w, %b : (tensor<2x3xf32>, tensor<1x3xf32>, tensor<1xf32>) -> tensor<2x1xf32>
    return %0 : tensor<2x1xf32>
  })",
          {a, tensor("f32", {1, 3}, {1, -1, 2}), tensor("f32", {1}, {100})}),
      ElementsAre(105, 111));
}

// A 3x3 image under a 2x2 kernel, stride 2, padded by one above and on the left.
TEST_F(ReferenceTest, Convolution) {
  auto x = tensor("f32", {1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}),
       w = tensor("f32", {1, 1, 2, 2}, {1, 10, 100, 1000});
  EXPECT_THAT(
      run(R"(func.func @f(%x: tensor<1x1x3x3xf32>, %w: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
    %0 = sinter.conv2d %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1, 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
    return %0 : tensor<1x1x2x2xf32>
  })",
          {x, w}),
      ElementsAre(1000, 3200, 7040, 9865));
  // Channels last with two groups of one channel: each output channel sees its own input channel.
  EXPECT_THAT(
      run(R"(func.func @f(%x: tensor<1x1x2x2xf32>, %w: tensor<2x1x1x1xf32>) -> tensor<1x1x2x2xf32> {
    %0 = sinter.conv2d %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilation = array<i64: 1, 1>, groups = 2 : i64, channels_last}
      : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x1x2x2xf32>
    return %0 : tensor<1x1x2x2xf32>
  })",
          {tensor("f32", {1, 1, 2, 2}, {1, 2, 3, 4}), tensor("f32", {2, 1, 1, 1}, {10, 100})}),
      ElementsAre(10, 200, 30, 400));
}

TEST_F(ReferenceTest, Pooling) {
  auto x = tensor("f32", {1, 1, 2, 3}, {1, 4, 4, 3, 2, 0});
  StringRef attributes = "{kernel = array<i64: 2, 2>, stride = array<i64: 1, 1>, padding = "
                         "array<i64: 0, 0, 0, 0>, dilation = array<i64: 1, 1>}";
  auto pool = [&](std::string op, std::string element) {
    std::string result = "tensor<1x1x1x2x" + element + ">";
    return run("func.func @f(%x: tensor<1x1x2x3xf32>) -> " + result + " {\n%0 = sinter." + op +
                   " %x " + attributes.str() + " : (tensor<1x1x2x3xf32>) -> " + result +
                   "\nreturn %0 : " + result + "\n}",
               {x});
  };
  EXPECT_THAT(pool("max_pool2d", "f32"), ElementsAre(4, 4));
  EXPECT_THAT(pool("max_pool2d_index", "i32"), ElementsAre(1, 0));
  EXPECT_THAT(pool("avg_pool2d", "f32"), ElementsAre(2.5, 2.5));
}

TEST_F(ReferenceTest, Normalization) {
  auto x = tensor("f64", {2, 2}, {0, std::log(3), 5, 5});
  EXPECT_THAT(run(R"(func.func @f(%x: tensor<2x2xf64>) -> tensor<2x2xf64> {
    %0 = sinter.softmax %x dim 1 : tensor<2x2xf64>
    return %0 : tensor<2x2xf64>
  })",
                  {x}),
              nearly({0.25, 0.75, 0.5, 0.5}));
  EXPECT_THAT(
      run(R"(func.func @f(%x: tensor<2x2xf64>, %s: tensor<2xf64>, %b: tensor<2xf64>) -> tensor<2x2xf64> {
    %0 = sinter.layer_norm %x, %s, %b epsilon 0.0 : (tensor<2x2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2x2xf64>
    return %0 : tensor<2x2xf64>
  })",
          {tensor("f64", {2, 2}, {1, 3, 10, 20}), tensor("f64", {2}, {1, 2}),
           tensor("f64", {2}, {0, 5})}),
      nearly({-1, 7, -1, 7}));
  EXPECT_THAT(
      run(R"(func.func @f(%x: tensor<2x2xf64>, %s: tensor<2xf64>, %b: tensor<2xf64>) -> tensor<2xf64> {
    %0, %1, %2 = sinter.batch_norm_training %x, %s, %b epsilon 0.0
      : (tensor<2x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<2x2xf64>, tensor<2xf64>, tensor<2xf64>)
    return %2 : tensor<2xf64>
  })",
          {tensor("f64", {2, 2}, {1, 3, 3, 7}), tensor("f64", {2}, {1, 1}),
           tensor("f64", {2}, {0, 0})}),
      nearly({1, 4}));
}

TEST_F(ReferenceTest, Losses) {
  // Rows: class 1 of (0.25, 0.75); ignored; class 0 of (0.5, 0.5).
  auto logits = tensor("f32", {3, 2}, {0, std::log(3), 9, 9, 1, 1});
  EXPECT_THAT(run(R"(func.func @f(%x: tensor<3x2xf32>, %l: tensor<3xi64>) -> tensor<f32> {
    %0 = sinter.cross_entropy %x, %l : (tensor<3x2xf32>, tensor<3xi64>) -> tensor<f32>
    return %0 : tensor<f32>
  })",
                  {logits, tensor("i64", {3}, {1, -100, 0})}),
              nearly({(std::log(4.0 / 3) + std::log(2)) / 2}));
  EXPECT_THAT(run(R"(func.func @f(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<f32> {
    %0 = sinter.mse %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  })",
                  {tensor("f32", {2}, {1, 2}), tensor("f32", {2}, {3, 5})}),
              ElementsAre(6.5));
}

TEST_F(ReferenceTest, IndicesOutOfRangeReadZeroAndWriteNothing) {
  EXPECT_THAT(run(R"(func.func @f(%w: tensor<2x2xf32>, %i: tensor<3xi64>) -> tensor<3x2xf32> {
    %0 = sinter.embedding %w, %i : (tensor<2x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
    return %0 : tensor<3x2xf32>
  })",
                  {tensor("f32", {2, 2}, {1, 2, 3, 4}), tensor("i64", {3}, {1, -1, 2})}),
              ElementsAre(3, 4, 0, 0, 0, 0));
  EXPECT_THAT(
      run(R"(func.func @f(%x: tensor<3xf32>, %i: tensor<4xi32>, %s: tensor<4xf32>) -> tensor<3xf32> {
    %0 = sinter.scatter_add %x, %i, %s dim 0 : (tensor<3xf32>, tensor<4xi32>, tensor<4xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  })",
          {tensor("f32", {3}, {1, 1, 1}), tensor("i32", {4}, {0, 2, 0, 7}),
           tensor("f32", {4}, {10, 20, 30, 40})}),
      ElementsAre(41, 1, 21));
  EXPECT_THAT(run(R"(func.func @f(%i: tensor<2xi64>) -> tensor<2x3xi64> {
    %0 = sinter.one_hot %i classes 3 {type = i64} : tensor<2xi64> to tensor<2x3xi64>
    return %0 : tensor<2x3xi64>
  })",
                  {tensor("i64", {2}, {2, 5})}),
              ElementsAre(0, 0, 1, 0, 0, 0));
}
