// Starting kernels, and the limits of a card checked before the driver says "invalid value".
#include "device_impl.h"
#include "sinter/base/text.h"

#include <algorithm>

namespace sinter::rt::cuda {
namespace {

constexpr std::string_view axes[] = {"x", "y", "z"};

} // namespace

Status DeviceImpl::checkShape(const LoadedKernel &kernel, const LaunchShape &shape) const {
  auto refuse = [](const auto &...parts) { return makeError(Code::InvalidArgument, parts...); };
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (shape.grid[i] == 0 || shape.block[i] == 0)
      return refuse("has a size of 0 in ", axes[i], "; launch nothing instead");
    if (shape.grid[i] > uint32_t(cardInfo.mostBlocks[i]))
      return refuse("has ", shape.grid[i], " blocks in ", axes[i], ", the card takes ",
                    cardInfo.mostBlocks[i], "; let a block do more");
    if (shape.block[i] > uint32_t(cardInfo.mostThreads[i]))
      return refuse("has ", shape.block[i], " threads in ", axes[i], " of a block, the card takes ",
                    cardInfo.mostThreads[i], "; use a smaller block");
    threads *= shape.block[i];
  }
  if (threads > uint64_t(cardInfo.mostThreadsPerBlock))
    return refuse("has ", threads, " threads in a block, the card takes ",
                  cardInfo.mostThreadsPerBlock, "; use a smaller block");
  if (threads > uint64_t(kernel.resources.mostThreads))
    return refuse("has ", threads, " threads in a block, its ", kernel.resources.registers,
                  " registers a thread allow ", kernel.resources.mostThreads,
                  "; use a smaller block or compile for fewer registers");
  uint64_t shared = uint64_t(shape.dynamicSharedBytes) + kernel.resources.staticSharedBytes;
  if (shared > uint64_t(std::max(cardInfo.optinSharedBytes, cardInfo.sharedBytes)))
    return refuse("needs ", formatBytes(int64_t(shared)), " of shared memory (",
                  formatBytes(kernel.resources.staticSharedBytes),
                  " of them static), the card has ", formatBytes(cardInfo.optinSharedBytes),
                  " a block; use smaller tiles");
  return {};
}

Status DeviceImpl::launch(const DeviceKernel &kernel, const LaunchShape &shape, void *const *params,
                          const WorkOrigin &origin) {
  SINTER_RETURN_IF_ERROR(makeCurrent());
  auto &loaded = *static_cast<LoadedKernel *>(kernel.handle);
  if (Status status = checkShape(loaded, shape); !status.ok())
    return makeError(status.code(), deviceName, ": ", describe(origin), ": kernel '", kernel.symbol,
                     "' ", status.message());
  if (shape.dynamicSharedBytes > loaded.allowedDynamicShared) {
    CuResult result =
        driver.cuFuncSetAttribute(loaded.function, CuFunctionAttribute::MaxDynamicSharedSizeBytes,
                                  int(shape.dynamicSharedBytes));
    SINTER_RETURN_IF_ERROR(
        check(result, concat("let kernel '", kernel.symbol, "' use ",
                             formatBytes(shape.dynamicSharedBytes), " of shared memory")));
    loaded.allowedDynamicShared = shape.dynamicSharedBytes;
  }
  CuResult result = driver.cuLaunchKernel(
      loaded.function, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1],
      shape.block[2], shape.dynamicSharedBytes, cuStream(), const_cast<void **>(params), nullptr);
  return finishWork(result, origin);
}

} // namespace sinter::rt::cuda
