// Every error a user can meet, by its message.
#include "cuda_support.h"

#include <cstdlib>

namespace sinter::rt::cuda {
namespace {

constexpr WorkOrigin here = {"work", "test.cc:3"};

void expectError(const Status &status, Code code, std::string_view message) {
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_EQ(status.message(), message);
}
void expectContains(const Status &status, Code code,
                    std::initializer_list<std::string_view> parts) {
  EXPECT_EQ(status.code(), code) << status.message();
  for (std::string_view part : parts)
    EXPECT_NE(status.message().find(part), std::string::npos)
        << "'" << part << "' is not in: " << status.message();
}

Status firstUse(const std::string &driver) {
  CudaPlatform platform;
  EXPECT_OK(platform.configure({.driver = driver}));
  return platform.device(0).status();
}

TEST(CudaErrors, NoDriverLibrary) {
  expectContains(firstUse("/nowhere/libcuda.so.1"), Code::NotFound,
                 {"the NVIDIA driver library is not there (tried: /nowhere/libcuda.so.1",
                  "correct SINTER_CUDA_DRIVER or --cuda-driver"});
}

TEST(CudaErrors, NoDriverAtAll) {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL))
    GTEST_SKIP() << "this machine has an NVIDIA driver";
  expectContains(firstUse(""), Code::NotFound,
                 {"tried: libcuda.so.1: cannot open", "install the NVIDIA driver (inside a "
                                                      "container: pass the GPU through), or name "
                                                      "the library in SINTER_CUDA_DRIVER"});
}

TEST(CudaErrors, DriverFromTheEnvironment) {
  FakeDriver driver;
  setenv("SINTER_CUDA_DRIVER", driver.path().c_str(), 1);
  CudaPlatform platform;
  StatusOr<int> count = platform.deviceCount();
  unsetenv("SINTER_CUDA_DRIVER");
  ASSERT_TRUE(count.ok()) << count.status().message();
  EXPECT_EQ(*count, 1);
}

TEST(CudaErrors, LibraryThatIsNoDriver) {
  expectContains(firstUse("libm.so.6"), Code::Unsupported,
                 {"libm.so.6 is no NVIDIA driver library"});
}

TEST(CudaErrors, DriverTooOldNamesBothVersions) {
  FakeDriver driver;
  driver.set("version", 11020);
  expectError(firstUse(driver.path()), Code::Unsupported,
              "the NVIDIA driver supports CUDA 11.2 and sinter needs 11.4 (R470): update the "
              "driver");
}

TEST(CudaErrors, MissingEntryPoint) {
  FakeDriver driver;
  driver.hide("cuGraphLaunch");
  expectError(firstUse(driver.path()), Code::Unsupported,
              "the NVIDIA driver (" + driver.path() +
                  ", CUDA 13.0) has no cuGraphLaunch: update the driver");
}

