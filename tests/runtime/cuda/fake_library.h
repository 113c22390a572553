// The fake cuBLASLt where a program looks for it.
#pragma once

#include "fake_cuda.h"

#include <dlfcn.h>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace sinter::rt::cuda {

/// A folder with the fake as libcublasLt.so.13.
class LibraryFolder {
public:
  explicit LibraryFolder(const std::string &below = "") {
    static int count = 0;
    root = std::filesystem::temp_directory_path() /
           ("fake_cublaslt." + std::to_string(getpid()) + "." + std::to_string(count++));
    std::filesystem::create_directories(root / below);
    std::filesystem::copy_file(SINTER_FAKE_CUBLASLT, root / below / "libcublasLt.so.13");
    file = (root / below / "libcublasLt.so.13").string();
  }
  ~LibraryFolder() { std::filesystem::remove_all(root); }

  std::filesystem::path root;
  std::string file;
};

/// Makes the loaded fake work on a fake driver.
inline void connect(void *blas, FakeCudaResolve *resolve, FakeCudaEnqueue *enqueue) {
  reinterpret_cast<void (*)(FakeCudaResolve *, FakeCudaEnqueue *)>(
      ::dlsym(blas, "fakeBlasConnect"))(resolve, enqueue);
}

} // namespace sinter::rt::cuda
