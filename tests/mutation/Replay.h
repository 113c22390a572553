// One kernel by itself: its launch on an emulated device that checks, and what it writes.
#pragma once

#include "Equivalence.h"
#include "Programs.h"

#include <cstddef>
#include <string>
#include <vector>

namespace sinter::mutation {

/// What the written buffers of a launch hold after it.
using Written = std::vector<std::vector<std::byte>>;

/// One kernel of a program and the launch that its mutants are tried with.
struct Subject {
  std::string program;
  RecordedLaunch launch;
  std::string bitcode; ///< its module
  std::vector<Mutant> mutants;
  Written expected;
  double seconds = 0; ///< of the unmutated launch

  ModulePtr module(llvm::LLVMContext &context) const;
};

/// Equal for kernels of equal code and shape, whatever their names.
std::string fingerprint(const Subject &subject);

/// The kernels of a step, buffers that hold one number only filled with random ones.
std::vector<Subject> subjectsOf(const RecordedStep &step);

/// Emulates `module` and launches its kernel, checked. `finding` is what was wrong, "" if nothing;
/// `traps`: whether a thread met a trap. Throws sinter::Error if it could not be launched at all.
struct Outcome {
  std::string finding;
  bool traps = false;
  Written written;
};
Outcome launch(const Subject &subject, ModulePtr module);

/// Where what was written differs from what is expected by more than rounding; "" if nowhere.
std::string difference(const Subject &subject, const Written &written);

} // namespace sinter::mutation
