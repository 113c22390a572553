// Gradients against finite differences, once and twice, and every stage of the pipeline against the
// graph it started from.
#include "graph_support.h"

using namespace sinter;
using namespace sinter::test;

namespace {

std::vector<GraphCase> shapeCases() {
  return {
      {"Expand", R"(func.func @f(%x: tensor<3x1xf32>, %y: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
        %0 = sinter.expand %x : tensor<3x1xf32> to tensor<2x3x4xf32>
        %1 = sinter.mul %0, %y : tensor<2x3x4xf32>
        return %1 : tensor<2x3x4xf32> })"},
      {"ExpandToSymbol",
       R"(func.func @f(%x: tensor<1x3xf32>, %y: tensor<?x3xf32, #sinter.dims<s0, 3>>) -> tensor<?x3xf32, #sinter.dims<s0, 3>> {
        %0 = sinter.expand %x : tensor<1x3xf32> to tensor<?x3xf32, #sinter.dims<s0, 3>>
        %1 = sinter.mul %0, %y : tensor<?x3xf32, #sinter.dims<s0, 3>>
        return %1 : tensor<?x3xf32, #sinter.dims<s0, 3>> })"},
      {"ReshapeTranspose",
       R"(func.func @f(%x: tensor<2x3x4xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
        %0 = sinter.transpose %x [2, 0, 1] : tensor<2x3x4xf32> to tensor<4x2x3xf32>
        %1 = sinter.reshape %0 : tensor<4x2x3xf32> to tensor<4x6xf32>
        %2 = sinter.mul %1, %y : tensor<4x6xf32>
        return %2 : tensor<4x6xf32> })"},
      {"Slice", R"(func.func @f(%x: tensor<3x9xf32>) -> tensor<2x3xf32> {
        %0 = sinter.slice %x [1, 2] strides [1, 3] : tensor<3x9xf32> to tensor<2x3xf32>
        %1 = sinter.exp %0 : tensor<2x3xf32>
        return %1 : tensor<2x3xf32> })"},
      {"SliceOfSymbol",
       R"(func.func @f(%x: tensor<?x3xf32, #sinter.dims<s0, 3>>) -> tensor<1x2xf32> {
        %0 = sinter.slice %x [0, 1] strides [1, 1] : tensor<?x3xf32, #sinter.dims<s0, 3>> to tensor<1x2xf32>
        %1 = sinter.exp %0 : tensor<1x2xf32>
        return %1 : tensor<1x2xf32> })"},
      {"Pad", R"(func.func @f(%x: tensor<2x3xf32>) -> tensor<5x8xf32> {
        %0 = sinter.pad %x low [1, 0] high [2, 3] interior [0, 1] value 5.0e-01 : tensor<2x3xf32> to tensor<5x8xf32>
        %1 = sinter.exp %0 : tensor<5x8xf32>
        return %1 : tensor<5x8xf32> })"},
      {"Concat", R"(func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) -> tensor<2x7xf32> {
        %0 = sinter.concat %x, %y, %x dim 1 : tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x3xf32> to tensor<2x7xf32>
        %1 = sinter.exp %0 : tensor<2x7xf32>
        return %1 : tensor<2x7xf32> })"},
      {"ConcatOfSymbols",
       R"(func.func @f(%x: tensor<?x2xf32, #sinter.dims<s0, 2>>, %y: tensor<?x2xf32, #sinter.dims<s1, 2>>) -> tensor<?x2xf32, #sinter.dims<s0 + s1, 2>> {
        %0 = sinter.concat %x, %y dim 0 : tensor<?x2xf32, #sinter.dims<s0, 2>>, tensor<?x2xf32, #sinter.dims<s1, 2>> to tensor<?x2xf32, #sinter.dims<s0 + s1, 2>>
        %1 = sinter.exp %0 : tensor<?x2xf32, #sinter.dims<s0 + s1, 2>>
        return %1 : tensor<?x2xf32, #sinter.dims<s0 + s1, 2>> })"},
      {"GatherScatter",
       R"(func.func @f(%x: tensor<3x4xf32>, %i: tensor<2x4xi64>, %s: tensor<2x4xf32>) -> tensor<3x4xf32> {
        %0 = sinter.gather %x, %i dim 0 : (tensor<3x4xf32>, tensor<2x4xi64>) -> tensor<2x4xf32>
        %1 = sinter.mul %0, %s : tensor<2x4xf32>
        %2 = sinter.scatter_add %x, %i, %1 dim 0 : (tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>
        %3 = sinter.exp %2 : tensor<3x4xf32>
        return %3 : tensor<3x4xf32> })"},
      {"Embedding", R"(func.func @f(%w: tensor<4x3xf32>, %i: tensor<2x5xi32>) -> tensor<2x5x3xf32> {
        %0 = sinter.embedding %w, %i : (tensor<4x3xf32>, tensor<2x5xi32>) -> tensor<2x5x3xf32>
        %1 = sinter.exp %0 : tensor<2x5x3xf32>
        return %1 : tensor<2x5x3xf32> })"},
      {"WhereCastStop", R"(func.func @f(%x: tensor<6xf32>, %y: tensor<6xf32>) -> tensor<6xf64> {
        %c = sinter.lt %x, %y : tensor<6xf32>
        %0 = sinter.exp %x : tensor<6xf32>
        %1 = sinter.mul %y, %x : tensor<6xf32>
        %2 = sinter.where %c, %0, %1 : tensor<6xi1>, tensor<6xf32>
        %3 = sinter.cast %2 : tensor<6xf32> to tensor<6xf64>
        return %3 : tensor<6xf64> })"},
  };
}

