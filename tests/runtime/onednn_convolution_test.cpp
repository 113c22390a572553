#include "onednn_convolution.h"

namespace sinter::rt {
namespace {

const LibraryOp allOps[] = {LibraryOp::Conv2d, LibraryOp::Conv2dInputGrad,
                            LibraryOp::Conv2dWeightGrad};

void check(const ConvCase &c, LibraryOp op, std::vector<PostOp> postOps = {},
           DType dtype = DType::F32, int threads = 2) {
  SCOPED_TRACE(
      concat(toString(c), " op ", int(op), " post-ops ", postOps.size(), " ", name(dtype)));
  ConvProblem problem = makeProblem(c, op, std::move(postOps), true, dtype);
  expectEqual(runCall(problem.call, problem.tensors, threads), reference(c, problem));
}

// Prime and ragged sizes, one of everything, kernels beyond the input.
const ConvCase awkwardCases[] = {
    {.batch = 1, .in = 1, .out = 1, .height = 1, .width = 1, .kernelH = 1, .kernelW = 1},
    {.batch = 3,
     .in = 1,
     .out = 5,
     .height = 7,
     .width = 11,
     .kernelH = 3,
     .kernelW = 3,
     .padding = {1, 1, 1, 1}},
    {.batch = 2,
     .in = 17,
     .out = 13,
     .height = 9,
     .width = 8,
     .kernelH = 3,
     .kernelW = 2,
     .padding = {0, 1, 2, 0}},
    {.batch = 5,
     .in = 8,
     .out = 16,
     .height = 13,
     .width = 13,
     .kernelH = 3,
     .kernelW = 3,
     .strideH = 2,
     .strideW = 3,
     .padding = {1, 0, 0, 1}},
    {.batch = 2,
     .in = 6,
     .out = 9,
     .height = 14,
     .width = 10,
     .kernelH = 3,
     .kernelW = 3,
     .padding = {2, 2, 2, 2},
     .dilationH = 2,
     .dilationW = 3},
    {.batch = 4,
     .in = 12,
     .out = 18,
     .height = 6,
     .width = 5,
     .kernelH = 3,
     .kernelW = 3,
     .padding = {1, 1, 1, 1},
     .groups = 3},
    {.batch = 2,
     .in = 19,
     .out = 19,
     .height = 8,
     .width = 7,
     .kernelH = 3,
     .kernelW = 3,
     .padding = {1, 1, 1, 1},
     .groups = 19},
    {.batch = 2,
     .in = 16,
     .out = 32,
     .height = 6,
     .width = 6,
     .kernelH = 3,
     .kernelW = 3,
     .strideH = 2,
     .strideW = 2,
     .padding = {1, 1, 1, 1},
     .groups = 16},
    {.batch = 3,
     .in = 24,
     .out = 40,
     .height = 7,
     .width = 7,
     .kernelH = 1,
     .kernelW = 1,
     .strideH = 2,
     .strideW = 2},
    {.batch = 7,
     .in = 16,
     .out = 24,
     .height = 10,
     .width = 10,
     .kernelH = 5,
     .kernelW = 5,
     .padding = {2, 2, 2, 2}},
    {.batch = 2,
     .in = 3,
     .out = 10,
     .height = 5,
     .width = 4,
     .kernelH = 7,
     .kernelW = 7,
     .strideH = 2,
     .strideW = 2,
     .padding = {3, 3, 3, 3}},
    // Weights large enough for reorders in several tasks, with a ragged last block.
    {.batch = 2,
     .in = 67,
     .out = 77,
     .height = 4,
     .width = 5,
     .kernelH = 3,
     .kernelW = 3,
     .padding = {1, 1, 1, 1}},
    {.batch = 2,
     .in = 48,
     .out = 240,
     .height = 4,
     .width = 5,
     .kernelH = 5,
     .kernelW = 3,
     .padding = {2, 1, 2, 1},
     .groups = 6},
    {.batch = 2,
     .in = 4,
     .out = 4,
     .height = 9,
     .width = 9,
     .kernelH = 2,
     .kernelW = 2,
     .strideH = 4,
     .strideW = 4},
};

TEST(OneDnnConvolution, EqualsNaiveLoops) {
  for (ConvCase c : awkwardCases)
    for (LibraryOp op : allOps)
      for (bool channelsLast : {false, true}) {
        c.channelsLast = channelsLast;
        check(c, op);
      }
}

// Batches too small for the pool are cut along rows: halos, strides that skip
// rows, kernels smaller than the stride, rows that nothing reads.
TEST(OneDnnConvolution, CutsRowsOfSmallBatches) {
  for (int64_t batch : {1, 2})
    for (int64_t kernel : {1, 3, 5})
      for (int64_t stride : {1, 2, 3})
        for (int64_t dilation : {1, 2})
          for (std::array<int64_t, 4> padding :
               {std::array<int64_t, 4>{0, 0, 0, 0}, {2, 1, 0, 1}, {1, 0, 3, 0}})
            for (LibraryOp op : allOps)
              check({.batch = batch,
                     .in = 8,
                     .out = 24,
                     .height = 29,
                     .width = 19,
                     .kernelH = kernel,
                     .kernelW = 3,
                     .strideH = stride,
                     .padding = padding,
                     .dilationH = dilation,
                     .channelsLast = true},
                    op);
}

TEST(OneDnnConvolution, AppliesPostOpsInOrder) {
  using enum PostOp;
  for (bool channelsLast : {false, true})
    for (int64_t batch : {1, 6})
      for (const std::vector<PostOp> &postOps : {std::vector{Bias},
                                                 {Relu},
                                                 {Add},
                                                 {Bias, Relu},
                                                 {Bias, Add, Relu},
                                                 {Add, Relu},
                                                 {Relu, Bias}})
        for (DType dtype : {DType::F32, DType::BF16})
          check({.batch = batch,
                 .in = 8,
                 .out = 21,
                 .height = 17,
                 .width = 16,
                 .kernelH = 3,
                 .kernelW = 3,
                 .padding = {1, 1, 1, 1},
                 .channelsLast = channelsLast},
                LibraryOp::Conv2d, postOps, dtype);
}

TEST(OneDnnConvolution, ComputesBFloat16) {
  for (LibraryOp op : allOps)
    for (bool channelsLast : {false, true})
      check({.batch = 4,
             .in = 6,
             .out = 10,
             .height = 9,
             .width = 8,
             .kernelH = 3,
             .kernelW = 3,
             .strideH = 2,
             .padding = {1, 1, 1, 1},
             .groups = 2,
             .channelsLast = channelsLast},
            op, {}, DType::BF16);
}

TEST(OneDnnConvolution, PacksConstantWeightsOnce) {
  for (DType dtype : {DType::F32, DType::BF16}) {
    ConvCase c{.batch = 2,
               .in = 67,
               .out = 77,
               .height = 8,
               .width = 8,
               .kernelH = 3,
               .kernelW = 3,
               .channelsLast = true};
    ConvProblem variable = makeProblem(c, LibraryOp::Conv2d, {}, true, dtype);
    ConvProblem constant = variable;
    constant.tensors[1].constant = true;
    expectEqual(runCall(constant.call, constant.tensors, 2), reference(c, variable));
    auto scratchOf = [](const ConvProblem &problem) {
      std::vector<std::vector<std::byte>> data;
      for (const TestTensor &tensor : problem.tensors)
        data.push_back(tensor.bytes());
      return (*prepare(problem.call, problem.tensors, data))->scratchBytes();
    };
    EXPECT_LT(scratchOf(constant), scratchOf(variable));
  }
}

TEST(OneDnnConvolution, TakesEmptyBatchesAndOutputs) {
  ConvCase empty{
      .batch = 0, .in = 3, .out = 4, .height = 5, .width = 5, .kernelH = 3, .kernelW = 3};
  ConvCase small{
      .batch = 2, .in = 3, .out = 4, .height = 2, .width = 2, .kernelH = 3, .kernelW = 3};
  for (ConvCase c : {empty, small})
    for (LibraryOp op : allOps) // a gradient of nothing is zero
      for (DType dtype : {DType::F32, DType::BF16})
        check(c, op, {}, dtype);
}

TEST(OneDnnConvolution, BitsDoNotDependOnThreads) {
  for (int64_t batch : {1, 3, 17, 64})
    for (bool channelsLast : {false, true})
      for (LibraryOp op : allOps) {
        ConvCase c{.batch = batch,
                   .in = 16,
                   .out = 24,
                   .height = 19,
                   .width = 14,
                   .kernelH = 3,
                   .kernelW = 3,
                   .padding = {1, 1, 1, 1},
                   .channelsLast = channelsLast};
        SCOPED_TRACE(concat(toString(c), " op ", int(op)));
        ConvProblem problem = makeProblem(c, op, {}, false);
        expectSameBits(problem.call, problem.tensors);
      }
}

TEST(OneDnnConvolution, ErrorsNameTheOperands) {
  ConvProblem problem = makeProblem(
      {.batch = 2, .in = 3, .out = 4, .height = 8, .width = 8, .kernelH = 3, .kernelW = 3},
      LibraryOp::Conv2d, {}, true);
  problem.tensors[2].dims[2] = 7;
  auto made = prepare(problem.call, problem.tensors, {{}, {}, {}});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), Code::InvalidArgument);
  EXPECT_NE(made.status().message().find("output f32[2, 4, 7, 6]"), std::string::npos)
      << made.status().message();
}

} // namespace
} // namespace sinter::rt
