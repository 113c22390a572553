// Kernels as text of NVVM IR, emulated, loaded into this process and run on an emulated device.
#pragma once

#include "emulator/Emulate.h"

#include "sinter/abi/emu.h"
#include "sinter/emu/device.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sinter::codegen::test {

/// Declarations of the intrinsics that kernels here call.
extern const char *const kDeclarations;

/// The kernels of a module. Each instruction of it is on a line of its own, counted from 1 over the
/// whole module, of the file "test.cu".
class Kernels {
public:
  /// Fails the test, and has no kernels, if anything goes wrong.
  explicit Kernels(const std::string &text, EmulationOptions options = {});
  rt::DeviceKernel operator[](const std::string &name) const;
  const sinter_emu_kernel &description(const std::string &name) const;

private:
  void load(const std::string &text, EmulationOptions options);

  std::shared_ptr<void> code;
  std::vector<const sinter_emu_kernel *> kernels;
};

/// The error of emulating a module.
std::string emulationError(const std::string &text);

/// A device and what tests do with it, all of it synchronous.
class Gpu {
public:
  explicit Gpu(rt::EmuOptions options = {});

  template <class T> void *upload(const std::vector<T> &values, const char *name = "buffer") {
    void *memory = allocate(values.size() * sizeof(T), name);
    EXPECT_TRUE(
        device->copyToDevice(memory, values.data(), values.size() * sizeof(T), {name, ""}).ok());
    EXPECT_TRUE(device->synchronize().ok());
    return memory;
  }
  template <class T> std::vector<T> download(const void *memory, size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(
        device->copyToHost(values.data(), memory, count * sizeof(T), {"download", ""}).ok());
    EXPECT_TRUE(device->synchronize().ok());
    return values;
  }
  void *allocate(size_t bytes, const char *name = "buffer");

  /// Launches and waits; the error, "" if there is none.
  template <class... Args>
  std::string run(rt::DeviceKernel kernel, rt::LaunchShape shape, Args... args) {
    void *params[sizeof...(Args) + 1] = {&args...};
    Status status = device->launch(kernel, shape, params, {"command", "model.cc:7"});
    if (status.ok())
      status = device->synchronize();
    return status.message();
  }

  std::unique_ptr<rt::EmuDevice> device;
};

inline rt::LaunchShape shapeOf(uint32_t blocks, uint32_t threads, uint32_t dynamicShared = 0) {
  return {{blocks, 1, 1}, {threads, 1, 1}, dynamicShared};
}

/// `text` with each `from` replaced.
std::string replaced(std::string text, const std::string &from, const std::string &to);

#define EXPECT_CONTAINS(text, part)                                                                \
  EXPECT_NE(std::string(text).find(part), std::string::npos)                                       \
      << "no '" << (part) << "' in: " << (text)

} // namespace sinter::codegen::test
