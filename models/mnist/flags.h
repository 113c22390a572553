// The command line of mnist_train. Values only; any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace mnist {

struct Flags {
  std::string model = "cnn", data = MNIST_DATA;
  std::string checkpoints, losses, batches, predictions, package, initialPackage; ///< "": none
  int64_t epochs = 5, batch = 64, saveEvery = 200;
  int64_t steps = std::numeric_limits<int64_t>::max(), limit = steps;
  double learningRate = 1e-3, target = 2;
};

/// Prints the help and exits if asked for it; sinter::Error names a flag that is wrong.
Flags parseFlags(int argc, char **argv);

} // namespace mnist