std::vector<GraphCase> reductionCases() {
  return {
      {"SumKeep", R"(func.func @f(%x: tensor<2x3x4xf32>) -> tensor<2x1x4xf32> {
        %0 = sinter.exp %x : tensor<2x3x4xf32>
        %1 = sinter.sum %0 dims [1] keepdim : tensor<2x3x4xf32> to tensor<2x1x4xf32>
        %2 = sinter.mul %1, %1 : tensor<2x1x4xf32>
        return %2 : tensor<2x1x4xf32> })"},
      {"Mean", R"(func.func @f(%x: tensor<2x3x4xf32>) -> tensor<3xf32> {
        %0 = sinter.mean %x dims [0, 2] : tensor<2x3x4xf32> to tensor<3xf32>
        %1 = sinter.exp %0 : tensor<3xf32>
        return %1 : tensor<3xf32> })"},
      {"MeanOfSymbol", R"(func.func @f(%x: tensor<?x4xf32, #sinter.dims<s0, 4>>) -> tensor<4xf32> {
        %0 = sinter.mean %x dims [0] : tensor<?x4xf32, #sinter.dims<s0, 4>> to tensor<4xf32>
        %1 = sinter.exp %0 : tensor<4xf32>
        return %1 : tensor<4xf32> })"},
      {"MaxMin", R"(func.func @f(%x: tensor<3x5xf32>) -> tensor<3xf32> {
        %0 = sinter.exp %x : tensor<3x5xf32>
        %1 = sinter.max %0 dims [1] : tensor<3x5xf32> to tensor<3xf32>
        %2 = sinter.min %0 dims [1] : tensor<3x5xf32> to tensor<3xf32>
        %3 = sinter.mul %1, %2 : tensor<3xf32>
        return %3 : tensor<3xf32> })"},
      {"Prod", R"(func.func @f(%x: tensor<3x4xf32>) -> tensor<4xf32> {
        %0 = sinter.prod %x dims [0] : tensor<3x4xf32> to tensor<4xf32>
        %1 = sinter.sin %0 : tensor<4xf32>
        return %1 : tensor<4xf32> })",
       0.5, 1.5},
  };
}

