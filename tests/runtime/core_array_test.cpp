#include "sinter/base/float16.h"
#include "sinter/core/array.h"
#include "sinter/core/dlpack.h"
#include "sinter/core/variable_store.h"

#include "core_support.h"

#include <cmath>
#include <limits>

namespace sinter::rt {
namespace {

template <class Function> std::string messageOf(Function function) {
  try {
    function();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(Array, OwnsAlignedStorageAndSharesIt) {
  Array a = Array::zeros(DType::F32, {2, 3});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 64, 0u);
  Array b = a;
  a.data<float>()[5] = 2.5f;
  EXPECT_EQ(b.floatAt(5), 2.5);
  EXPECT_EQ(b.clone().data<float>()[5], 2.5f);
  EXPECT_EQ(a.type(), "f32[2, 3]");
  EXPECT_EQ(a.dim(-1), 3);
  EXPECT_EQ(a.bytes(), 24);
  EXPECT_EQ(Array::zeros(DType::I64, {}).elements(), 1);
  EXPECT_EQ(Array::zeros(DType::I64, {4, 0}).elements(), 0);
}

TEST(Array, BorrowsAndReleasesOnce) {
  float values[] = {1, 2, 3, 4};
  int released = 0;
  {
    Array a = Array::borrow(values, DType::F32, {2, 2}, [&] { ++released; });
    Array row = a.rows(1, 2);
    a = Array();
    EXPECT_EQ(released, 0);
    EXPECT_EQ(row.data(), &values[2]);
  }
  EXPECT_EQ(released, 1);
}

TEST(Array, MisuseIsAnErrorThatSaysWhat) {
  Array matrix = Array::zeros(DType::F32, {2, 3});
  EXPECT_NE(messageOf([&] { (void)matrix.item<float>(); }).find("f32[2, 3] with 6"),
            std::string::npos);
  EXPECT_NE(
      messageOf([&] { (void)matrix.data<int64_t>(); }).find("data<i64>() on an array of type f32"),
      std::string::npos);
  EXPECT_NE(messageOf([&] { (void)matrix.reshape({4, 2}); }).find("[4, 2]"), std::string::npos);
  EXPECT_NE(messageOf([&] { (void)matrix.reshape({-1, -1}); }), "");
  EXPECT_NE(messageOf([&] { (void)matrix.rows(1, 3); }), "");
  EXPECT_NE(messageOf([&] { (void)matrix.dim(2); }), "");
  EXPECT_NE(messageOf([] { (void)Array().dims(); }), "");
  EXPECT_NE(messageOf([] { (void)Array::of({1.0f, 2.0f}, {3}); }), "");
  EXPECT_NE(messageOf([] { (void)Array::empty(DType::F32, {-1}); }), "");
  EXPECT_NE(messageOf([] { (void)Array::borrow(nullptr, DType::F32, {1}); }), "");
  EXPECT_FALSE(Array::allocate(DType::F64, {int64_t(1) << 40, int64_t(1) << 40}).ok());
  test::expectError(Array::allocate(DType::F64, {int64_t(1) << 50}), Code::OutOfMemory,
                    {"8.0 PiB"});
}

TEST(Array, ItemAndCastConvertByValue) {
  EXPECT_EQ(Array::scalar(int64_t(7)).item<float>(), 7.0f);
  EXPECT_EQ(Array::scalar(2.75f).item<int>(), 2);
  Array values = Array::of({0.5f, -1.5f, 3e10f, NAN});
  Array half = values.cast(DType::F16);
  EXPECT_EQ(half.floatAt(1), -1.5);
  EXPECT_TRUE(std::isinf(half.floatAt(2)));
  EXPECT_TRUE(std::isnan(half.floatAt(3)));
  EXPECT_EQ(values.cast(DType::BF16).floatAt(0), 0.5);
  EXPECT_EQ(values.cast(DType::Bool).integerAt(0), 1);
  EXPECT_EQ(values.cast(DType::I64).integerAt(2), 30000001024);
  EXPECT_EQ(Array::of({uint8_t(200)}).cast(DType::I32).integerAt(0), 200);
}

TEST(Array, ReshapeSharesStorage) {
  Array a = Array::of({1, 2, 3, 4, 5, 6}, {2, 3});
  Array b = a.reshape({3, -1});
  EXPECT_EQ(b.dims(), (Dims{3, 2}));
  EXPECT_EQ(b.data(), a.data());
}

TEST(Array, Comparisons) {
  Array a = Array::of({1.0f, NAN, INFINITY}), b = Array::of({1.000001f, NAN, INFINITY});
  EXPECT_TRUE(identical(a, a.clone()));
  EXPECT_FALSE(identical(a, b));
  EXPECT_TRUE(allClose(a, b));
  EXPECT_FALSE(allClose(a, Array::of({1.1f, NAN, INFINITY})));
  EXPECT_FALSE(allClose(a, Array::of({1.0f, NAN, -INFINITY})));
  EXPECT_FALSE(allClose(Array::of({1.0f}), Array::of({NAN})));
  EXPECT_NEAR(maxDifference(a, b), 1e-6, 1e-7);
  EXPECT_TRUE(std::isnan(maxDifference(Array::of({1.0f}), Array::of({NAN}))));
}

// The expected texts are what numpy 1.24 prints.
TEST(Array, PrintsAsNumPy) {
  EXPECT_EQ(Array::of({1.0f, 2.0f, 3.0f, 4.0f}, {2, 2}).str(), "[[1. 2.]\n [3. 4.]]");
  EXPECT_EQ(Array::of({1.0f, 2.5f, 3.125f}).str(), "[1.    2.5   3.125]");
  EXPECT_EQ(Array::of({0.1f, -22.25f}).str(), "[  0.1  -22.25]");
  EXPECT_EQ(Array::of({1.0 / 3.0, 2.0}).str(), "[0.33333333 2.        ]");
  EXPECT_EQ(Array::of({1e-5f, 123.0f}).str(), "[1.00e-05 1.23e+02]");
  EXPECT_EQ(Array::of({1e10f, 1.0f}).str(), "[1.e+10 1.e+00]");
  EXPECT_EQ(Array::of({1.0f, float(NAN), -INFINITY}).str(), "[  1.  nan -inf]");
  EXPECT_EQ(Array::of({1, -20, 300}).str(), "[  1 -20 300]");
  EXPECT_EQ(Array::of({true, false}).str(), "[ True False]");
  EXPECT_EQ(Array::scalar(2.5f).str(), "2.5");
  EXPECT_EQ(Array::zeros(DType::F32, {0, 3}).str(), "[]");
  EXPECT_EQ(Array::zeros(DType::F32, {2, 2, 1}).str(), "[[[0.]\n  [0.]]\n\n [[0.]\n  [0.]]]");
  EXPECT_EQ(Array().str(), "<no array>");
}

TEST(Array, LongRowsWrapAndLargeArraysAreSummarised) {
  Array row = Array::zeros(DType::I32, {1001});
  for (int i = 0; i < 1001; ++i)
    row.data<int32_t>()[i] = i;
  EXPECT_EQ(row.str(), "[   0    1    2 ...  998  999 1000]");
  std::string wrapped = Array::zeros(DType::F32, {30}).str();
  EXPECT_EQ(wrapped, "[0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0.\n"
                     " 0. 0. 0. 0. 0. 0.]");
  std::string matrix = Array::zeros(DType::U8, {100, 100}).str();
  EXPECT_EQ(matrix.substr(0, 36), "[[0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 0");
  EXPECT_NE(matrix.find("\n ...\n"), std::string::npos);
}

TEST(Dlpack, ExportSharesStorageUntilItsDeleterRuns) {
  Array a = Array::of({1.0f, 2.0f, 3.0f, 4.0f}, {2, 2});
  dlpack::ManagedTensor *tensor = toDlpack(a);
  EXPECT_EQ(tensor->tensor.data, a.data());
  EXPECT_EQ(tensor->tensor.dtype.code, dlpack::kFloat);
  StatusOr<Array> back = fromDlpack(tensor);
  ASSERT_OK(back);
  EXPECT_EQ(back->data(), a.data());
  EXPECT_EQ(back->dims(), a.dims());
  a = Array();
  EXPECT_EQ(back->floatAt(3), 4.0);
}

TEST(Dlpack, EveryTypeRoundTrips) {
  for (int i = 0; i < kDTypeCount; ++i) {
    StatusOr<Array> back = fromDlpack(toDlpack(Array::zeros(DType(i), {3})));
    ASSERT_OK(back);
    EXPECT_EQ(back->dtype(), DType(i));
  }
}

TEST(Dlpack, StridedTensorsAreCopiedAndReleased) {
  static int deleted;
  deleted = 0;
  float values[] = {1, 2, 3, 4, 5, 6};
  int64_t shape[] = {3, 2}, strides[] = {1, 3}; // the transpose of a 2x3
  dlpack::ManagedTensor tensor{
      {values, {dlpack::kCpu, 0}, 2, {dlpack::kFloat, 32, 1}, shape, strides, 0},
      nullptr,
      [](dlpack::ManagedTensor *) { ++deleted; }};
  StatusOr<Array> read = fromDlpack(&tensor);
  ASSERT_OK(read);
  EXPECT_TRUE(identical(*read, Array::of({1.0f, 4.0f, 2.0f, 5.0f, 3.0f, 6.0f}, {3, 2})));
  EXPECT_EQ(deleted, 1);
  tensor.tensor.device.type = 2;
  test::expectError(fromDlpack(&tensor), Code::Unsupported, {"device type 2", "host memory"});
  tensor.tensor.device.type = dlpack::kCpu;
  tensor.tensor.dtype.lanes = 4;
  test::expectError(fromDlpack(&tensor), Code::Unsupported, {"4 lanes"});
}

TEST(VariableStore, KeepsAddressesAndRefusesOtherTypes) {
  VariableStore store;
  auto first = store.add("head.weight", DType::F32, {10, 64}, true);
  ASSERT_OK(first);
  void *address = (*first)->storage().data();
  for (int i = 0; i < 1000; ++i)
    ASSERT_OK(store.add("v" + std::to_string(i), DType::F32, {i}, false));
  EXPECT_EQ(store.find("head.weight")->storage().data(), address);
  EXPECT_EQ((*store.add("head.weight", DType::F32, {10, 64}, true))->storage().data(), address);
  test::expectError(store.add("head.weight", DType::F32, {64, 10}, true), Code::AlreadyExists,
                    {"f32[10, 64]", "f32[64, 10]"});
  test::expectError(store.get("head.wight"), Code::NotFound, {"did you mean 'head.weight'"});
  EXPECT_EQ(store.size(), 1001u);
  EXPECT_EQ(store.begin()->name, "head.weight");
}

} // namespace
} // namespace sinter::rt
