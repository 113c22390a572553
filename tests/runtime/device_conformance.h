// What every device must do. A device's test includes this, says how to make one, and instantiates
// the suite:
//
//   INSTANTIATE_TEST_SUITE_P(Emu, DeviceConformance, testing::Values(makeEmu));
#pragma once

#include "core_support.h"

#include "sinter/core/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>
#include <vector>

namespace sinter::rt::test {

/// A device and its kernels, loaded as it loads them. Made anew for each test.
class ConformingDevice {
public:
  virtual ~ConformingDevice() = default;
  virtual Device &device() = 0;
  /// x[i] = factor * x[i] for i < count, i counted over blocks and threads along x.
  /// (float *x, float factor, int32_t count)
  virtual DeviceKernel scale() = 0;
  /// Turns round each block's part of x by way of dynamic shared memory, 4 bytes a thread.
  /// (int32_t *x)
  virtual DeviceKernel reverse() = 0;
  /// x[linear index] = linear index over grid and block of three dimensions each. (int32_t *x)
  virtual DeviceKernel number() = 0;
  /// Traps. No handle: a fault would end the process.
  virtual DeviceKernel trap() = 0;
};

using MakeConformingDevice = std::unique_ptr<ConformingDevice> (*)();

class DeviceConformance : public testing::TestWithParam<MakeConformingDevice> {
protected:
  std::unique_ptr<ConformingDevice> subject = GetParam()();
  Device &device = subject->device();
  const WorkOrigin origin = {"conformance.work", "model.cc:3"};
  std::deque<std::vector<char>> sources; ///< of copies

