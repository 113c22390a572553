// What the emulated device does beyond conformance: it finds what a program does wrong.
#include "core_support.h"
#include "emu_kernels.h"

#include "sinter/emu/device.h"

#include <chrono>
#include <thread>

namespace sinter::rt::test {
namespace {

const WorkOrigin kOrigin = {"layer.op", "model.cc:5"};

std::unique_ptr<EmuDevice> make(EmuOptions options = {}) {
  auto device = EmuDevice::create(std::move(options));
  EXPECT_TRUE(device.ok()) << device.status().message();
  return *std::move(device);
}

void *allocate(EmuDevice &device, size_t bytes, std::string_view name = "buffer") {
  auto memory = device.allocate(bytes, {name, ""});
  EXPECT_TRUE(memory.ok()) << memory.status().message();
  return memory.ok() ? *memory : nullptr;
}

template <class... Args>
Status launch(EmuDevice &device, const sinter_emu_kernel &kernel, LaunchShape shape, Args... args) {
  void *params[sizeof...(Args) + 1] = {&args...};
  return device.launch(handleOf(kernel), shape, params, kOrigin);
}

TEST(EmuDevice, DeviceMemoryIsNotTheHosts) {
  auto device = make({.threads = 1, .deferred = true}); // death tests fork: no other threads
  auto *memory = static_cast<volatile int *>(allocate(*device, 64));
  EXPECT_DEATH((void)*memory, "");
  EXPECT_DEATH(*memory = 1, "");
  // Nor does a kernel reach the host's.
  auto passHostAddress = [&] {
    int32_t host = 0;
    const sinter_emu_param number[] = {{8, 0}};
    sinter_emu_kernel kernel = kNumber;
    kernel.params = number; // passed as a number, so that only the access can tell
    (void)launch(*device, kernel, {}, &host);
    (void)device->synchronize();
  };
  EXPECT_DEATH(passHostAddress(), "");
}

TEST(EmuDevice, HostPointersAreRefusedByName) {
  auto device = make();
  int32_t host[4] = {};
  void *memory = allocate(*device, 16);
  expectError(
      launch(*device, kNumber, {}, static_cast<void *>(host)), Code::InvalidArgument,
      {"parameter 0 of kernel 'number' of 'layer.op' (model.cc:5)", "no address of this device"});
  expectError(device->copyToDevice(host, host, 16, kOrigin), Code::InvalidArgument,
              {"the destination of copy 'layer.op'", "no address of this device"});
  expectError(device->copyToHost(host, host, 16, kOrigin), Code::InvalidArgument,
              {"the source of copy 'layer.op'"});
  expectError(device->copyToHost(memory, memory, 16, kOrigin), Code::InvalidArgument,
              {"the destination of copy 'layer.op'", "no address of the host"});
  expectError(device->copyToDevice(memory, memory, 16, kOrigin), Code::InvalidArgument,
              {"the source of copy 'layer.op'", "no address of the host"});
  expectError(device->copy(memory, host, 16, kOrigin), Code::InvalidArgument,
              {"the source of copy"});
}

TEST(EmuDevice, CopiesStayInTheirAllocation) {
  auto device = make();
  std::vector<char> host(100);
  auto *memory = static_cast<char *>(allocate(*device, 64, "weights"));
  expectError(device->copyToDevice(memory + 1, host.data(), 64, kOrigin), Code::InvalidArgument,
              {"takes 64 bytes from byte 1 of 'weights', which has 64"});
  expectError(device->copyToHost(host.data(), memory + 65, 1, kOrigin), Code::InvalidArgument,
              {"where this device has no memory allocated"});
  EXPECT_TRUE(device->copyToDevice(memory + 1, host.data(), 63, kOrigin).ok());
  EXPECT_TRUE(device->synchronize().ok());
}

TEST(EmuDevice, DeferredWorkWaitsForSynchronize) {
  auto device = make({.deferred = true});
  std::vector<int32_t> source(4, 1), target(4, -1);
  void *memory = allocate(*device, 16);
  ASSERT_OK(device->copyToDevice(memory, source.data(), 16, kOrigin));
  ASSERT_OK(device->copyToHost(target.data(), memory, 16, kOrigin));
  source[0] = 2; // too early: the copy has not been made
  EXPECT_EQ(target[0], -1);
  ASSERT_OK(device->synchronize());
  EXPECT_EQ(target, (std::vector<int32_t>{2, 1, 1, 1}));
}

TEST(EmuDevice, WorkRunsWithoutBeingWaitedFor) {
  auto device = make({.delay = std::chrono::milliseconds(50)});
  ran = false;
  ASSERT_OK(launch(*device, kTell, {}));
  EXPECT_FALSE(ran);
  for (int i = 0; i < 5000 && !ran; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(ran);
  device = make({.deferred = true});
  ran = false;
  ASSERT_OK(launch(*device, kTell, {}));
  EXPECT_FALSE(ran);
  ASSERT_OK(device->synchronize());
  EXPECT_TRUE(ran);
}

TEST(EmuDevice, FreshMemoryIsPoison) {
  auto device = make();
  for (int turn = 0; turn < 2; ++turn) { // a second time, where something was
    std::vector<float> got(100, 1.0f);
    void *memory = allocate(*device, 400);
    ASSERT_OK(device->copyToHost(got.data(), memory, 400, kOrigin));
    ASSERT_OK(device->synchronize());
    for (float value : got)
      EXPECT_NE(value, value);
    std::vector<float> zeros(100);
    ASSERT_OK(device->copyToDevice(memory, zeros.data(), 400, kOrigin));
    device->free(memory);
    ASSERT_OK(device->synchronize());
  }
}

TEST(EmuDevice, OutOfMemoryListsTheOwners) {
  auto device = make({.memory = 1 << 20});
  void *weights = allocate(*device, 600 << 10, "weights");
  allocate(*device, 300 << 10, "gradients");
  auto more = device->allocate(200 << 10, {"activations", "model.cc:8"});
  expectError(more, Code::OutOfMemory,
              {"'activations at model.cc:8' asks for 200.0 KiB", "900.0 KiB of 1.0 MiB are in use",
               "600.0 KiB  weights", "300.0 KiB  gradients"});
  // Freed memory comes back, if only when the work before is done.
  device->free(weights);
  allocate(*device, 200 << 10);
  EXPECT_EQ(device->bytesInUse(), 500 << 10);
  expectError(EmuDevice::create({.memory = 0}), Code::InvalidArgument, {"cannot have 0 bytes"});
}

TEST(EmuDevice, FreedMemoryIsNobodys) {
  auto device = make({.deferred = true});
  std::vector<char> host(64);
  void *memory = allocate(*device, 64, "old");
  device->free(memory);
  expectError(device->copyToDevice(memory, host.data(), 64, kOrigin), Code::InvalidArgument,
              {"memory of 'old' that was freed before"});
  ASSERT_OK(device->synchronize());
  expectError(device->copyToDevice(memory, host.data(), 64, kOrigin), Code::InvalidArgument,
              {"no memory allocated"});
  device->free(memory);
  expectError(device->synchronize(), Code::InvalidArgument, {"free of", "freed before"});
  device->free(host.data());
  expectError(device->synchronize(), Code::InvalidArgument, {"no allocation's first byte"});
  EXPECT_EQ(device->bytesInUse(), 0);
}

TEST(EmuDevice, ManyAllocationsReuseTheSpace) {
  auto device = make({.memory = 64 << 20});
  std::vector<void *> live;
  for (int turn = 0; turn < 3000; ++turn) {
    live.push_back(allocate(*device, size_t(turn * 7919 % 100000)));
    if (live.size() > 20) {
      size_t victim = size_t(turn) % live.size();
      device->free(live[victim]);
      live.erase(live.begin() + long(victim));
    }
  }
  for (void *memory : live)
    device->free(memory);
  ASSERT_OK(device->synchronize());
  EXPECT_EQ(device->bytesInUse(), 0);
  EXPECT_TRUE(allocate(*device, 64 << 20)); // the holes became one again
}

TEST(EmuDevice, ErrorsDropTheWorkBehindThem) {
  auto device = make({.deferred = true});
  std::vector<int32_t> got(1, -1);
  void *memory = allocate(*device, 4);
  ASSERT_OK(launch(*device, kTrap, {{2, 1, 1}, {3, 1, 1}}));
  ASSERT_OK(device->copyToHost(got.data(), memory, 4, kOrigin));
  device->free(memory);
  expectError(device->synchronize(), Code::Internal,
              {"kernel 'trap' of 'layer.op' (model.cc:5)",
               "trap at kernel.cc:10: the kernel trapped, thread (0, 0, 0) of block (0, 0, 0) and "
               "5 others"});
  EXPECT_EQ(got[0], -1);
  EXPECT_EQ(device->bytesInUse(), 0);
  void *again = allocate(*device, 4);
  ASSERT_OK(launch(*device, kNumber, {}, again));
  ASSERT_OK(device->copyToHost(got.data(), again, 4, kOrigin));
  ASSERT_OK(device->synchronize());
  EXPECT_EQ(got[0], 0);
}

TEST(EmuDevice, ErrorsSurfaceAtTheNextCall) {
  auto device = make();
  ASSERT_OK(launch(*device, kTrap, {}));
  Status status;
  for (int i = 0; i < 2000 && status.ok(); ++i) {
    status = launch(*device, kTrap, {});
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  expectError(status, Code::Internal, {"'layer.op'"});
}

TEST(EmuDevice, ThreadsThatWaitForEverAreFound) {
  auto device = make({.threads = 2});
  ASSERT_OK(launch(*device, kStuck, {{4, 1, 1}, {64, 1, 1}}));
  expectError(
      device->synchronize(), Code::Internal,
      {"divergent barrier at kernel.cc:10: of 64 live threads 32 wait here for ever; thread "
       "(1, 0, 0) waits at the barrier of kernel.cc:20, thread (0, 0, 0) of block (0, 0, 0)"});
  // Stacks that were left in the middle serve the next launch.
  std::vector<int32_t> got(128);
  void *memory = allocate(*device, 512);
  ASSERT_OK(launch(*device, kWarpSum, {{2, 1, 1}, {64, 1, 1}}, memory));
  ASSERT_OK(device->copyToHost(got.data(), memory, 512, kOrigin));
  ASSERT_OK(device->synchronize());
  for (int i = 0; i < 128; ++i)
    EXPECT_EQ(got[i], i % 64 < 32 ? 496 : 1520);
}

TEST(EmuDevice, KernelsOfAnotherVersionAreRefused) {
  auto device = make();
  sinter_emu_kernel old = kNumber;
  old.abi_version = 0;
  void *memory = allocate(*device, 4);
  expectError(launch(*device, old, {}, memory), Code::InvalidArgument,
              {"by another version of sinter"});
  expectError(device->launch({nullptr, "gone"}, {}, nullptr, kOrigin), Code::InvalidArgument,
              {"kernel 'gone' of 'layer.op' was not loaded"});
  sinter_emu_kernel small = kNumber;
  small.max_threads = 64;
  expectError(launch(*device, small, {{1, 1, 1}, {65, 1, 1}}, memory), Code::InvalidArgument,
              {"launched with 65 threads a block; it can have 64"});
}

TEST(EmuDevice, GoingDropsWorkThatHasNotBegun) {
  std::vector<int32_t> target(1, -1);
  {
    auto device = make({.deferred = true});
    void *memory = allocate(*device, 4);
    ASSERT_OK(launch(*device, kNumber, {}, memory));
    ASSERT_OK(device->copyToHost(target.data(), memory, 4, kOrigin));
  }
  EXPECT_EQ(target[0], -1);
}

} // namespace
} // namespace sinter::rt::test
