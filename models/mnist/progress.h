// Progress of an epoch: a bar that redraws itself on a terminal, a plain line now and then
// elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace mnist {

class Progress {
public:
  /// `label`, e.g. "epoch 1/5"; `steps` batches of `batch` samples, `first` of them done before.
  Progress(std::string label, int64_t steps, int64_t batch, int64_t first);
  /// Batch `step` (from 1) is done; `waitShare` of the time so far went into waiting for data.
  void update(int64_t step, double loss, double accuracy, double waitShare);
  /// Ends the line.
  void finish();

private:
  using Clock = std::chrono::steady_clock;
  std::string label;
  int64_t steps, batch, first;
  bool terminal;
  Clock::time_point start, shown;
};

} // namespace mnist
