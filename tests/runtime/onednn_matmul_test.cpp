#include "onednn_support.h"

namespace sinter::rt {
namespace {

struct Case {
  int64_t batch, rows, columns, depth;
};

struct Problem {
  LibraryCall call;
  std::vector<TestTensor> tensors;
};

/// batch < 0: operands of rank 2.
Problem makeProblem(Case c, bool transposeA, bool transposeB, std::vector<PostOp> postOps = {},
                    bool integers = true, DType dtype = DType::F32) {
  bool batched = c.batch >= 0;
  auto shape = [&](int64_t outer, int64_t inner) {
    return batched ? std::vector{c.batch, outer, inner} : std::vector{outer, inner};
  };
  Problem problem{{LibraryOp::Matmul, {transposeA, transposeB, batched}, std::move(postOps)}, {}};
  auto add = [&](std::vector<int64_t> dims) {
    unsigned seed = unsigned(problem.tensors.size()) + 1;
    problem.tensors.push_back(randomTensor(std::move(dims), seed, integers, dtype));
  };
  add(transposeA ? shape(c.depth, c.rows) : shape(c.rows, c.depth));
  add(transposeB ? shape(c.columns, c.depth) : shape(c.depth, c.columns));
  add(shape(c.rows, c.columns));
  for (PostOp postOp : problem.call.postOps)
    if (postOp != PostOp::Relu)
      add(postOp == PostOp::Add ? shape(c.rows, c.columns) : std::vector{c.columns});
  return problem;
}

std::vector<float> reference(Case c, const Problem &problem) {
  bool transposeA = problem.call.ints[0], transposeB = problem.call.ints[1];
  const std::vector<float> &a = problem.tensors[0].values, &b = problem.tensors[1].values;
  std::vector<double> sums;
  for (int64_t n = 0; n < std::abs(c.batch); ++n)
    for (int64_t i = 0; i < c.rows; ++i)
      for (int64_t j = 0; j < c.columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < c.depth; ++k)
          sum += double(a[n * c.rows * c.depth + (transposeA ? k * c.rows + i : i * c.depth + k)]) *
                 b[n * c.depth * c.columns + (transposeB ? j * c.depth + k : k * c.columns + j)];
        sums.push_back(sum);
      }
  return finish(problem.call, problem.tensors, sums, [&](size_t i) { return i % c.columns; });
}

void check(Case c, bool transposeA, bool transposeB, std::vector<PostOp> postOps = {},
           DType dtype = DType::F32) {
  SCOPED_TRACE(concat("batch ", c.batch, " rows ", c.rows, " columns ", c.columns, " depth ",
                      c.depth, " transposed ", transposeA, transposeB, " post-ops ", postOps.size(),
                      " ", name(dtype)));
  Problem problem = makeProblem(c, transposeA, transposeB, std::move(postOps), true, dtype);
  expectEqual(runCall(problem.call, problem.tensors, 2), reference(c, problem));
}

TEST(OneDnnMatmul, EqualsNaiveLoops) {
  for (Case c :
       {Case{-1, 1, 1, 1}, Case{-1, 1, 17, 5}, Case{-1, 13, 1, 7}, Case{-1, 67, 131, 37},
        Case{-1, 64, 10, 313}, Case{-1, 257, 3, 129}, Case{1, 5, 7, 3}, Case{3, 31, 29, 11},
        Case{37, 8, 16, 4}, Case{2, 130, 190, 65}, Case{-1, 384, 400, 40}})
    for (bool transposeA : {false, true})
      for (bool transposeB : {false, true})
        check(c, transposeA, transposeB);
}

TEST(OneDnnMatmul, AppliesPostOpsInOrder) {
  using enum PostOp;
  for (Case c :
       {Case{-1, 67, 131, 37}, Case{5, 33, 17, 9}, Case{-1, 1, 10, 64}, Case{-1, 200, 300, 50}})
    for (const std::vector<PostOp> &postOps : {std::vector{Bias},
                                               {Relu},
                                               {Add},
                                               {Bias, Relu},
                                               {Bias, Add, Relu},
                                               {Relu, Bias},
                                               {Add, Bias, Relu},
                                               {Bias, Bias, Add, Add}})
      for (DType dtype : {DType::F32, DType::BF16})
        check(c, false, true, postOps, dtype);
}

TEST(OneDnnMatmul, ComputesBFloat16) {
  for (Case c : {Case{-1, 1, 1, 1}, Case{-1, 67, 131, 37}, Case{4, 31, 29, 11}})
    for (bool transpose : {false, true})
      check(c, transpose, !transpose, {}, DType::BF16);
}

TEST(OneDnnMatmul, MixesResultAndPostOpTypes) {
  Case c{-1, 70, 90, 30};
  Problem problem = makeProblem(c, false, false, {PostOp::Bias, PostOp::Add}, true, DType::BF16);
  for (size_t i : {2, 3})
    problem.tensors[i].dtype = DType::F32;
  expectEqual(runCall(problem.call, problem.tensors, 2), reference(c, problem));
}

TEST(OneDnnMatmul, TakesEmptyDimensions) {
  for (Case c : {Case{-1, 0, 5, 3}, Case{-1, 5, 0, 3}, Case{0, 4, 5, 3}})
    check(c, false, false);
  for (bool transpose : {false, true}) // an empty sum is zero, and post-ops still apply
    check({-1, 9, 50, 0}, transpose, transpose, {PostOp::Bias, PostOp::Add});
  check({3, 9, 5, 0}, false, false, {}, DType::BF16);
}

TEST(OneDnnMatmul, BitsDoNotDependOnThreads) {
  for (Case c : {Case{-1, 64, 256, 784}, Case{-1, 10, 3136, 64}, Case{-1, 64, 10, 3136},
                 Case{24, 65, 63, 64}, Case{-1, 509, 300, 127}}) {
    Problem problem = makeProblem(c, false, true, {PostOp::Bias, PostOp::Relu}, false);
    expectSameBits(problem.call, problem.tensors);
    problem = makeProblem(c, true, false, {}, false);
    expectSameBits(problem.call, problem.tensors);
  }
}

TEST(OneDnnMatmul, ErrorsNameTheOperands) {
  Problem problem = makeProblem({-1, 4, 5, 6}, false, false);
  problem.tensors[1].dims = {7, 5};
  auto made = prepare(problem.call, problem.tensors, {{}, {}, {}});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), Code::InvalidArgument);
  EXPECT_NE(made.status().message().find("f32[4, 6] times f32[7, 5] does not make f32[4, 5]"),
            std::string::npos)
      << made.status().message();
}

} // namespace
} // namespace sinter::rt
