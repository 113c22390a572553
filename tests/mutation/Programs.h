// Real programs whose kernels are mutated: compiled for CUDA, one step of each run on the emulated
// device and recorded.
#pragma once

#include "Recording.h"

#include "sinter/core/array.h"
#include "sinter/core/program.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sinter::mutation {

struct RecordedStep {
  std::string name; ///< "cnn"
  std::shared_ptr<const rt::Program> program;
  rt::Index entry = 0;
  std::string ir;                             ///< of all kernels, as it becomes PTX
  std::map<std::string, rt::Array> variables; ///< before the step
  std::vector<rt::Array> inputs;
  std::vector<RecordedLaunch> launches;  ///< the first of each kernel
  std::vector<rt::DeviceKernel> kernels; ///< on the emulated device, one a kernel of the program
  std::shared_ptr<void> code;            ///< theirs

  struct Results {
    std::vector<rt::Array> outputs;
    std::map<std::string, rt::Array> variables;
  };
  /// Runs the step on `device`.
  StatusOr<Results> run(rt::Device &device) const;
};

std::vector<std::string> programNames();
/// Throws sinter::Error.
RecordedStep recordProgram(const std::string &name);

} // namespace sinter::mutation