std::vector<GraphCase> linearCases() {
  return {
      {"Matmul", R"(func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {
        %0 = sinter.matmul %a, %b : tensor<2x3xf32>, tensor<3x4xf32> to tensor<2x4xf32>
        %1 = sinter.sin %0 : tensor<2x4xf32>
        return %1 : tensor<2x4xf32> })"},
      {"MatmulTransposedA",
       R"(func.func @f(%a: tensor<5x3x2xf32>, %b: tensor<5x3x4xf32>) -> tensor<5x2x4xf32> {
        %0 = sinter.matmul %a transposed, %b : tensor<5x3x2xf32>, tensor<5x3x4xf32> to tensor<5x2x4xf32>
        %1 = sinter.sin %0 : tensor<5x2x4xf32>
        return %1 : tensor<5x2x4xf32> })"},
      {"MatmulTransposedB",
       R"(func.func @f(%a: tensor<2x3xf32>, %b: tensor<4x3xf32>) -> tensor<2x4xf32> {
        %0 = sinter.matmul %a, %b transposed : tensor<2x3xf32>, tensor<4x3xf32> to tensor<2x4xf32>
        %1 = sinter.sin %0 : tensor<2x4xf32>
        return %1 : tensor<2x4xf32> })"},
      {"MatmulTransposedBoth",
       R"(func.func @f(%a: tensor<3x2xf32>, %b: tensor<4x3xf32>) -> tensor<2x4xf32> {
        %0 = sinter.matmul %a transposed, %b transposed : tensor<3x2xf32>, tensor<4x3xf32> to tensor<2x4xf32>
        %1 = sinter.sin %0 : tensor<2x4xf32>
        return %1 : tensor<2x4xf32> })"},
      {"Linear",
       R"(func.func @f(%x: tensor<2x3x4xf32>, %w: tensor<5x4xf32>, %b: tensor<5xf32>) -> tensor<2x3x5xf32> {
        %0 = sinter.linear %x, %w, %b : (tensor<2x3x4xf32>, tensor<5x4xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
        %1 = sinter.sin %0 : tensor<2x3x5xf32>
        return %1 : tensor<2x3x5xf32> })"},
      {"LinearOfSymbol",
       R"(func.func @f(%x: tensor<?x4xf32, #sinter.dims<s0, 4>>, %w: tensor<5x4xf32>) -> tensor<?x5xf32, #sinter.dims<s0, 5>> {
        %0 = sinter.linear %x, %w : (tensor<?x4xf32, #sinter.dims<s0, 4>>, tensor<5x4xf32>) -> tensor<?x5xf32, #sinter.dims<s0, 5>>
        %1 = sinter.sin %0 : tensor<?x5xf32, #sinter.dims<s0, 5>>
        return %1 : tensor<?x5xf32, #sinter.dims<s0, 5>> })"},
      {"Conv",
       R"(func.func @f(%x: tensor<2x3x5x4xf32>, %w: tensor<8x3x3x2xf32>) -> tensor<2x8x3x4xf32> {
        %0 = sinter.conv2d %x, %w {stride = array<i64: 2, 1>, padding = array<i64: 1, 1, 1, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x5x4xf32>, tensor<8x3x3x2xf32>) -> tensor<2x8x3x4xf32>
        %1 = sinter.sin %0 : tensor<2x8x3x4xf32>
        return %1 : tensor<2x8x3x4xf32> })"},
      {"ConvGroupsDilation",
       R"(func.func @f(%x: tensor<1x4x6x6xf32>, %w: tensor<6x2x2x2xf32>) -> tensor<1x6x2x2xf32> {
        %0 = sinter.conv2d %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>, dilation = array<i64: 2, 2>, groups = 2 : i64} : (tensor<1x4x6x6xf32>, tensor<6x2x2x2xf32>) -> tensor<1x6x2x2xf32>
        %1 = sinter.sin %0 : tensor<1x6x2x2xf32>
        return %1 : tensor<1x6x2x2xf32> })"},
      {"MaxPool", R"(func.func @f(%x: tensor<2x2x5x5xf32>) -> tensor<2x2x3x3xf32> {
        %0 = sinter.max_pool2d %x {kernel = array<i64: 3, 2>, stride = array<i64: 2, 2>, padding = array<i64: 1, 0, 1, 1>, dilation = array<i64: 1, 1>} : (tensor<2x2x5x5xf32>) -> tensor<2x2x3x3xf32>
        %1 = sinter.sin %0 : tensor<2x2x3x3xf32>
        return %1 : tensor<2x2x3x3xf32> })"},
      {"AvgPool", R"(func.func @f(%x: tensor<2x2x5x5xf32>) -> tensor<2x2x3x3xf32> {
        %0 = sinter.avg_pool2d %x {kernel = array<i64: 3, 2>, stride = array<i64: 2, 2>, padding = array<i64: 1, 0, 1, 1>, dilation = array<i64: 1, 1>} : (tensor<2x2x5x5xf32>) -> tensor<2x2x3x3xf32>
        %1 = sinter.sin %0 : tensor<2x2x3x3xf32>
        return %1 : tensor<2x2x3x3xf32> })"},
  };
}

