// Products by cuBLASLt's descriptors, computed by a fake library that is column-major as the real
// one, and how libraries are found.
#include "cublaslt_types.h"
#include "cuda_support.h"
#include "fake_library.h"
#include "shared_library.h"
#include "sinter/base/float16.h"
#include "sinter/cuda/library.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

namespace sinter::rt::cuda {
namespace {

namespace fs = std::filesystem;
constexpr WorkOrigin here = {"matmul", "net.cc:9"};

class CudaMatmuls : public CudaTest {
protected:
  void SetUp() override {
    gpu = &device();
    void *handle = dlopen(folder.file.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(handle) << dlerror();
    fail = reinterpret_cast<void (*)(int)>(dlsym(handle, "fakeBlasFail"));
    seen = reinterpret_cast<int64_t (*)(const char *)>(dlsym(handle, "fakeBlasSeen"));
    connect(handle, driver.function<FakeCudaResolve>("fakeCudaResolve"),
            driver.function<FakeCudaEnqueue>("fakeCudaEnqueue"));
  }
  void TearDown() override {
    EXPECT_EQ(seen("objects"), 0) << "descriptors left behind";
    CudaTest::TearDown();
  }
  std::unique_ptr<CudaMatmulLibrary> open(CudaLibraryOptions options = {}) {
    options.searchPath = folder.root.string();
    auto library = CudaMatmulLibrary::open(*gpu, options);
    EXPECT_TRUE(library.ok()) << library.status().message();
    return *std::move(library);
  }

  /// Runs the first candidate on random operands and compares with plain loops.
  void check(const CudaMatmul &matmul);

  LibraryFolder folder;
  CudaDevice *gpu = nullptr;
  void (*fail)(int) = nullptr;
  int64_t (*seen)(const char *) = nullptr;
};

float rounded(float value, DType type) {
  return type == DType::F16    ? halfToFloat(floatToHalf(value))
         : type == DType::BF16 ? bfloat16ToFloat(floatToBFloat16(value))
                               : value;
}

/// Small numbers that every type holds exactly.
std::vector<float> randomValues(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = float(int(random() % 17) - 8) / 4;
  return values;
}

std::vector<std::byte> encode(const std::vector<float> &values, DType type) {
  std::vector<std::byte> bytes(values.size() * byteSize(type));
  for (size_t i = 0; i < values.size(); ++i)
    if (type == DType::F32)
      std::memcpy(&bytes[4 * i], &values[i], 4);
    else {
      uint16_t bits = type == DType::F16 ? floatToHalf(values[i]) : floatToBFloat16(values[i]);
      std::memcpy(&bytes[2 * i], &bits, 2);
    }
  return bytes;
}

float decode(const std::byte *bytes, DType type, size_t at) {
  if (type == DType::F32)
    return reinterpret_cast<const float *>(bytes)[at];
  uint16_t bits = reinterpret_cast<const uint16_t *>(bytes)[at];
  return type == DType::F16 ? halfToFloat(bits) : bfloat16ToFloat(bits);
}

/// The product in plain row-major loops.
std::vector<float> expected(const CudaMatmul &m, const std::vector<std::vector<float>> &operands) {
  std::vector<float> result;
  for (int64_t batch = 0; batch < m.batch; ++batch)
    for (int64_t row = 0; row < m.rows; ++row)
      for (int64_t column = 0; column < m.columns; ++column) {
        const float *a = &operands[0][size_t(batch * m.rows * m.inner)],
                    *b = &operands[1][size_t(batch * m.inner * m.columns)];
        float sum = 0;
        for (int64_t k = 0; k < m.inner; ++k)
          sum += (m.transposeA ? a[k * m.rows + row] : a[row * m.inner + k]) *
                 (m.transposeB ? b[column * m.inner + k] : b[k * m.columns + column]);
        size_t next = 3;
        if (m.bias)
          sum += operands[next++][size_t(column)];
        if (m.add)
          sum += operands[next][result.size()];
        if (m.activation == CudaMatmul::Activation::Relu)
          sum = std::max(sum, 0.f);
        if (m.activation == CudaMatmul::Activation::GeluTanh)
          sum = 0.5f * sum * (1 + std::tanh(0.7978845608f * (sum + 0.044715f * sum * sum * sum)));
        result.push_back(rounded(sum, m.output));
      }
  return result;
}

void CudaMatmuls::check(const CudaMatmul &m) {
  auto library = open();
  auto primitives = library->candidates(m, 1);
  ASSERT_TRUE(primitives.ok()) << primitives.status().message();
  auto count = [](int64_t a, int64_t b, int64_t c) { return size_t(a * b * c); };
  std::vector<std::vector<float>> operands = {
      randomValues(count(m.batch, m.rows, m.inner), 1),
      randomValues(count(m.batch, m.inner, m.columns), 2),
      std::vector<float>(count(m.batch, m.rows, m.columns))};
  if (m.bias)
    operands.push_back(randomValues(size_t(m.columns), 3));
  if (m.add)
    operands.push_back(randomValues(operands[2].size(), 4));
  std::vector<void *> buffers;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::vector<std::byte> bytes = encode(operands[i], i < 2 ? m.input : m.output);
    buffers.push_back(*gpu->allocate(bytes.size(), here));
    EXPECT_OK(gpu->copyToDevice(buffers.back(), bytes.data(), bytes.size(), here));
  }
  void *scratch = *gpu->allocate(size_t((*primitives)[0]->scratchBytes()), here);
  EXPECT_OK((*primitives)[0]->run(buffers.data(), scratch, here));
  std::vector<std::byte> result(operands[2].size() * byteSize(m.output));
  EXPECT_OK(gpu->copyToHost(result.data(), buffers[2], result.size(), here));
  EXPECT_OK(gpu->synchronize());
  std::vector<float> wanted = expected(m, operands);
  for (size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(decode(result.data(), m.output, i), wanted[i], 1e-5 + 0.01 * std::abs(wanted[i]))
        << i;
  for (void *memory : buffers)
    gpu->free(memory);
  gpu->free(scratch);
}

TEST_F(CudaMatmuls, RowMajorInEveryOrientation) {
  for (bool transposeA : {false, true})
    for (bool transposeB : {false, true})
      for (int64_t batch : {1, 3}) {
        CudaMatmul matmul;
        matmul.rows = 5, matmul.columns = 7, matmul.inner = 3, matmul.batch = batch;
        matmul.transposeA = transposeA;
        matmul.transposeB = transposeB;
        check(matmul);
      }
}

TEST_F(CudaMatmuls, TypesAndEpilogues) {
  using Activation = CudaMatmul::Activation;
  for (auto [input, output] :
       {std::pair(DType::F32, DType::F32), std::pair(DType::F16, DType::F16),
        std::pair(DType::BF16, DType::BF16), std::pair(DType::F16, DType::F32)})
    for (Activation activation : {Activation::None, Activation::Relu, Activation::GeluTanh})
      for (int which = 0; which < 4; ++which) {
        CudaMatmul matmul;
        matmul.rows = 4, matmul.columns = 6, matmul.inner = 8;
        matmul.input = input, matmul.output = output;
        matmul.activation = activation;
        matmul.bias = which & 1;
        matmul.add = which & 2;
        check(matmul);
      }
}

TEST_F(CudaMatmuls, TellsTheHeuristicWhatIsAllowed) {
  CudaMatmul matmul;
  matmul.rows = matmul.columns = matmul.inner = 8;
  matmul.alignment = 4;
  auto library = open({.workspaceLimit = 3 << 10});
  EXPECT_EQ(library->version(), "cuBLASLt 13.1.0");
  auto primitives = library->candidates(matmul, 10);
  ASSERT_TRUE(primitives.ok()) << primitives.status().message();
  EXPECT_EQ(primitives->size(), 2u) << "three fit the limit, one of them is not supported";
  EXPECT_EQ((*primitives)[1]->scratchBytes(), 3 << 10);
  EXPECT_EQ(seen("workspace"), 3 << 10);
  EXPECT_EQ(seen("alignment"), 4);
  EXPECT_EQ(seen("compute"), int64_t(BlasCompute::F32));
  EXPECT_OK(open({.allowTf32 = true})->candidates(matmul, 1).status());
  EXPECT_EQ(seen("compute"), int64_t(BlasCompute::F32FastTf32));
}

TEST_F(CudaMatmuls, WhatItLacksIsUnsupported) {
  auto library = open({.workspaceLimit = 100});
  CudaMatmul matmul;
  matmul.rows = matmul.columns = 2, matmul.inner = 3;
  EXPECT_EQ(library->candidates(matmul, 1).status().message(),
            "cuBLASLt knows no way to multiply f32[2, 3] by [3, 2] to f32 in 100 B of workspace");
  fail(15);
  Status status = library->candidates(matmul, 1).status();
  EXPECT_EQ(status.code(), Code::Unsupported);
  EXPECT_EQ(status.message(), "cuBLASLt cannot multiply f32[2, 3] by [3, 2] to f32: "
                              "CUBLAS_STATUS_NOT_SUPPORTED");
  matmul.input = DType::I32;
  EXPECT_NE(library->candidates(matmul, 1).status().message().find("f32, f16 and bf16 are used"),
            std::string::npos);
  matmul.input = DType::F32;
  matmul.rows = 0;
  EXPECT_EQ(library->candidates(matmul, 1).status().code(), Code::Unsupported);
}

TEST_F(CudaMatmuls, MayBeCaptured) {
  auto library = open();
  CudaMatmul matmul;
  matmul.rows = matmul.columns = matmul.inner = 1;
  matmul.add = true;
  auto primitives = *library->candidates(matmul, 1);
  float *a = floats(*gpu, 1), *b = floats(*gpu, 1), *c = floats(*gpu, 1);
  float values[] = {2, 3, 1}, result = 0;
  EXPECT_OK(gpu->copyToDevice(a, &values[0], 4, here));
  EXPECT_OK(gpu->copyToDevice(b, &values[1], 4, here));
  EXPECT_OK(gpu->copyToDevice(c, &values[2], 4, here));
  void *scratch = *gpu->allocate(1024, here);
  void *buffers[] = {a, b, c, c}; // adds to the result
  EXPECT_OK(gpu->beginCapture());
  EXPECT_OK(primitives[0]->run(buffers, scratch, here));
  auto graph = *gpu->endCapture();
  for (int i = 0; i < 3; ++i)
    EXPECT_OK(graph->launch(here));
  EXPECT_OK(gpu->copyToHost(&result, c, 4, here));
  EXPECT_OK(gpu->synchronize());
  EXPECT_EQ(result, 1 + 3 * 6);
  for (void *memory : {(void *)a, (void *)b, (void *)c, scratch})
    gpu->free(memory);
}

TEST_F(CudaMatmuls, AFailureNamesTheOrigin) {
  auto library = open();
  CudaMatmul matmul;
  matmul.rows = matmul.columns = matmul.inner = 1;
  auto primitives = *library->candidates(matmul, 1);
  void *buffers[] = {nullptr, nullptr, nullptr};
  Status status = primitives[0]->run(buffers, nullptr, here); // no scratch
  EXPECT_NE(status.message().find("cuda:0: 'matmul' at net.cc:9: cuBLASLt cannot multiply"),
            std::string::npos)
      << status.message();
}

TEST_F(CudaMatmuls, TheExhaustiveChoiceTakesTheFastest) {
  auto library = open();
  CudaMatmul matmul;
  matmul.rows = matmul.columns = matmul.inner = 1;
  auto primitives = *library->candidates(matmul, 4); // take 1, 3 and 4 works
  ASSERT_EQ(primitives.size(), 3u);
  std::swap(primitives[0], primitives[1]);
  float *memory = floats(*gpu, 1);
  void *scratch = *gpu->allocate(4096, here);
  void *buffers[] = {memory, memory, memory};
  StatusOr<size_t> fastest = fastestOf(*gpu, primitives, buffers, scratch, here);
  ASSERT_TRUE(fastest.ok()) << fastest.status().message();
  EXPECT_EQ(*fastest, 1u);
  gpu->free(memory);
  gpu->free(scratch);
}

TEST_F(CudaMatmuls, AnAbsentLibraryIsNamed) {
  const std::string names[] = {"libnothing.so.1"};
  Status status = SharedLibrary::open("a library", libraryCandidates(names, "")).status();
  EXPECT_EQ(status.code(), Code::NotFound);
  EXPECT_NE(status.message().find("a library is not there (tried: libnothing.so.1"),
            std::string::npos)
      << status.message();
}

TEST(CudaLibraryPaths, FoldersToolkitsAndWheels) {
  const std::string names[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
  auto first = [&](const std::string &path) { return libraryCandidates(names, path).front(); };
  LibraryFolder direct, toolkit("lib64"), wheel("nvidia/cu13/lib");
  EXPECT_EQ(first(direct.root.string()), direct.file);
  EXPECT_EQ(first("/nowhere:" + toolkit.root.string() + ":" + direct.root.string()), toolkit.file);
  EXPECT_EQ(first(wheel.root.string()), wheel.file);
  EXPECT_EQ(first(""), "libcublasLt.so.13") << "the loader's path comes first";

  LibraryFolder environment("lib/python3.12/site-packages/nvidia/cublas/lib");
  const char *before = std::getenv("VIRTUAL_ENV");
  std::string saved = before ? before : "";
  setenv("VIRTUAL_ENV", environment.root.c_str(), 1);
  std::vector<std::string> candidates = libraryCandidates(names, "");
  before ? setenv("VIRTUAL_ENV", saved.c_str(), 1) : unsetenv("VIRTUAL_ENV");
  EXPECT_NE(std::ranges::find(candidates, environment.file), candidates.end());
}

TEST(CudaLibraryCalls, Products) {
  std::vector<int64_t> a = {2, 8, 4}, b = {2, 16, 8}, c = {2, 4, 16}, bias = {16};
  LibraryCall call{LibraryOp::Matmul, {1, 1, 1}, {PostOp::Bias, PostOp::Add, PostOp::Relu}};
  std::vector<LibraryOperand> operands = {{DType::F16, a, nullptr},
                                          {DType::F16, b, nullptr},
                                          {DType::F16, c, nullptr},
                                          {DType::F16, bias, nullptr},
                                          {DType::F16, c, nullptr}};
  StatusOr<CudaMatmul> matmul = matmulOf(call, operands);
  ASSERT_TRUE(matmul.ok()) << matmul.status().message();
  EXPECT_EQ(matmul->batch, 2);
  EXPECT_EQ(matmul->rows, 4);
  EXPECT_EQ(matmul->columns, 16);
  EXPECT_EQ(matmul->inner, 8);
  EXPECT_TRUE(matmul->transposeA && matmul->transposeB && matmul->bias && matmul->add);
  EXPECT_EQ(matmul->activation, CudaMatmul::Activation::Relu);

  call.postOps = {PostOp::Relu, PostOp::Bias};
  EXPECT_EQ(matmulOf(call, operands).status().code(), Code::Unsupported);
  call.postOps = {PostOp::Add, PostOp::Bias};
  EXPECT_EQ(matmulOf(call, operands).status().code(), Code::Unsupported);
  call.postOps = {PostOp::Bias, PostOp::Bias};
  EXPECT_EQ(matmulOf(call, operands).status().code(), Code::Unsupported);
  call.postOps = {PostOp::Bias};
  EXPECT_EQ(matmulOf(call, operands).status().code(), Code::InvalidArgument) << "one too many";
  operands.pop_back();
  EXPECT_OK(matmulOf(call, operands).status());
  operands[3].dtype = DType::F32;
  EXPECT_EQ(matmulOf(call, operands).status().code(), Code::Unsupported);
  operands[1].dtype = DType::BF16;
  EXPECT_EQ(matmulOf(call, operands).status().message(),
            "cuBLASLt multiplies two operands of one type, not f16 by bf16; cast one");
}

TEST(CudaLibraryCalls, Convolutions) {
  std::vector<int64_t> x = {2, 10, 12, 6}, w = {8, 3, 3, 5}, y = {2, 5, 4, 8};
  LibraryCall call{LibraryOp::Conv2d, {2, 3, 1, 2, 0, 1, 1, 1, 2, 1}, {PostOp::Relu}};
  std::vector<LibraryOperand> operands = {
      {DType::F32, x, nullptr}, {DType::F32, w, nullptr}, {DType::F32, y, nullptr}};
  StatusOr<CudaConvolution> forward = convolutionOf(call, operands);
  ASSERT_TRUE(forward.ok()) << forward.status().message();
  EXPECT_EQ(forward->channels, 6);
  EXPECT_EQ(forward->height, 10);
  EXPECT_EQ(forward->width, 12);
  EXPECT_EQ(forward->outputChannels, 8);
  EXPECT_EQ(forward->kernelHeight, 3);
  EXPECT_EQ(forward->kernelWidth, 5);
  EXPECT_EQ(forward->strideWidth, 3);
  EXPECT_EQ(forward->padTop, 1);
  EXPECT_EQ(forward->padLeft, 2);
  EXPECT_EQ(forward->padBottom, 0);
  EXPECT_EQ(forward->padRight, 1);
  EXPECT_EQ(forward->groups, 2);
  EXPECT_TRUE(forward->channelsLast && forward->relu && !forward->weightChannelsLast);

  call.postOps = {};
  call.op = LibraryOp::Conv2dInputGrad; // dy, w, dx
  std::swap(operands[0], operands[2]);
  StatusOr<CudaConvolution> input = convolutionOf(call, operands);
  ASSERT_TRUE(input.ok()) << input.status().message();
  EXPECT_EQ(input->kind, CudaConvolution::Kind::InputGradient);
  EXPECT_EQ(input->height, 10);

  call.op = LibraryOp::Conv2dWeightGrad; // x, dy, dw
  operands = {{DType::F32, x, nullptr}, {DType::F32, y, nullptr}, {DType::F32, w, nullptr}};
  StatusOr<CudaConvolution> weight = convolutionOf(call, operands);
  ASSERT_TRUE(weight.ok()) << weight.status().message();
  EXPECT_EQ(weight->kind, CudaConvolution::Kind::WeightGradient);
  EXPECT_EQ(weight->outputChannels, 8);
  call.postOps = {PostOp::Relu};
  EXPECT_EQ(convolutionOf(call, operands).status().code(), Code::Unsupported);
  call.postOps = {};
  y[1] = 6;
  EXPECT_NE(convolutionOf(call, operands).status().message().find("would be 5 by 4"),
            std::string::npos);
  operands[0].dtype = DType::F16;
  EXPECT_EQ(convolutionOf(call, operands).status().code(), Code::Unsupported);
}

} // namespace
} // namespace sinter::rt::cuda
