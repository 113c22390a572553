// Where a session's steps run: compiles modules for it and loads their code.
#pragma once

#include "sinter/codegen/Compile.h"
#include "sinter/core/executable.h"
#include "sinter/session.h"

#include <memory>
#include <string>
#include <vector>

namespace sinter::detail {

/// A compiled module in the place where it runs.
struct Loaded {
  std::shared_ptr<const rt::Program> program;
  std::vector<sinter_kernel> kernels;          ///< on the CPU, one a kernel of the program
  std::vector<rt::DeviceKernel> deviceKernels; ///< on a device, likewise
  std::shared_ptr<void> code;                  ///< owns the kernels
  codegen::CompileStats stats;
};

/// One to a session.
class ComputeTarget {
public:
  virtual ~ComputeTarget() = default;

  /// Compiles `module` (consumed) with `options`, whose device is the target's to choose, and the
  /// vendor unless it is "none". A failure of the compiler has been reported as a diagnostic; one
  /// to load throws Error.
  virtual llvm::FailureOr<Loaded> load(mlir::ModuleOp module, codegen::CompileOptions options) = 0;
  /// After the library refused a call that it was thought to take: whether the step can do without
  /// it. `reason` is told to the user.
  virtual bool allowsNoLibrary(const std::string &reason) { return (void)reason, false; }
  /// What the target itself measured, as text.
  virtual std::string report() const { return {}; }

  std::shared_ptr<rt::DeviceVariables> device;      ///< null: the CPU
  std::shared_ptr<rt::DeviceLibrary> deviceLibrary; ///< null: none
  const rt::LibraryProvider *library = nullptr;     ///< the CPU's, null: none
};

/// Throws Error if the device is not there, or the options do not fit it.
std::unique_ptr<ComputeTarget> makeTarget(const Options &options);
/// For "cuda" and "cuda:N".
std::unique_ptr<ComputeTarget> makeCudaTarget(const Options &options);

} // namespace sinter::detail