std::vector<GraphCase> normalizationCases() {
  return {
      {"Softmax", R"(func.func @f(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
        %0 = sinter.softmax %x dim 1 : tensor<3x4xf32>
        %1 = sinter.mul %0, %y : tensor<3x4xf32>
        return %1 : tensor<3x4xf32> })"},
      {"SoftmaxFirst",
       R"(func.func @f(%x: tensor<3x4xf16>, %y: tensor<3x4xf16>) -> tensor<3x4xf16> {
        %0 = sinter.softmax %x dim 0 : tensor<3x4xf16>
        %1 = sinter.mul %0, %y : tensor<3x4xf16>
        return %1 : tensor<3x4xf16> })"},
      {"LogSoftmax", R"(func.func @f(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
        %0 = sinter.log_softmax %x dim 1 : tensor<3x4xf32>
        %1 = sinter.mul %0, %y : tensor<3x4xf32>
        return %1 : tensor<3x4xf32> })"},
      {"LayerNorm",
       R"(func.func @f(%x: tensor<2x3x4xf32>, %s: tensor<3x4xf32>, %b: tensor<3x4xf32>) -> tensor<2x3x4xf32> {
        %0 = sinter.layer_norm %x, %s, %b epsilon 1.0e-03 : (tensor<2x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x4xf32>
        %1 = sinter.sin %0 : tensor<2x3x4xf32>
        return %1 : tensor<2x3x4xf32> })"},
      {"LayerNormHalf",
       R"(func.func @f(%x: tensor<?x4xbf16, #sinter.dims<s0, 4>>, %s: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<?x4xbf16, #sinter.dims<s0, 4>> {
        %0 = sinter.layer_norm %x, %s, %b epsilon 1.0e-03 : (tensor<?x4xbf16, #sinter.dims<s0, 4>>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xbf16, #sinter.dims<s0, 4>>
        %1 = sinter.sin %0 : tensor<?x4xbf16, #sinter.dims<s0, 4>>
        return %1 : tensor<?x4xbf16, #sinter.dims<s0, 4>> })"},
      {"BatchNorm",
       R"(func.func @f(%x: tensor<2x3x2x2xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<2x3x2x2xf32> {
        %0 = sinter.batch_norm %x, %s, %b, %m, %v epsilon 1.0e-03 : (tensor<2x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x2x2xf32>
        %1 = sinter.sin %0 : tensor<2x3x2x2xf32>
        return %1 : tensor<2x3x2x2xf32> })",
       0.5, 1.5},
      {"BatchNormTraining",
       R"(func.func @f(%x: tensor<2x3x2x2xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<2x3x2x2xf32> {
        %y, %m, %v = sinter.batch_norm_training %x, %s, %b epsilon 1.0e-03 : (tensor<2x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>)
        %1 = sinter.sin %y : tensor<2x3x2x2xf32>
        %2 = sinter.mul %m, %v : tensor<3xf32>
        %3 = sinter.reshape %2 : tensor<3xf32> to tensor<3x1x1xf32>
        %4 = sinter.expand %3 : tensor<3x1x1xf32> to tensor<2x3x2x2xf32>
        %5 = sinter.mul %4, %1 : tensor<2x3x2x2xf32>
        return %5 : tensor<2x3x2x2xf32> })"},
      {"BatchNormOfSymbol",
       R"(func.func @f(%x: tensor<?x3xf32, #sinter.dims<s0, 3>>, %s: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<?x3xf32, #sinter.dims<s0, 3>> {
        %y, %m, %v = sinter.batch_norm_training %x, %s, %b epsilon 1.0e-03 : (tensor<?x3xf32, #sinter.dims<s0, 3>>, tensor<3xf32>, tensor<3xf32>) -> (tensor<?x3xf32, #sinter.dims<s0, 3>>, tensor<3xf32>, tensor<3xf32>)
        %1 = sinter.sin %y : tensor<?x3xf32, #sinter.dims<s0, 3>>
        return %1 : tensor<?x3xf32, #sinter.dims<s0, 3>> })"},
  };
}

