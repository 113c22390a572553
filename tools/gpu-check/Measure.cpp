#include "Measure.h"

#include "sinter/base/text.h"
#include "sinter/core/forwarding_device.h"

#include <algorithm>
#include <chrono>
#include <memory>

namespace sinter::gpucheck {

namespace {

constexpr rt::WorkOrigin kOrigin = {"gpu-check", ""};
constexpr int kLaunches = 20;

/// Passes everything on; each launch is made many times, between two events.
class TimingDevice : public rt::ForwardingDevice {
public:
  struct Launch {
    std::string name, symbol;
    std::unique_ptr<rt::CudaEvent> start, end;
  };

  explicit TimingDevice(rt::CudaDevice &device) : ForwardingDevice(device), card(device) {}

  Status launch(const rt::DeviceKernel &kernel, const rt::LaunchShape &shape, void *const *params,
                const rt::WorkOrigin &origin) override {
    SINTER_RETURN_IF_ERROR(inner.launch(kernel, shape, params, origin));
    auto start = card.record(/*timed=*/true);
    if (!start.ok())
      return start.status();
    for (int i = 0; i < kLaunches; ++i)
      SINTER_RETURN_IF_ERROR(inner.launch(kernel, shape, params, origin));
    auto end = card.record(/*timed=*/true);
    if (!end.ok())
      return end.status();
    launches.push_back(
        {std::string(origin.name), std::string(kernel.symbol), *std::move(start), *std::move(end)});
    return {};
  }

  std::vector<Launch> launches;

private:
  rt::CudaDevice &card;
};

} // namespace

StatusOr<double> copyBandwidth(rt::CudaDevice &device) {
  constexpr size_t kBytes = size_t(512) << 20;
  constexpr int kTurns = 5, kCopies = 4;
  double best = 0;
  auto from = device.allocate(kBytes, kOrigin);
  if (!from.ok())
    return from.status();
  auto to = device.allocate(kBytes, kOrigin);
  if (!to.ok()) {
    device.free(*from);
    return to.status();
  }
  auto turn = [&]() -> Status {
    auto start = device.record(/*timed=*/true);
    if (!start.ok())
      return start.status();
    for (int i = 0; i < kCopies; ++i)
      SINTER_RETURN_IF_ERROR(device.copy(*to, *from, kBytes, kOrigin));
    auto end = device.record(/*timed=*/true);
    if (!end.ok())
      return end.status();
    SINTER_RETURN_IF_ERROR(device.synchronize());
    auto milliseconds = (*end)->millisecondsSince(**start);
    if (!milliseconds.ok())
      return milliseconds.status();
    best = std::max(best, 2.0 * kCopies * kBytes / (*milliseconds / 1e3));
    return {};
  };
  Status status;
  for (int i = 0; i < kTurns && status.ok(); ++i)
    status = turn();
  device.free(*from);
  device.free(*to);
  if (!status.ok())
    return status;
  return best;
}

StatusOr<std::vector<KernelTime>> kernelTimes(LoadedPack &pack, const Case &c,
                                              rt::CudaDevice &device) {
  TimingDevice timing(device);
  struct Release {
    LoadedPack &pack;
    ~Release() { pack.release(); } // it refers to the timing device
  } release{pack};
  auto executable = pack.prepare(c, timing);
  if (!executable.ok())
    return executable.status();
  auto results = (*executable)->call(c.steps.front().inputs);
  if (!results.ok())
    return results.status();
  const rt::Program &program = pack.program();
  std::vector<int64_t> symbols, values;
  for (const rt::Symbol &symbol : program.symbols)
    symbols.push_back(symbol.lower);
  rt::evaluate(program, symbols.data(), values);
  std::vector<KernelTime> times;
  for (const rt::Command &command : (*executable)->entry().commands) {
    if (command.kind != rt::CommandKind::Launch)
      continue;
    if (times.size() == timing.launches.size())
      return makeError(Code::Internal, "the step has more commands than were launched");
    const TimingDevice::Launch &launch = timing.launches[times.size()];
    if (launch.symbol != program.kernels[size_t(command.target)].symbol)
      return makeError(Code::Internal, "the kernel ", launch.symbol, " was launched out of order");
    auto milliseconds = launch.end->millisecondsSince(*launch.start);
    if (!milliseconds.ok())
      return milliseconds.status();
    times.push_back({launch.name, launch.symbol, *milliseconds / 1e3 / kLaunches,
                     command.bytes == rt::kNone ? 0 : values[size_t(command.bytes)]});
  }
  return times;
}

StatusOr<double> stepSeconds(rt::Executable &executable, const Case &c, int64_t count) {
  using Clock = std::chrono::steady_clock;
  auto steps = [&](int64_t number) -> Status {
    for (int64_t i = 0; i < number; ++i)
      if (auto results = executable.call(c.steps[size_t(i) % c.steps.size()].inputs); !results.ok())
        return results.status();
    return {};
  };
  SINTER_RETURN_IF_ERROR(steps((count + 9) / 10));
  auto start = Clock::now();
  SINTER_RETURN_IF_ERROR(steps(count));
  return std::chrono::duration<double>(Clock::now() - start).count();
}

} // namespace sinter::gpucheck
