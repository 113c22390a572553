// From a traced module to something that runs: the one door to the compiler for the DSL and the
// tools.
#pragma once

#include "sinter/abi/kernel.h"
#include "sinter/core/device.h"
#include "sinter/core/program.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sinter::codegen {

struct CompileOptions {
  /// "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16"; empty: the best this machine has.
  std::string isa;
  /// Where kernels run: "cpu", or "emu": CUDA kernels on the emulated device (runtime/emu). Real
  /// cards are compileCuda's (Cuda.h).
  std::string device = "cpu";
  /// emu: kernels report each access, which the device's checks and counts need.
  bool instrument = false;
  /// Vendor library for contractions where it supports them: "onednn" on the CPU; "nvidia"
  /// (cuBLASLt and cuDNN) or "cublaslt" (products alone) on cards; "none"; "auto": onednn on the
  /// CPU.
  std::string vendor = "auto";
  /// Cards: the same bits from the same step. False: scatters may add by atomics, in any order.
  bool deterministic = true;
  /// False: one naive kernel an op (the yardstick of the fusion tests).
  bool fuse = true;
  /// "after:<pass>" prints the IR after that pass to stderr, "all" after every one.
  std::vector<std::string> dumpIr;
  /// Prints each group and each refusal to fuse, with its reason, to stderr.
  bool printFusion = false;
  /// Verifies the IR after every pass.
  bool verifyEach = true;
};

struct CompileStats {
  int64_t ops = 0, groups = 0, kernels = 0, libraryCalls = 0;
  double seconds = 0, llvmSeconds = 0;
};

/// A compiled module: every public function is an entry of `program`.
struct JitImage {
  std::shared_ptr<const rt::Program> program;
  std::vector<sinter_kernel> kernels;          ///< cpu: one an entry of program->kernels
  std::vector<rt::DeviceKernel> deviceKernels; ///< emu: likewise; they refer to `program`
  std::shared_ptr<void> code;                  ///< owns the machine code
  CompileStats stats;
};

/// Registers the dialects that compile() needs. A context may compile many modules, one at a time.
void registerDialects(mlir::DialectRegistry &registry);

/// Runs the pipeline on `module` (consumed) and loads the code into this process. On failure a
/// diagnostic says why.
llvm::FailureOr<JitImage> compile(mlir::ModuleOp module, const CompileOptions &options);

/// The best ISA variant this machine runs.
std::string hostIsa();

} // namespace sinter::codegen
