#include "progress.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace mnist {

Progress::Progress(std::string label, int64_t steps, int64_t batch, int64_t first)
    : label(std::move(label)), steps(steps), batch(batch), first(first),
      terminal(isatty(STDOUT_FILENO)), start(Clock::now()), shown(start) {}

void Progress::update(int64_t step, double loss, double accuracy, double waitShare) {
  auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
  Clock::time_point now = Clock::now();
  double interval = terminal ? 0.1 : 5.0;
  if (step < steps && seconds(now - shown) < interval)
    return;
  shown = now;
  double elapsed = seconds(now - start), made = double(step - first);
  double left = elapsed / made * double(steps - step);
  std::string bar;
  constexpr int64_t kWidth = 24;
  for (int64_t i = 0; i < kWidth; ++i)
    bar += i * steps < step * kWidth ? '#' : '.';
  std::printf("%s%s [%s] %lld/%lld  loss %.4f  accuracy %.2f %%  %.0f samples/s  %02d:%02d left  "
              "data wait %.0f %%%s",
              terminal ? "\r" : "", label.c_str(), bar.c_str(), static_cast<long long>(step),
              static_cast<long long>(steps), loss, 100 * accuracy, made * double(batch) / elapsed,
              int(left) / 60, int(left) % 60, 100 * waitShare, terminal ? "\033[K" : "\n");
  std::fflush(stdout);
}

void Progress::finish() {
  if (terminal)
    std::printf("\n");
}

} // namespace mnist
