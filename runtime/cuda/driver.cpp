#include "driver.h"

#include "shared_library.h"
#include "sinter/base/text.h"
#include "sinter/cuda/image.h"

#include <cstdlib>
#include <map>
#include <mutex>

namespace sinter::rt::cuda {
namespace {

using GetProcAddress = CuResult (*)(const char *name, void **function, int version, uint64_t flags,
                                    CuProcAddressResult *found);

/// By the driver's own look-up, which knows the version of each entry point, else by name.
class Symbols {
public:
  explicit Symbols(const SharedLibrary &library)
      : library(library),
        lookUp(reinterpret_cast<GetProcAddress>(library.symbol("cuGetProcAddress_v2"))) {}

  void *find(const char *name, const char *symbol) const {
    if (!lookUp)
      return library.symbol(symbol);
    void *function = nullptr;
    CuProcAddressResult found{};
    if (lookUp(name, &function, kOldestDriver, 0, &found) != CuResult::Success)
      return nullptr;
    return function;
  }

private:
  const SharedLibrary &library;
  GetProcAddress lookUp;
};

StatusOr<SharedLibrary> openLibrary(const std::string &path) {
  std::vector<std::string> candidates = {path};
  if (path.empty())
    candidates = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
  StatusOr<SharedLibrary> library = SharedLibrary::open("the NVIDIA driver library", candidates);
  if (library.ok())
    return library;
  return makeError(Code::NotFound, library.status().message(), ": ",
                   path.empty() ? "install the NVIDIA driver (inside a container: pass the GPU "
                                  "through), or name the library in SINTER_CUDA_DRIVER"
                                : "correct SINTER_CUDA_DRIVER or --cuda-driver");
}

Status explainInit(CuResult result, const Driver &driver) {
  std::string_view remedy = "look for the NVIDIA kernel module's messages in dmesg, and whether "
                            "nvidia-smi works";
  switch (result) {
  case CuResult::NoDevice: {
    const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (visible)
      return makeError(Code::NotFound, "the NVIDIA driver (", driver.path,
                       ") shows no card, since CUDA_VISIBLE_DEVICES='", visible,
                       "' hides them or names none that exists: unset it or correct it");
    return makeError(Code::NotFound, "the NVIDIA driver (", driver.path,
                     ") finds no card: check that nvidia-smi lists one (inside a container: pass "
                     "the GPU through)");
  }
  case CuResult::StubLibrary:
    remedy = "this is the toolkit's stub for linking; take the stubs folder out of LD_LIBRARY_PATH";
    break;
  case CuResult::SystemDriverMismatch:
    remedy = "driver library and kernel module are of different versions; reboot, or reload the "
             "module";
    break;
  case CuResult::SystemNotReady:
    remedy = "the system is not ready; start nvidia-fabricmanager if the machine has NVSwitch";
    break;
  case CuResult::CompatNotSupported:
    remedy = "the forward-compatibility library does not support this card; take it out of "
             "LD_LIBRARY_PATH";
    break;
  default:
    break;
  }
  return makeError(Code::FailedPrecondition, "the NVIDIA driver (", driver.path,
                   ") does not start: ", driver.describe(result), ": ", remedy);
}

Status fill(Driver &driver, const SharedLibrary &library) {
  driver.path = library.path();
  using GetVersion = CuResult (*)(int *);
  auto getVersion = reinterpret_cast<GetVersion>(library.symbol("cuDriverGetVersion"));
  if (!getVersion || getVersion(&driver.version) != CuResult::Success)
    return makeError(Code::Unsupported, driver.path,
                     " is no NVIDIA driver library (it has no cuDriverGetVersion): correct "
                     "SINTER_CUDA_DRIVER, or install the driver again");
  if (driver.version < kOldestDriver)
    return makeError(Code::Unsupported, "the NVIDIA driver supports CUDA ",
                     formatCudaVersion(driver.version), " and sinter needs ",
                     formatCudaVersion(kOldestDriver), " (", driverBranch(kOldestDriver),
                     "): update the driver");
  Symbols symbols(library);
#define SINTER_CUDA_FIND(name, symbol, parameters)                                                 \
  driver.name = reinterpret_cast<CuResult(*) parameters>(symbols.find(#name, #symbol));            \
  if (!driver.name)                                                                                \
    return makeError(Code::Unsupported, "the NVIDIA driver (", driver.path, ", CUDA ",             \
                     formatCudaVersion(driver.version),                                            \
                     ") has no " #symbol ": update the driver");
  SINTER_CUDA_ENTRY_POINTS(SINTER_CUDA_FIND)
#undef SINTER_CUDA_FIND
  return {};
}

} // namespace

StatusOr<const Driver *> Driver::load(const std::string &path) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const Driver>> loaded;
  std::lock_guard lock(mutex);
  if (auto found = loaded.find(path); found != loaded.end())
    return found->second.get();
  StatusOr<SharedLibrary> library = openLibrary(path);
  if (!library.ok())
    return library.status();
  auto driver = std::make_unique<Driver>();
  SINTER_RETURN_IF_ERROR(fill(*driver, *library));
  int cards = 0;
  CuResult result = driver->cuInit(0);
  if (result == CuResult::Success)
    result = driver->cuDeviceGetCount(&cards);
  if (result == CuResult::Success && cards == 0)
    result = CuResult::NoDevice;
  if (result != CuResult::Success)
    return explainInit(result, *driver);
  return (loaded[path] = std::move(driver)).get();
}

std::string Driver::describe(CuResult result) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &name) != CuResult::Success || !name)
    return concat("CUDA error ", int(result));
  if (cuGetErrorString(result, &text) != CuResult::Success || !text)
    return name;
  return concat(name, " (", text, ")");
}

bool losesContext(CuResult result) {
  switch (result) {
  case CuResult::EccUncorrectable:
  case CuResult::NvlinkUncorrectable:
  case CuResult::Contained:
  case CuResult::IllegalAddress:
  case CuResult::LaunchTimeout:
  case CuResult::Assert:
  case CuResult::HardwareStackError:
  case CuResult::IllegalInstruction:
  case CuResult::MisalignedAddress:
  case CuResult::InvalidAddressSpace:
  case CuResult::InvalidPc:
  case CuResult::LaunchFailed:
  case CuResult::TensorMemoryLeak:
  case CuResult::MpsClientTerminated:
  case CuResult::ExternalDevice:
    return true;
  default:
    return false;
  }
}

} // namespace sinter::rt::cuda
