// Programs of sinter on the CUDA runtime without a card: the fake driver (tests/runtime/cuda) runs
// their emulated kernels. One thread.
#pragma once

#include "../runtime/cuda/fake_cuda.h"

#include "sinter/codegen/Cuda.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

namespace sinter::test {

/// The fake driver at SINTER_FAKE_CUDA, which the process's CUDA platform finds from now on.
class ProcessDriver {
public:
  ProcessDriver() {
    ::setenv("SINTER_CUDA_DRIVER", SINTER_FAKE_CUDA, /*overwrite=*/1);
    handle = ::dlopen(SINTER_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      ADD_FAILURE() << ::dlerror();
  }
  int64_t get(const char *counter) {
    return function<decltype(fakeCudaGet)>("fakeCudaGet")(counter);
  }
  /// Modules loaded from now on run these kernels; the image has to live as long as they do.
  void emulate(const codegen::JitImage &image) {
    for (const rt::DeviceKernel &kernel : image.deviceKernels)
      function<decltype(fakeCudaEmulate)>("fakeCudaEmulate")(std::string(kernel.symbol).c_str(),
                                                             kernel.handle);
  }

  template <class Function> Function *function(const char *name) {
    return reinterpret_cast<Function *>(::dlsym(handle, name));
  }

private:
  void *handle;
};

/// Graphs as text, compiled.
class Compiler {
public:
  Compiler() {
    mlir::DialectRegistry registry;
    codegen::registerDialects(registry);
    context.appendDialectRegistry(registry);
  }
  codegen::JitImage emulated(const std::string &text, const char *vendor = "none") {
    auto module = parse(text);
    codegen::CompileOptions options;
    options.device = "emu";
    options.vendor = vendor;
    auto image = codegen::compile(*module, options);
    EXPECT_TRUE(succeeded(image));
    return *std::move(image);
  }
  codegen::CudaImage ptx(const std::string &text, const char *vendor = "none") {
    auto module = parse(text);
    codegen::CompileOptions options;
    options.vendor = vendor;
    auto image = codegen::compileCuda(
        *module, {.architectures = {"sm_90"}, .assemble = false, .compile = options});
    EXPECT_TRUE(succeeded(image));
    return *std::move(image);
  }

private:
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return module;
  }
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

} // namespace sinter::test