  template <class T> T *allocate(size_t count) {
    StatusOr<void *> memory = device.allocate(count * sizeof(T), origin);
    EXPECT_TRUE(memory.ok()) << memory.status().message();
    return memory.ok() ? static_cast<T *>(*memory) : nullptr;
  }
  template <class T> void upload(T *to, const std::vector<T> &values) {
    auto *first = reinterpret_cast<const char *>(values.data());
    sources.emplace_back(first,
                         first + values.size() * sizeof(T)); // `values` may go before the copy
    Status status = device.copyToDevice(to, sources.back().data(), sources.back().size(), origin);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  /// Does not wait.
  template <class T> void download(std::vector<T> &values, const T *from) {
    Status status = device.copyToHost(values.data(), from, values.size() * sizeof(T), origin);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  void synchronize() {
    Status status = device.synchronize();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  template <class... Args> Status launch(DeviceKernel kernel, LaunchShape shape, Args... args) {
    void *params[] = {&args...};
    return device.launch(kernel, shape, params, origin);
  }
};

inline std::vector<float> countedFloats(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

TEST_P(DeviceConformance, AllocationsAreAlignedAndApart) {
  std::vector<std::pair<char *, size_t>> all;
  for (size_t bytes : {1u, 3u, 256u, 1000u, 4096u, 5000u, 1u << 20}) {
    auto *memory = allocate<char>(bytes);
    ASSERT_TRUE(memory);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 256, 0u);
    all.push_back({memory, bytes});
  }
  std::sort(all.begin(), all.end());
  for (size_t i = 1; i < all.size(); ++i)
    EXPECT_LE(all[i - 1].first + all[i - 1].second, all[i].first);
  for (auto [memory, bytes] : all)
    device.free(memory);
  device.free(nullptr);
  synchronize();
}

TEST_P(DeviceConformance, CopiesRoundTripAtAnyOffset) {
  auto *memory = allocate<char>(5000);
  std::vector<char> values(4097), got(4097);
  std::iota(values.begin(), values.end(), 0);
  upload(memory + 13, values);
  download(got, memory + 13);
  synchronize();
  EXPECT_EQ(got, values);
  upload(memory + 14, std::vector<char>{99});
  ASSERT_OK(device.copyToDevice(memory, values.data(), 0, origin));
  download(got, memory + 13);
  synchronize();
  values[1] = 99;
  EXPECT_EQ(got, values);
}

TEST_P(DeviceConformance, CopiesOnTheDevice) {
  std::vector<float> values = countedFloats(1000), got(1000);
  auto *a = allocate<float>(1000), *b = allocate<float>(1000);
  upload(a, values);
  ASSERT_OK(device.copy(b + 1, a, 999 * sizeof(float), origin));
  ASSERT_OK(device.copy(b, a + 999, sizeof(float), origin));
  download(got, b);
  synchronize();
  std::rotate(values.rbegin(), values.rbegin() + 1, values.rend());
  EXPECT_EQ(got, values);
}

TEST_P(DeviceConformance, WorkRunsInOrder) {
  std::vector<float> values = countedFloats(3000), got(3000), half(3000);
  auto *x = allocate<float>(3000), *y = allocate<float>(3000);
  upload(x, values);
  for (int turn = 0; turn < 10; ++turn) {
    ASSERT_OK(launch(subject->scale(), {{12, 1, 1}, {256, 1, 1}}, x, 2.0f, 3000));
    ASSERT_OK(device.copy(y, x, 3000 * sizeof(float), origin));
    if (turn == 4)
      download(half, y);
    ASSERT_OK(launch(subject->scale(), {{24, 1, 1}, {128, 1, 1}}, y, 0.5f, 3000));
    ASSERT_OK(device.copy(x, y, 1000 * sizeof(float), origin));
  }
  download(got, x);
  synchronize();
  EXPECT_EQ(got[0], 1.0f);
  EXPECT_EQ(got[999], 1000.0f);
  EXPECT_EQ(got[1000], 1024 * 1001.0f);
  EXPECT_EQ(half[2999], 32 * 3000.0f);
}

TEST_P(DeviceConformance, ParametersAreTakenAtTheLaunch) {
  std::vector<float> got(8);
  auto *x = allocate<float>(8);
  upload(x, std::vector<float>(8, 1.0f));
  float factor = 3;
  int32_t count = 8;
  void *pointer = x;
  void *params[] = {&pointer, &factor, &count};
  ASSERT_OK(device.launch(subject->scale(), {{1, 1, 1}, {32, 1, 1}}, params, origin));
  factor = 5;
  pointer = nullptr;
  count = 0;
  download(got, x);
  synchronize();
  EXPECT_EQ(got, std::vector<float>(8, 3.0f));
}

TEST_P(DeviceConformance, FreeWaitsForTheWorkBefore) {
  std::vector<float> got(100000);
  for (int turn = 0; turn < 5; ++turn) {
    auto *x = allocate<float>(got.size());
    std::vector<float> values(got.size(), float(turn + 1));
    upload(x, values);
    ASSERT_OK(launch(subject->scale(), {{400, 1, 1}, {256, 1, 1}}, x, 2.0f, int32_t(got.size())));
    download(got, x);
    device.free(x);
    auto *y = allocate<float>(got.size()); // may be the same memory
    upload(y, values);
    synchronize();
    EXPECT_EQ(got[0], 2.0f * float(turn + 1));
    EXPECT_EQ(got.back(), 2.0f * float(turn + 1));
    device.free(y);
  }
  synchronize();
}

TEST_P(DeviceConformance, BlocksUpTo1024ThreadsShareMemory) {
  for (uint32_t threads : {1u, 33u, 1024u}) {
    std::vector<int32_t> values(3 * threads), got(3 * threads);
    std::iota(values.begin(), values.end(), 0);
    auto *x = allocate<int32_t>(values.size());
    upload(x, values);
    ASSERT_OK(launch(subject->reverse(), {{3, 1, 1}, {threads, 1, 1}, 4 * threads}, x));
    download(got, x);
    synchronize();
    for (uint32_t block = 0; block < 3; ++block)
      std::reverse(values.begin() + block * threads, values.begin() + (block + 1) * threads);
    EXPECT_EQ(got, values);
  }
}

TEST_P(DeviceConformance, GridsAndBlocksHaveThreeDimensions) {
  std::vector<int32_t> got(2 * 3 * 4 * 5 * 6 * 7), wanted(got.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  auto *x = allocate<int32_t>(got.size());
  ASSERT_OK(launch(subject->number(), {{2, 3, 4}, {5, 6, 7}}, x));
  download(got, x);
  synchronize();
  EXPECT_EQ(got, wanted);
}

TEST_P(DeviceConformance, WrongShapesAreRefused) {
  auto *x = allocate<int32_t>(4096);
  auto refused = [&](LaunchShape shape) {
    Status status = launch(subject->number(), shape, x);
    if (status.ok())
      status = device.synchronize();
    EXPECT_EQ(status.code(), Code::InvalidArgument) << status.message();
    EXPECT_NE(status.message().find(origin.name), std::string::npos) << status.message();
  };
  refused({{0, 1, 1}, {32, 1, 1}});
  refused({{1, 1, 1}, {32, 0, 1}});
  refused({{1, 1, 1}, {1025, 1, 1}});
  refused({{1, 1, 1}, {32, 32, 2}});
  refused({{1, 65536, 1}, {1, 1, 1}});
  refused({{1, 1, 1}, {1, 1, 1}, 1u << 20});
  ASSERT_OK(launch(subject->number(), {{1, 1, 1}, {32, 1, 1}}, x));
  synchronize();
}

TEST_P(DeviceConformance, OutOfMemoryNamesWhoAsked) {
  auto *held = allocate<char>(1000);
  StatusOr<void *> memory = device.allocate(size_t(1) << 50, {"huge.activation", "model.cc:99"});
  expectError(memory, Code::OutOfMemory, {"huge.activation"});
  device.free(held);
  EXPECT_TRUE(allocate<char>(1000));
  synchronize();
}

TEST_P(DeviceConformance, FaultsNameTheirWork) {
  if (!subject->trap().handle)
    GTEST_SKIP() << "a fault of this device ends the process";
  ASSERT_OK(device.launch(subject->trap(), {{1, 1, 1}, {1, 1, 1}}, nullptr,
                          {"faulty.command", "model.cc:12"}));
  Status status = device.synchronize();
  expectError(status, Code::Internal, {"faulty.command", "model.cc:12"});
}

} // namespace sinter::rt::test
