#include "cudnn.h"

#include "shared_library.h"
#include "sinter/base/text.h"
#include "sinter/core/json.h"

#include <utility>

namespace sinter::rt::cuda {

StatusOr<std::shared_ptr<const Dnn>> Dnn::load(std::string_view searchPath) {
  const std::string names[] = {"libcudnn.so.9"};
  StatusOr<SharedLibrary> library =
      SharedLibrary::open("cuDNN 9", libraryCandidates(names, searchPath));
  if (!library.ok())
    return makeError(Code::NotFound, library.status().message(),
                     ": install cuDNN 9 or its Python wheel and name its folder in "
                     "--cuda-libraries or SINTER_CUDA_LIBRARIES");
  auto dnn = std::make_shared<Dnn>();
  dnn->path = library->path();
#define SINTER_CUDNN_FIND(result, name, parameters)                                                \
  dnn->name = reinterpret_cast<result(*) parameters>(library->symbol(#name));                      \
  if (!dnn->name)                                                                                  \
    return makeError(Code::Unsupported, dnn->path, " has no " #name ": install cuDNN 9");
  SINTER_CUDNN_ENTRY_POINTS(SINTER_CUDNN_FIND)
#undef SINTER_CUDNN_FIND
  if (dnn->cudnnGetVersion() / 10000 != 9)
    return makeError(Code::Unsupported, dnn->path, " is ", dnn->version(),
                     ", and sinter uses cuDNN 9: install that");
  return std::shared_ptr<const Dnn>(std::move(dnn));
}

std::string Dnn::version() const {
  size_t number = cudnnGetVersion();
  return concat("cuDNN ", number / 10000, ".", number / 100 % 100, ".", number % 100);
}

Status Dnn::check(DnnStatus status, std::string_view action) const {
  if (status == DnnStatus::Success)
    return {};
  char words[512] = {};
  cudnnGetLastErrorString(words, sizeof words);
  bool memory =
      status == DnnStatus::HostAllocationFailed || status == DnnStatus::DeviceAllocationFailed;
  int family = int(status) / 1000;
  return makeError(memory                       ? Code::OutOfMemory
                   : family == 2 || family == 3 ? Code::Unsupported
                                                : Code::Internal,
                   "cuDNN cannot ", action, ": ", cudnnGetErrorString(status), words[0] ? " (" : "",
                   words, words[0] ? ")" : "");
}

DnnObject::DnnObject(const Dnn &dnn, DnnDescriptorType type) : dnn(&dnn) {
  error = dnn.cudnnBackendCreateDescriptor(type, &descriptor);
}
DnnObject::~DnnObject() {
  if (descriptor)
    dnn->cudnnBackendDestroyDescriptor(descriptor);
}
DnnObject::DnnObject(DnnObject &&other) noexcept
    : dnn(other.dnn), descriptor(std::exchange(other.descriptor, nullptr)), error(other.error) {}

void DnnObject::setRaw(DnnAttribute attribute, DnnValue type, int64_t count, const void *values) {
  if (error == DnnStatus::Success)
    error = dnn->cudnnBackendSetAttribute(descriptor, attribute, type, count, values);
}

Status DnnObject::finish(std::string_view action) {
  if (error == DnnStatus::Success)
    error = dnn->cudnnBackendFinalize(descriptor);
  return dnn->check(error, action);
}

std::string devicePropertiesJson(const CudaCard &card) {
  // The keys are those cuDNN 9.8 to 9.19 require of CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, as
  // its errors name them. What a card does not tell is the same for 8.0 to 12.0, or ranks engines
  // only (clock rates).
  auto triple = [](const std::array<int, 3> &values) {
    return concat("[", values[0], ",", values[1], ",", values[2], "]");
  };
  return concat(
      "{\"cudaDeviceId\":", card.ordinal, ",\"deviceVer\":", 10 * card.capability,
      ",\"driverVer\":", card.driverVersion, ",\"maxGridSize\":", triple(card.mostBlocks),
      ",\"maxBlockSize\":", triple(card.mostThreads),
      ",\"regsPerBlock\":65536,\"multiProcessorCount\":", card.multiprocessors,
      ",\"smClockRateKHz\":1500000,\"memClockRateKHz\":2500000,\"l2CacheSize\":", card.l2Bytes,
      ",\"warpSize\":", card.warpSize, ",\"maxSharedMemoryPerBlock\":", card.sharedBytes,
      ",\"maxSharedMemoryPerBlockOptin\":", card.optinSharedBytes,
      ",\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":32,"
      "\"maxThreadsPerBlock\":",
      card.mostThreadsPerBlock,
      ",\"maxThreadsPerSM\":2048,\"isTccDriver\":0,\"supportCoopLaunch\":1,\"totalGlobalMem\":",
      card.memoryBytes, ",\"pciDeviceId\":0,\"deviceName\":", jsonQuote(card.name), "}");
}

} // namespace sinter::rt::cuda
