// What the provider chooses, refuses and leaves alone.
#include "onednn_convolution.h"

#include <thread>

extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
}

namespace sinter::rt {
namespace {

const LibraryOp allOps[] = {LibraryOp::Conv2d, LibraryOp::Conv2dInputGrad,
                            LibraryOp::Conv2dWeightGrad};

/// The primitive for operands without values.
std::unique_ptr<LibraryPrimitive> prepareShapes(const LibraryCall &call,
                                                std::vector<std::vector<int64_t>> shapes,
                                                DType dtype = DType::F32) {
  std::vector<LibraryOperand> operands;
  for (const std::vector<int64_t> &dims : shapes)
    operands.push_back({dtype, dims, nullptr});
  auto made = vendorLibrary()->prepare(call, operands);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? *std::move(made) : nullptr;
}

std::unique_ptr<LibraryPrimitive> prepareConvolution(const ConvCase &c, LibraryOp op,
                                                     std::vector<PostOp> postOps = {}) {
  std::vector<int64_t> x = c.shape(c.in, c.height, c.width),
                       w{c.out, c.in / c.groups, c.kernelH, c.kernelW},
                       y = c.shape(c.out, c.outHeight(), c.outWidth());
  LibraryCall call{op,
                   {c.strideH, c.strideW, c.padding[0], c.padding[1], c.padding[2], c.padding[3],
                    c.dilationH, c.dilationW, c.groups, c.channelsLast},
                   postOps};
  std::vector<std::vector<int64_t>> shapes{x, w, y};
  if (op == LibraryOp::Conv2dInputGrad)
    shapes = {y, w, x};
  if (op == LibraryOp::Conv2dWeightGrad)
    shapes = {x, y, w};
  for (PostOp postOp : postOps)
    if (postOp != PostOp::Relu)
      shapes.push_back(postOp == PostOp::Add ? y : std::vector{c.out});
  return prepareShapes(call, shapes);
}

void expectFast(const LibraryPrimitive *primitive, std::string_view what) {
  ASSERT_NE(primitive, nullptr);
  std::string chosen = inspect(*primitive).implementationName();
  EXPECT_FALSE(chosen.empty()) << what;
  EXPECT_EQ(chosen.find("ref"), std::string::npos) << what << ": " << chosen;
  EXPECT_GE(inspect(*primitive).parallelism(), 1) << what;
}

ConvCase square(int64_t batch, int64_t in, int64_t out, int64_t size, int64_t kernel,
                int64_t stride) {
  int64_t p = kernel / 2;
  return {.batch = batch,
          .in = in,
          .out = out,
          .height = size,
          .width = size,
          .kernelH = kernel,
          .kernelW = kernel,
          .strideH = stride,
          .strideW = stride,
          .padding = {p, p, p, p},
          .channelsLast = true};
}

TEST(OneDnnProvider, ChoosesNoReferenceForMnist) {
  for (bool channelsLast : {false, true})
    for (ConvCase c : {square(64, 1, 32, 28, 3, 1), square(64, 32, 64, 14, 3, 1)})
      for (LibraryOp op : allOps) {
        c.channelsLast = channelsLast;
        auto made = prepareConvolution(c, op);
        expectFast(made.get(), toString(c));
        EXPECT_GE(inspect(*made).parallelism(), 8) << toString(c);
      }
  struct Linear {
    int64_t in, out;
  };
  for (Linear linear : {Linear{3136, 10}, {784, 256}, {256, 128}, {128, 10}}) {
    std::vector<int64_t> x{64, linear.in}, w{linear.out, linear.in}, y{64, linear.out};
    LibraryCall forward{LibraryOp::Matmul, {0, 1, 0}, {PostOp::Bias, PostOp::Relu}};
    expectFast(prepareShapes(forward, {x, w, y, {linear.out}}).get(), "forward");
    expectFast(prepareShapes({LibraryOp::Matmul, {0, 0, 0}, {}}, {y, w, x}).get(), "input grad");
    expectFast(prepareShapes({LibraryOp::Matmul, {1, 0, 0}, {}}, {y, x, w}).get(), "weight grad");
  }
}

TEST(OneDnnProvider, ChoosesNoReferenceForResNet50) {
  std::vector<ConvCase> cases{square(16, 3, 64, 224, 7, 2)};
  int64_t in = 64, size = 56;
  for (int64_t width : {64, 128, 256, 512}) {
    int64_t stride = width == 64 ? 1 : 2;
    cases.push_back(square(16, in, width, size, 1, 1));
    cases.push_back(square(16, width, width, size, 3, stride));
    cases.push_back(square(16, in, 4 * width, size, 1, stride));
    size /= stride;
    in = 4 * width;
    cases.push_back(square(16, width, in, size, 1, 1));
    cases.push_back(square(16, in, width, size, 1, 1));
    cases.push_back(square(16, width, width, size, 3, 1));
  }
  for (const ConvCase &c : cases) {
    for (LibraryOp op : allOps)
      expectFast(prepareConvolution(c, op).get(), toString(c));
    expectFast(
        prepareConvolution(c, LibraryOp::Conv2d, {PostOp::Bias, PostOp::Add, PostOp::Relu}).get(),
        toString(c));
  }
}

TEST(OneDnnProvider, RefusesWhatTheLibraryLacks) {
  LibraryCall call{LibraryOp::Matmul, {0, 0, 0}, {}};
  std::vector<int64_t> dims{4, 4};
  for (DType dtype :
       {DType::F64, DType::F16, DType::I64, DType::I32, DType::I8, DType::U8, DType::Bool}) {
    EXPECT_FALSE(vendorSupports(call, dtype)) << name(dtype);
    auto made =
        vendorLibrary()->prepare(call, std::vector<LibraryOperand>(3, {dtype, dims, nullptr}));
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.status().code(), Code::Unsupported);
    EXPECT_NE(made.status().message().find(name(dtype)), std::string::npos)
        << made.status().message();
    EXPECT_EQ(made.status().message().find("matmul("), 0u) << made.status().message();
  }
  for (DType dtype : {DType::F32, DType::BF16})
    for (LibraryOp op : allOps)
      EXPECT_TRUE(vendorSupports({op, {}, {}}, dtype));
  EXPECT_TRUE(vendorSupports({LibraryOp::Conv2d, {}, {PostOp::Relu}}, DType::F32));
  EXPECT_FALSE(vendorSupports({LibraryOp::Conv2dInputGrad, {}, {PostOp::Relu}}, DType::F32));
}

TEST(OneDnnProvider, RefusesMixedTypesAndMisfits) {
  LibraryCall call{LibraryOp::Matmul, {0, 0, 0}, {PostOp::Bias}};
  std::vector<int64_t> dims{4, 4}, bias{5};
  LibraryOperand f32{DType::F32, dims, nullptr}, bf16{DType::BF16, dims, nullptr};
  LibraryOperand wrongBias{DType::F32, bias, nullptr};
  auto codeOf = [&](std::vector<LibraryOperand> operands) {
    return vendorLibrary()->prepare(call, operands).status().code();
  };
  EXPECT_EQ(codeOf({f32, f32, f32}), Code::InvalidArgument);
  EXPECT_EQ(codeOf({f32, f32, f32, wrongBias}), Code::InvalidArgument);
  EXPECT_EQ(codeOf({f32, bf16, f32, f32}), Code::Unsupported);
  EXPECT_EQ(codeOf({f32, f32, bf16, f32}), Code::Unsupported);
}

TEST(OneDnnProvider, LeavesTheCallersOpenMpSettingAlone) {
  omp_set_num_threads(5);
  ConvProblem problem = makeProblem(square(16, 8, 16, 14, 3, 1), LibraryOp::Conv2d, {}, false);
  std::vector<float> five = runCall(problem.call, problem.tensors, 2);
  EXPECT_EQ(omp_get_max_threads(), 5);
  omp_set_num_threads(1);
  EXPECT_EQ(five, runCall(problem.call, problem.tensors, 2));
  EXPECT_EQ(omp_get_max_threads(), 1);
}

TEST(OneDnnProvider, InstancesRunSideBySide) {
  ConvProblem problem =
      makeProblem(square(8, 8, 16, 14, 3, 1), LibraryOp::Conv2dWeightGrad, {}, false);
  std::vector<float> expected = runCall(problem.call, problem.tensors, 1);
  std::vector<std::thread> threads;
  std::vector<int> good(4);
  for (int &flag : good)
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round)
        flag += runCall(problem.call, problem.tensors, 2) == expected;
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int count : good)
    EXPECT_EQ(count, 5);
}

} // namespace
} // namespace sinter::rt