TEST(CudaErrors, NoCard) {
  FakeDriver driver;
  driver.set("devices", 0);
  expectContains(firstUse(driver.path()), Code::NotFound,
                 {"finds no card: check that nvidia-smi lists one"});
  setenv("CUDA_VISIBLE_DEVICES", "7", 1);
  expectContains(firstUse(driver.path()), Code::NotFound,
                 {"CUDA_VISIBLE_DEVICES='7' hides them or names none that exists"});
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  expectContains(firstUse(driver.path()), Code::NotFound, {"CUDA_VISIBLE_DEVICES='' hides them"});
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(CudaErrors, AFailedStartCanBeTriedAgain) {
  FakeDriver driver;
  driver.set("devices", 0);
  CudaPlatform platform;
  EXPECT_OK(platform.configure({.driver = driver.path()}));
  EXPECT_FALSE(platform.device(0).ok());
  driver.set("devices", 1);
  EXPECT_OK(platform.device(0).status());
}

TEST(CudaErrors, DriverThatDoesNotStart) {
  FakeDriver driver;
  driver.set("init_result", 803);
  expectContains(
      firstUse(driver.path()), Code::FailedPrecondition,
      {"does not start: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "of different versions; reboot"});
  driver.set("init_result", 34);
  expectContains(firstUse(driver.path()), Code::FailedPrecondition,
                 {"CUDA error 34", "toolkit's stub for linking"});
}

TEST_F(CudaTest, NoSuchDevice) {
  configure();
  expectError(platform->device(3).status(), Code::NotFound,
              "there is no cuda:3: 1 device is there, cuda:0");
  expectContains(platform->device(-1).status(), Code::NotFound, {"there is no cuda:-1"});
}

TEST_F(CudaTest, OptionsAreRefusedOnceADeviceIsInUse) {
  device();
  expectError(platform->configure({}), Code::FailedPrecondition,
              "cannot change the options of CUDA devices: cuda:0 is already in use; set it before "
              "the first device is used");
  expectContains(platform->setOption("--device-memory=1G"), Code::FailedPrecondition,
                 {"cannot change --device-memory: cuda:0 is already in use"});
  // What changes nothing may be said again, by a second session for one.
  EXPECT_OK(platform->configure(platform->options()));
  EXPECT_OK(platform->setOption("--device-memory-growth=on"));
}

TEST_F(CudaTest, TheDriverIsChosenOnce) {
  configure();
  ASSERT_TRUE(platform->deviceCount().ok());
  EXPECT_OK(platform->setOption("--device-memory=1M")); // no device yet
  expectContains(platform->setOption("--cuda-driver=other.so"), Code::FailedPrecondition,
                 {"cannot change the driver library", "is already loaded"});
}

TEST_F(CudaTest, OptionsAsText) {
  for (const char *option :
       {"--device-memory=8G", "--device-memory-growth=off", "--device-sync", "--staging-memory=64M",
        "--logical-devices=1:4G,512M", "--cuda-libraries=a:b"})
    EXPECT_OK(platform->setOption(option));
  CudaOptions options = platform->options();
  EXPECT_EQ(options.memory.limitBytes, int64_t(8) << 30);
  EXPECT_FALSE(options.memory.grow);
  EXPECT_TRUE(options.deviceSync);
  EXPECT_EQ(options.stagingBytes, 64 << 20);
  ASSERT_EQ(options.logicalDevices.at(1).size(), 2u);
  EXPECT_EQ(options.logicalDevices.at(1)[1].limitBytes, 512 << 20);
  EXPECT_EQ(options.libraries, "a:b");
  EXPECT_OK(platform->setOption("--device-memory=0.5"));
  EXPECT_EQ(platform->options().memory.limitBytes, 0);
  EXPECT_EQ(platform->options().memory.fraction, 0.5);
}

TEST_F(CudaTest, OptionsThatAreWrong) {
  for (const char *option :
       {"--device-memory=", "--device-memory=8X", "--device-memory=-1", "--device-memory=1.5",
        "--device-memory=0.0", "--device-memory=0", "--device-memory=99999999999T",
        "--device-memory-growth=maybe", "--device-sync=1", "--staging-memory=0",
        "--staging-memory=x", "--logical-devices=4G", "--logical-devices=0:4G,",
        "--logical-devices=x:4G", "--logical-devices=-1:4G"})
    EXPECT_EQ(platform->setOption(option).code(), Code::InvalidArgument) << option;
  expectContains(platform->setOption("--device-memory=8X"), Code::InvalidArgument,
                 {"--device-memory=8X: give bytes as in 8G"});
  expectContains(platform->setOption("--device-memroy=8G"), Code::NotFound,
                 {"no option --device-memroy", "--device-memory,"});
  EXPECT_EQ(platform->options().memory.limitBytes, 0) << "a refused option changes nothing";
}

TEST_F(CudaTest, LogicalDevicesMustFitTheirCard) {
  configure({.logicalDevices = {{0, {{.limitBytes = 800 << 20}, {.limitBytes = 800 << 20}}}}});
  expectContains(platform->device(1).status(), Code::InvalidArgument,
                 {"the limits of the devices on card 0 (Fake card) come to more than its 1.0 GiB"});
  configure({.logicalDevices = {{4, {{.limitBytes = 1 << 20}}}}});
  expectContains(platform->device(0).status(), Code::InvalidArgument,
                 {"--logical-devices splits card 4 and there is 1 card"});
  EXPECT_EQ(platform->configure({.logicalDevices = {{0, {{}, {}}}}}).code(), Code::InvalidArgument);
}

TEST_F(CudaTest, LaunchShapesOutOfLimits) {
  CudaDevice &gpu = device();
  auto loaded = module(gpu);
  DeviceKernel nothing = kernel(*loaded, "nothing");
  auto tryShape = [&](const DeviceKernel &kernel, LaunchShape shape) {
    return gpu.launch(kernel, shape, nullptr, {"gelu", "train.cc:31"});
  };
  expectError(tryShape(nothing, {{1, 1, 1}, {2048, 1, 1}}), Code::InvalidArgument,
              "cuda:0: 'gelu' at train.cc:31: kernel 'nothing' has 2048 threads in x of a block, "
              "the card takes 1024; use a smaller block");
  expectContains(tryShape(nothing, {{1, 1, 1}, {64, 32, 1}}), Code::InvalidArgument,
                 {"has 2048 threads in a block, the card takes 1024"});
  expectContains(tryShape(nothing, {{1, 1, 1}, {1, 1, 128}}), Code::InvalidArgument,
                 {"has 128 threads in z of a block, the card takes 64"});
  expectContains(tryShape(nothing, {{1, 70000, 1}, {1, 1, 1}}), Code::InvalidArgument,
                 {"has 70000 blocks in y, the card takes 65535"});
  expectContains(tryShape(nothing, {{1, 0, 1}, {1, 1, 1}}), Code::InvalidArgument,
                 {"has a size of 0 in y"});
  expectContains(tryShape(kernel(*loaded, "many_registers"), {{1, 1, 1}, {512, 1, 1}}),
                 Code::InvalidArgument,
                 {"has 512 threads in a block, its 255 registers a thread allow 256"});
  expectContains(tryShape(nothing, {{1, 1, 1}, {1, 1, 1}, 228 << 10}), Code::InvalidArgument,
                 {"needs 228.0 KiB of shared memory", "the card has 227.0 KiB a block"});
  EXPECT_EQ(driver.takeLog().find("cuLaunchKernel"), std::string::npos);
}

TEST_F(CudaTest, MuchSharedMemoryIsOptedInOnce) {
  CudaDevice &gpu = device();
  auto loaded = module(gpu);
  DeviceKernel some = kernel(*loaded, "static_shared"); // 40 KiB static
  EXPECT_OK(gpu.launch(some, {{1, 1, 1}, {1, 1, 1}, 8 << 10}, nullptr, here));
  EXPECT_EQ(driver.takeLog().find("cuFuncSetAttribute"), std::string::npos);
  for (int i = 0; i < 3; ++i)
    EXPECT_OK(gpu.launch(some, {{1, 1, 1}, {1, 1, 1}, 100 << 10}, nullptr, here));
  std::string log = driver.takeLog();
  size_t first = log.find("cuFuncSetAttribute");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(log.find("cuFuncSetAttribute", first + 1), std::string::npos);
  EXPECT_OK(gpu.synchronize());
}

class CudaFault : public CudaTest {
protected:
  /// Ten launches of which the fourth fails, with waits behind the `waits` first.
  Status run(CudaDevice &gpu) {
    auto loaded = module(gpu);
    DeviceKernel nothing = kernel(*loaded, "nothing");
    driver.set("fault_launch", 3);
    static const std::string names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    Status first;
    for (const std::string &name : names) {
      Status status = gpu.launch(nothing, {}, nullptr, {name, "net.cc:5"});
      first = first.ok() ? status : first;
    }
    Status wait = gpu.synchronize();
    return first.ok() ? wait : first;
  }
  /// A lost card's memory cannot be given back.
  void TearDown() override { platform.reset(); }
};

TEST_F(CudaFault, NamesTheLastWorks) {
  CudaDevice &gpu = device();
  Status status = run(gpu);
  expectError(status, Code::Internal,
              "cuda:0: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered) in "
              "one of 10 works since the last wait, the newest 8 being 'j' at net.cc:5, 'i' at "
              "net.cc:5, 'h' at net.cc:5, 'g' at net.cc:5, 'f' at net.cc:5, 'e' at net.cc:5, 'd' "
              "at net.cc:5, 'c' at net.cc:5; run again with --device-sync to learn which; this "
              "process cannot use the card any more");
  EXPECT_EQ(gpu.allocate(16, here).status().message(), status.message()) << "it stays lost";
  EXPECT_EQ(gpu.synchronize().message(), status.message());
  EXPECT_EQ(gpu.record().status().message(), status.message());
  float value;
  EXPECT_EQ(gpu.copyToHost(&value, &value, 4, here).message(), status.message());
}

TEST_F(CudaFault, DeviceSyncNamesTheWork) {
  configure({.deviceSync = true});
  CudaDevice &gpu = device();
  EXPECT_TRUE(gpu.synchronous());
  expectError(run(gpu), Code::Internal,
              "cuda:0: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered) in "
              "'d' at net.cc:5; this process cannot use the card any more");
}

TEST_F(CudaFault, AWaitForgetsWhatIsDone) {
  CudaDevice &gpu = device();
  auto loaded = module(gpu);
  DeviceKernel nothing = kernel(*loaded, "nothing");
  driver.set("fault_launch", 1);
  EXPECT_OK(gpu.launch(nothing, {}, nullptr, {"good", ""}));
  EXPECT_OK(gpu.synchronize());
  EXPECT_OK(gpu.launch(nothing, {}, nullptr, {"bad", ""}));
  expectContains(gpu.synchronize(), Code::Internal,
                 {"in 'bad', the only work since the last wait"});
}

TEST_F(CudaFault, SurfacesAtTheNextCall) {
  driver.set("eager", 1); // as if the card had got there at once
  CudaDevice &gpu = device();
  auto loaded = module(gpu);
  DeviceKernel nothing = kernel(*loaded, "nothing");
  driver.set("fault_launch", 1);
  EXPECT_OK(gpu.launch(nothing, {}, nullptr, {"first", ""}));
  (void)gpu.launch(nothing, {}, nullptr, {"second", ""});
  expectContains(gpu.allocate(int64_t(64) << 20, here).status(), Code::Internal,
                 {"CUDA_ERROR_ILLEGAL_ADDRESS", "'first'"});
}

TEST_F(CudaFault, NamesOfWorksAreKept) {
  CudaDevice &gpu = device();
  auto loaded = module(gpu);
  DeviceKernel nothing = kernel(*loaded, "nothing");
  auto name = std::make_unique<std::string>("a name that is too long for the string itself");
  EXPECT_OK(gpu.launch(nothing, {}, nullptr, {*name, "test.cc:1"}));
  auto event = *gpu.record();
  EXPECT_OK(event->wait());
  name = nullptr; // its work is done
  driver.set("fault_launch", 1);
  EXPECT_OK(gpu.launch(nothing, {}, nullptr, {"second", "test.cc:2"}));
  EXPECT_NE(gpu.synchronize().message().find("a name that is too long"), std::string::npos);
}

TEST_F(CudaFault, KernelOnFreedMemory) {
  CudaDevice &gpu = device();
  auto loaded = module(gpu);
  float *memory = floats(gpu, 1 << 20);
  gpu.free(memory);
  EXPECT_OK(gpu.releaseCache());
  EXPECT_OK(scale(gpu, kernel(*loaded, "scale_f32"), memory, 2, 4));
  expectContains(gpu.synchronize(), Code::Internal, {"'scale' at test.cc:7"});
}

TEST_F(CudaTest, ModuleErrors) {
  CudaDevice &gpu = device();
  auto load = [&](const CudaImage &image) { return gpu.loadModule({&image, 1}, "net").status(); };
  expectError(load(image(CudaImage::Kind::Cubin, "sm_80", "FAKECUBIN sm_80\n")), Code::Unsupported,
              "cuda:0: module 'net': the card is sm_90 (compute capability 9.0) and the kernels "
              "are compiled for cubin sm_80: compile with --target=cuda:sm_90");
  expectContains(load(image(CudaImage::Kind::Cubin, "sm_90", "not an image")), Code::Corrupt,
                 {"cuda:0: module 'net': the driver (CUDA 13.0) does not take the image"});
  expectContains(load(image(CudaImage::Kind::Fatbin, "", "FAKEFATBIN sm_70 sm_80\n")),
                 Code::Unsupported, {"it holds no kernels for sm_90"});
  expectContains(load(image(CudaImage::Kind::Ptx, "sm_80", ".version 7.8\n.target sm_80\nadd!\n")),
                 Code::Internal,
                 {"the driver's compiler refuses its PTX: ptxas application ptx input, line 3; "
                  "fatal   : Parsing error near '!': syntax error ptxas fatal   : aborted: "});
  expectContains(load(image(CudaImage::Kind::Ptx, "sm_80", ".version 9.9\n.target sm_80\n")),
                 Code::Unsupported, {"its PTX ISA 9.9 is newer than the driver (CUDA 13.0)"});
  EXPECT_EQ(driver.get("modules"), 0);
}

TEST_F(CudaTest, PtxNewerThanTheDriverNamesBothVersions) {
  driver.set("version", 12020);
  CudaDevice &gpu = device();
  CudaImage newer = image(CudaImage::Kind::Ptx, "sm_80", ".version 8.7\n.target sm_80\n");
  expectError(gpu.loadModule({&newer, 1}, "net").status(), Code::Unsupported,
              "cuda:0: module 'net': the kernels are PTX ISA 8.7, which needs a driver for CUDA "
              "12.8 (R570) or later, and this one supports CUDA 12.2: update the driver, or "
              "compile for an older one");
}

TEST_F(CudaTest, PtxIsLoadedWhereNoCubinFits) {
  driver.set("capability", 120);
  CudaDevice &gpu = device();
  CudaImage images[] = {image(CudaImage::Kind::Cubin, "sm_90", kCubin),
                        image(CudaImage::Kind::Ptx, "sm_80", kPtx)};
  auto loaded = gpu.loadModule(images, "net");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_OK((*loaded)->kernel("add_f32").status());
  expectError((*loaded)->kernel("nothing").status(), Code::NotFound,
              "cuda:0: module 'net' has no kernel 'nothing': compile the program again");
}

TEST_F(CudaTest, KernelResources) {
  CudaDevice &gpu = device();
  auto loaded = module(gpu);
  StatusOr<CudaKernelResources> resources = loaded->resources("many_registers");
  ASSERT_TRUE(resources.ok());
  EXPECT_EQ(resources->registers, 255);
  EXPECT_EQ(resources->mostThreads, 256);
  EXPECT_EQ(loaded->resources("static_shared").status().code(), Code::Ok);
  EXPECT_EQ(kernel(*loaded, "nothing").handle, kernel(*loaded, "nothing").handle);
}

TEST_F(CudaTest, FreedTwice) {
  CudaDevice &gpu = device();
  float *memory = floats(gpu, 4);
  gpu.free(memory);
  gpu.free(memory);
  expectContains(gpu.synchronize(), Code::InvalidArgument,
                 {"cuda:0: memory at 0x", "is not allocated (was it freed twice?)"});
  EXPECT_OK(gpu.synchronize());
}

TEST_F(CudaTest, NoHostMemoryToPin) {
  driver.set("most_pinned", 4096);
  CudaDevice &gpu = device();
  float *memory = floats(gpu, 4), value = 0;
  expectContains(
      gpu.copyToDevice(memory, &value, 4, here), Code::OutOfMemory,
      {"cuda:0: cannot pin host memory for copies ('work' at test.cc:3)", "--staging-memory"});
  expectContains(gpu.pin(8192).status(), Code::OutOfMemory, {"cannot pin 8.0 KiB"});
  gpu.free(memory);
}

} // namespace
} // namespace sinter::rt::cuda
