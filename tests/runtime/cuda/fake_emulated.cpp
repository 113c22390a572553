// Kernels that sinter compiled, in the fake driver: the emulator's blocks on the fake's memory.
#include "block_runner.h"
#include "fake_state.h"

#include <cstdio>

namespace sinter::rt::cuda {

CuResult runEmulated(const sinter_emu_kernel &kernel, const FakeLaunch &fake) {
  LaunchShape shape;
  std::copy_n(fake.grid, 3, shape.grid.begin());
  std::copy_n(fake.block, 3, shape.block.begin());
  std::vector<void *> values;
  for (const std::vector<std::byte> &param : fake.params)
    values.push_back(const_cast<std::byte *>(param.data())); // Params only reads it
  emu::Params params(kernel, values.data());
  emu::Findings findings(kernel, shape);
  emu::Launch launch{kernel, shape, params.pointers(), -kDeviceOffset, findings};
  static emu::BlockRunner runner; // under the fake's lock
  if (!runner.begin(launch, nullptr))
    return CuResult::OutOfMemory;
  for (uint64_t block = 0; block < launch.blocks(); ++block)
    runner.run(block);
  Status status = findings.status({kernel.name, ""});
  if (status.ok())
    return CuResult::Success;
  std::fprintf(stderr, "fake_cuda: %s\n", status.message().c_str());
  return CuResult::LaunchFailed;
}

} // namespace sinter::rt::cuda
