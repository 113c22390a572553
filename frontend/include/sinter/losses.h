// Losses: scalars, the mean over rows or elements as in PyTorch.
#pragma once

#include "sinter/tensor.h"

namespace sinter {

struct CrossEntropyOptions {
  double labelSmoothing = 0;
  int64_t ignoreIndex = -100; ///< rows with this label do not count
};
/// logits [rows, classes] or [rows, classes, …], labels [rows] or [rows, …]: class numbers.
Tensor cross_entropy(const Operand &logits, const Operand &labels,
                     CrossEntropyOptions options = {});
/// As cross_entropy, from log-probabilities.
Tensor nll(const Operand &logProbabilities, const Operand &labels);
Tensor mse(const Operand &x, const Operand &target);
Tensor l1(const Operand &x, const Operand &target);
Tensor huber(const Operand &x, const Operand &target, double delta = 1);
Tensor binary_cross_entropy_with_logits(const Operand &logits, const Operand &target);
/// Sum of target (log target - x) over the rows' number; x holds log-probabilities.
Tensor kl_div(const Operand &x, const Operand &target);

} // namespace sinter
