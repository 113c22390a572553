// A fake driver of its own for a test, and short ways to use a device on it.
#pragma once

#include "fake_cuda.h"
#include "sinter/cuda/platform.h"

#include <atomic>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace sinter::rt::cuda {

#define EXPECT_OK(expression)                                                                      \
  do {                                                                                             \
    ::sinter::Status expected = (expression);                                                      \
    EXPECT_TRUE(expected.ok()) << expected.message();                                              \
  } while (false)

/// A copy of the fake driver's library: its state is nobody else's. Control functions by name.
class FakeDriver {
public:
  explicit FakeDriver(const char *library = SINTER_FAKE_CUDA) {
    static std::atomic<int> count = 0;
    file = (std::filesystem::temp_directory_path() /
            ("fake_cuda." + std::to_string(getpid()) + "." + std::to_string(count++) + ".so"))
               .string();
    std::filesystem::copy_file(library, file, std::filesystem::copy_options::overwrite_existing);
    handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      ADD_FAILURE() << dlerror();
  }
  ~FakeDriver() { std::filesystem::remove(file); } // stays mapped: drivers are never unloaded
  FakeDriver(const FakeDriver &) = delete;

  void set(const char *name, int64_t value) {
    call<decltype(fakeCudaSet)>("fakeCudaSet")(name, value);
  }
  int64_t get(const char *name) { return call<decltype(fakeCudaGet)>("fakeCudaGet")(name); }
  void hide(const char *symbol) { call<decltype(fakeCudaHide)>("fakeCudaHide")(symbol); }
  std::string takeLog() {
    std::string text(1 << 20, '\0');
    text.resize(call<decltype(fakeCudaTakeLog)>("fakeCudaTakeLog")(text.data(), text.size()));
    return text;
  }
  const std::string &path() const { return file; }
  template <class Function> Function *function(const char *name) { return call<Function>(name); }

private:
  template <class Function> Function *call(const char *name) const {
    return reinterpret_cast<Function *>(dlsym(handle, name));
  }
  std::string file;
  void *handle;
};

inline CudaImage image(CudaImage::Kind kind, std::string_view architecture, std::string_view text,
                       int toolkit = 0) {
  return {kind, architecture, std::as_bytes(std::span(text)), toolkit};
}

inline constexpr std::string_view kCubin = "FAKECUBIN sm_90\n.entry add_f32\n.entry scale_f32\n"
                                           ".entry nothing\n.entry static_shared\n"
                                           ".entry many_registers\n.entry reverse_i32\n"
                                           ".entry number_i32\n.entry trap\n";
inline constexpr std::string_view kPtx = ".version 7.8\n.target sm_80\n.visible .entry add_f32(\n";

class CudaTest : public testing::Test {
protected:
  /// Every resource of the driver is given back.
  void TearDown() override {
    platform.reset();
    for (const char *counter : {"allocated", "pinned", "events", "streams", "modules", "graphs",
                                "contexts", "pageable_copies"})
      EXPECT_EQ(driver.get(counter), 0) << counter;
  }

  void configure(CudaOptions options = {}) {
    options.driver = driver.path();
    EXPECT_OK(platform->configure(options));
  }
  CudaDevice &device(int index = 0) {
    if (platform->options().driver.empty())
      configure();
    StatusOr<CudaDevice *> result = platform->device(index);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return **result;
  }
  std::unique_ptr<CudaModule> module(CudaDevice &on) {
    CudaImage images[] = {image(CudaImage::Kind::Cubin, "sm_90", kCubin, 12080)};
    StatusOr<std::unique_ptr<CudaModule>> result = on.loadModule(images, "test");
    EXPECT_TRUE(result.ok()) << result.status().message();
    return *std::move(result);
  }
  static DeviceKernel kernel(CudaModule &module, std::string_view symbol) {
    StatusOr<DeviceKernel> result = module.kernel(symbol);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return *result;
  }
  static float *floats(Device &on, size_t count, std::string_view name = "buffer") {
    StatusOr<void *> memory = on.allocate(count * sizeof(float), {name, "test.cc:1"});
    EXPECT_TRUE(memory.ok()) << memory.status().message();
    return static_cast<float *>(*memory);
  }
  static Status scale(Device &on, const DeviceKernel &kernel, float *values, float factor,
                      int count, WorkOrigin origin = {"scale", "test.cc:7"}) {
    void *params[] = {&values, &factor, &count};
    return on.launch(kernel, {}, params, origin);
  }

  FakeDriver driver;
  std::unique_ptr<CudaPlatform> platform = std::make_unique<CudaPlatform>();
};

} // namespace sinter::rt::cuda
