// The check of cuBLASLt, on the fake library, which multiplies.
#include "Libraries.h"

#include "cuda_support.h"

namespace sinter::gpucheck {
namespace {

class Libraries : public rt::cuda::CudaTest {
protected:
  Libraries() {
    std::filesystem::create_directories(folder);
    std::string file = folder + "/libcublasLt.so.13";
    std::filesystem::copy_file(SINTER_FAKE_CUBLASLT, file,
                               std::filesystem::copy_options::overwrite_existing);
    handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      throw std::runtime_error(dlerror());
    auto connect = reinterpret_cast<void (*)(FakeCudaResolve *, FakeCudaEnqueue *)>(
        dlsym(handle, "fakeBlasConnect"));
    connect(driver.function<FakeCudaResolve>("fakeCudaResolve"),
            driver.function<FakeCudaEnqueue>("fakeCudaEnqueue"));
  }
  ~Libraries() override { std::filesystem::remove_all(folder); }

  std::string folder = testing::TempDir() + "gpu_check_libraries_" + std::to_string(::getpid());
  void *handle = nullptr;
};

TEST_F(Libraries, AProductIsRight) {
  LibraryVerdict verdict = checkMatmulLibrary(device(), {.searchPath = folder});
  EXPECT_TRUE(verdict.status.ok()) << verdict.status.message();
  EXPECT_TRUE(verdict.version.starts_with("cuBLASLt 13")) << verdict.version;
  EXPECT_GT(verdict.worst, 0); // sums of floats differ from sums of doubles
  EXPECT_LE(verdict.worst, 1);
}

TEST_F(Libraries, AFailureIsToldWithTheVersion) {
  auto fail = reinterpret_cast<void (*)(int)>(dlsym(handle, "fakeBlasFail"));
  fail(14); // CUBLAS_STATUS_INTERNAL_ERROR
  LibraryVerdict verdict = checkMatmulLibrary(device(), {.searchPath = folder});
  fail(0);
  EXPECT_FALSE(verdict.status.ok());
}

} // namespace
} // namespace sinter::gpucheck
