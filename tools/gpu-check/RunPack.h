// Runs a pack's cases on a target and judges what comes out. One thread.
#pragma once

#include "Target.h"

#include "sinter/core/executable.h"
#include "sinter/core/thread_pool.h"
#include "sinter/core/variable_store.h"

#include <memory>
#include <string>
#include <vector>

namespace sinter::gpucheck {

/// "" if `got` is within its bound everywhere; else index, values and bound of the worst element.
/// `worst` becomes the largest share of a bound that is used, if it is larger.
std::string compare(const Expected &expected, const rt::Array &got, double &worst);

/// What came of a case.
struct Verdict {
  std::vector<std::string> failures; ///< one an output that is wrong; none: passed
  Status error;                      ///< or the run itself failed
  double worst = 0;                  ///< largest share of a bound that was used
  bool passed() const { return failures.empty() && error.ok(); }
};

/// A pack's program on a target.
class LoadedPack {
public:
  static StatusOr<std::unique_ptr<LoadedPack>> load(const Pack &pack, Target &target);

  /// At most `mostSteps` of the case's steps.
  Verdict run(const Case &c, size_t mostSteps);
  /// The case's entry on `device`, which is the target's or one that passes everything on to it,
  /// with its variables as they are at first. One at a time.
  StatusOr<rt::Executable *> prepare(const Case &c, rt::Device &device);
  /// Drops what `prepare` made, and what it has on the device.
  void release() {
    executable.reset();
    store.reset();
  }

  const rt::Program &program() const { return *shared; }
  double loadSeconds() const { return loaded.seconds; }

private:
  LoadedPack(const Pack &pack, Target &target) : pack(pack), target(target) {}

  const Pack &pack;
  Target &target;
  std::shared_ptr<const rt::Program> shared;
  LoadedKernels loaded;
  rt::ThreadPool pool{1};
  std::unique_ptr<rt::VariableStore> store;
  std::unique_ptr<rt::Executable> executable; ///< refers to the store
};

} // namespace sinter::gpucheck