std::vector<GraphCase> lossCases() {
  return {
      {"CrossEntropy", R"(func.func @f(%x: tensor<5x4xf32>, %l: tensor<5xi64>) -> tensor<f32> {
        %0 = sinter.cross_entropy %x, %l : (tensor<5x4xf32>, tensor<5xi64>) -> tensor<f32>
        %1 = sinter.exp %0 : tensor<f32>
        return %1 : tensor<f32> })"},
      {"CrossEntropySmoothed",
       R"(func.func @f(%x: tensor<?x4xf32, #sinter.dims<s0, 4>>, %l: tensor<?xi32, #sinter.dims<s0>>) -> tensor<f32> {
        %0 = sinter.cross_entropy %x, %l {label_smoothing = 2.0e-01, ignore_index = 1 : i64} : (tensor<?x4xf32, #sinter.dims<s0, 4>>, tensor<?xi32, #sinter.dims<s0>>) -> tensor<f32>
        return %0 : tensor<f32> })"},
      {"Mse",
       R"(func.func @f(%x: tensor<?x4xf32, #sinter.dims<s0, 4>>, %t: tensor<?x4xf32, #sinter.dims<s0, 4>>) -> tensor<f32> {
        %0 = sinter.mse %x, %t : (tensor<?x4xf32, #sinter.dims<s0, 4>>, tensor<?x4xf32, #sinter.dims<s0, 4>>) -> tensor<f32>
        return %0 : tensor<f32> })"},
      {"Dropout", R"(func.func @f(%x: tensor<6x4xf32>, %s: tensor<2xi64>) -> tensor<6x4xf32> {
        %0 = sinter.dropout %x, %s id 3 probability 4.0e-01 : (tensor<6x4xf32>, tensor<2xi64>) -> tensor<6x4xf32>
        %1 = sinter.sin %0 : tensor<6x4xf32>
        return %1 : tensor<6x4xf32> })"},
      {"Network",
       R"(func.func @f(%x: tensor<2x1x4x4xf32>, %w: tensor<8x1x3x3xf32>, %s: tensor<8xf32>, %b: tensor<8xf32>, %h: tensor<3x32xf32>, %l: tensor<2xi64>) -> tensor<f32> {
        %0 = sinter.conv2d %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x1x4x4xf32>, tensor<8x1x3x3xf32>) -> tensor<2x8x4x4xf32>
        %y, %m, %v = sinter.batch_norm_training %0, %s, %b epsilon 1.0e-03 : (tensor<2x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>)
        %1 = sinter.silu %y : tensor<2x8x4x4xf32>
        %2 = sinter.max_pool2d %1 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>, dilation = array<i64: 1, 1>} : (tensor<2x8x4x4xf32>) -> tensor<2x8x2x2xf32>
        %3 = sinter.reshape %2 : tensor<2x8x2x2xf32> to tensor<2x32xf32>
        %4 = sinter.linear %3, %h : (tensor<2x32xf32>, tensor<3x32xf32>) -> tensor<2x3xf32>
        %5 = sinter.cross_entropy %4, %l : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<f32>
        return %5 : tensor<f32> })"},
  };
}

class GraphTest : public testing::TestWithParam<GraphCase> {};

TEST_P(GraphTest, gradientIsFiniteDifference) {
  Graph graph(GetParam());
  graph.addGradient("f", "gradient");
  graph.expandGradients();
  expectClose(graph.differences("f"), graph.interpret("gradient"), 1e-7);
}

TEST_P(GraphTest, secondGradientIsFiniteDifference) {
  Graph graph(GetParam());
  graph.addGradient("f", "gradient");
  graph.addSquares("gradient", "penalty");
  graph.addGradient("penalty", "second");
  graph.expandGradients();
  expectClose(graph.differences("penalty"), graph.interpret("second"), 1e-6);
}

TEST_P(GraphTest, pipelineKeepsMeaning) {
  Graph graph(GetParam());
  graph.addGradient("f", "gradient");
  graph.expandGradients();
  auto values = graph.interpret("f"), gradients = graph.interpret("gradient");
  graph.run([](mlir::OpPassManager &manager) { passes::buildGraphPipeline(manager); });
  // Parts hold epsilons and factors as f32.
  expectClose(values, graph.interpret("f"), 1e-7);
  expectClose(gradients, graph.interpret("gradient"), 1e-7);
}

std::string nameOf(const testing::TestParamInfo<GraphCase> &info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Shape, GraphTest, testing::ValuesIn(shapeCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Reduction, GraphTest, testing::ValuesIn(reductionCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Linear, GraphTest, testing::ValuesIn(linearCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Normalization, GraphTest, testing::ValuesIn(normalizationCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Loss, GraphTest, testing::ValuesIn(lossCases()), nameOf);

} // namespace
