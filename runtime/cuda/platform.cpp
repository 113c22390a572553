#include "sinter/cuda/platform.h"

#include "device_impl.h"
#include "sinter/base/text.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace sinter::rt {
namespace {

using namespace cuda;

Status checkMemory(const CudaMemory &memory) {
  if (memory.limitBytes < 0)
    return makeError(Code::InvalidArgument, "a memory limit of ", memory.limitBytes,
                     " bytes: give a positive one, or 0 to let the fraction decide");
  if (!(memory.fraction > 0 && memory.fraction <= 1))
    return makeError(Code::InvalidArgument, "a memory fraction of ", memory.fraction,
                     ": give one above 0 and up to 1");
  return {};
}

int64_t limitOn(const CudaCard &card, const CudaMemory &memory) {
  return memory.limitBytes ? memory.limitBytes
                           : int64_t(double(card.memoryBytes) * memory.fraction);
}

StatusOr<CudaCard> readCard(const Driver &driver, int ordinal) {
  CudaCard card;
  card.ordinal = ordinal;
  card.driverVersion = driver.version;
  CuDevice device = 0;
  CuResult result = driver.cuDeviceGet(&device, ordinal);
  char name[256] = {};
  size_t memory = 0;
  if (result == CuResult::Success)
    result = driver.cuDeviceGetName(name, sizeof name - 1, device);
  if (result == CuResult::Success)
    result = driver.cuDeviceTotalMem(&memory, device);
  int major = 0, minor = 0, l2 = 0;
  using Attribute = CuDeviceAttribute;
  std::pair<Attribute, int *> wanted[] = {
      {Attribute::ComputeCapabilityMajor, &major},
      {Attribute::ComputeCapabilityMinor, &minor},
      {Attribute::MultiprocessorCount, &card.multiprocessors},
      {Attribute::WarpSize, &card.warpSize},
      {Attribute::L2CacheSize, &l2},
      {Attribute::MaxThreadsPerBlock, &card.mostThreadsPerBlock},
      {Attribute::MaxBlockDimX, &card.mostThreads[0]},
      {Attribute::MaxBlockDimY, &card.mostThreads[1]},
      {Attribute::MaxBlockDimZ, &card.mostThreads[2]},
      {Attribute::MaxGridDimX, &card.mostBlocks[0]},
      {Attribute::MaxGridDimY, &card.mostBlocks[1]},
      {Attribute::MaxGridDimZ, &card.mostBlocks[2]},
      {Attribute::MaxSharedMemoryPerBlock, &card.sharedBytes},
      {Attribute::MaxSharedMemoryPerBlockOptin, &card.optinSharedBytes}};
  for (auto [attribute, value] : wanted)
    if (result == CuResult::Success)
      result = driver.cuDeviceGetAttribute(value, attribute, device);
  if (result != CuResult::Success)
    return makeError(Code::FailedPrecondition, "card ", ordinal,
                     " does not answer: ", driver.describe(result), ": look at it with nvidia-smi");
  card.name = name;
  card.capability = 10 * major + minor;
  card.memoryBytes = int64_t(memory);
  card.l2Bytes = l2;
  return card;
}

} // namespace

CudaPlatform::CudaPlatform() = default;
CudaPlatform::~CudaPlatform() = default;

CudaPlatform &CudaPlatform::global() {
  // Never destroyed: the driver may be gone before static objects are.
  static CudaPlatform *platform = new CudaPlatform;
  return *platform;
}

Status CudaPlatform::refuseIfInUse(std::string_view what) const {
  auto used = std::ranges::find_if(devices, [](const auto &device) { return device != nullptr; });
  if (used == devices.end())
    return {};
  return makeError(Code::FailedPrecondition, "cannot change ", what, ": ", (*used)->name(),
                   " is already in use; set it before the first device is used");
}

Status CudaPlatform::configureLocked(const CudaOptions &options) {
  SINTER_RETURN_IF_ERROR(checkMemory(options.memory));
  for (const auto &[card, memories] : options.logicalDevices) {
    if (card < 0 || memories.empty())
      return makeError(Code::InvalidArgument, "card ", card, " split into ", memories.size(),
                       " logical devices: name a card from 0 on and at least one device");
    for (const CudaMemory &memory : memories) {
      SINTER_RETURN_IF_ERROR(checkMemory(memory));
      if (memories.size() > 1 && memory.limitBytes == 0)
        return makeError(Code::InvalidArgument, "card ", card,
                         " is split, so each of its logical devices needs a limit in bytes");
    }
  }
  if (options.stagingBytes <= 0)
    return makeError(Code::InvalidArgument, "staging memory of ", options.stagingBytes,
                     " bytes: copies need some, 32M is the default");
  if (driver && options.driver != current.driver)
    return makeError(Code::FailedPrecondition, "cannot change the driver library: ", driver->path,
                     " is already loaded; set it first");
  current = options;
  return {};
}

Status CudaPlatform::configure(const CudaOptions &options) {
  std::lock_guard lock(mutex);
  if (options == current)
    return {};
  SINTER_RETURN_IF_ERROR(refuseIfInUse("the options of CUDA devices"));
  return configureLocked(options);
}

CudaOptions CudaPlatform::options() const {
  std::lock_guard lock(mutex);
  CudaOptions result = current;
  if (const char *path = std::getenv("SINTER_CUDA_LIBRARIES"); path && result.libraries.empty())
    result.libraries = path;
  return result;
}

Status CudaPlatform::loadLocked() {
  if (driver)
    return {};
  const char *given = std::getenv("SINTER_CUDA_DRIVER");
  StatusOr<const Driver *> loaded =
      Driver::load(current.driver.empty() && given ? given : current.driver);
  if (!loaded.ok())
    return loaded.status();
  int count = 0;
  CuResult result = (*loaded)->cuDeviceGetCount(&count);
  if (result != CuResult::Success)
    return makeError(Code::FailedPrecondition,
                     "the cards cannot be counted: ", (*loaded)->describe(result),
                     ": look with nvidia-smi");
  std::vector<CudaCard> found;
  for (int i = 0; i < count; ++i) {
    StatusOr<CudaCard> card = readCard(**loaded, i);
    if (!card.ok())
      return card.status();
    found.push_back(*std::move(card));
  }
  cardList = std::move(found);
  driver = *loaded;
  return {};
}

std::vector<CudaPlatform::Place> CudaPlatform::placesLocked() const {
  std::vector<Place> places;
  for (const CudaCard &card : cardList) {
    auto split = current.logicalDevices.find(card.ordinal);
    if (split == current.logicalDevices.end())
      places.push_back({card.ordinal, current.memory});
    else
      for (const CudaMemory &memory : split->second)
        places.push_back({card.ordinal, memory});
  }
  return places;
}

Status CudaPlatform::checkLimits(const CudaCard &card) const {
  int64_t sum = 0;
  for (const Place &place : placesLocked())
    if (place.card == card.ordinal)
      sum += std::min(limitOn(card, place.memory), card.memoryBytes + 1);
  if (sum <= card.memoryBytes)
    return {};
  return makeError(Code::InvalidArgument, "the limits of the devices on card ", card.ordinal, " (",
                   card.name, ") come to more than its ", formatBytes(card.memoryBytes),
                   ": lower --device-memory or --logical-devices");
}

StatusOr<int> CudaPlatform::deviceCount() {
  std::lock_guard lock(mutex);
  SINTER_RETURN_IF_ERROR(loadLocked());
  return int(placesLocked().size());
}

StatusOr<std::vector<CudaCard>> CudaPlatform::cards() {
  std::lock_guard lock(mutex);
  SINTER_RETURN_IF_ERROR(loadLocked());
  return cardList;
}

StatusOr<CudaDevice *> CudaPlatform::device(int index) {
  std::lock_guard lock(mutex);
  SINTER_RETURN_IF_ERROR(loadLocked());
  for (const auto &[card, memories] : current.logicalDevices)
    if (card >= int(cardList.size()))
      return makeError(Code::InvalidArgument, "--logical-devices splits card ", card, " and there ",
                       cardList.size() == 1 ? "is 1 card"
                                            : concat("are ", cardList.size(), " cards"),
                       ": name one from 0 to ", cardList.size() - 1);
  std::vector<Place> places = placesLocked();
  if (index < 0 || size_t(index) >= places.size())
    return makeError(Code::NotFound, "there is no cuda:", index, ": ", places.size(),
                     places.size() == 1
                         ? " device is there, cuda:0"
                         : concat(" devices are there, cuda:0 to cuda:", places.size() - 1));
  devices.resize(places.size());
  if (!devices[index]) {
    const CudaCard &card = cardList[places[index].card];
    SINTER_RETURN_IF_ERROR(checkLimits(card));
    const CudaMemory &memory = places[index].memory;
    StatusOr<std::unique_ptr<CudaDevice>> made = DeviceImpl::create(
        *driver, card, concat("cuda:", index),
        {limitOn(card, memory), memory.grow, current.deviceSync, current.stagingBytes});
    if (!made.ok())
      return made.status();
    devices[index] = *std::move(made);
  }
  return devices[index].get();
}

} // namespace sinter::rt
