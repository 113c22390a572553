// What CUDA kernels move, counted on the emulated card, and what the assembler says of them. The
// benchmark `kernels` prints it and tests/codegen/kernel_quality_test.cpp holds it to its bars;
// docs/kernels.md tells how to read it.
#pragma once

#include "sinter/core/program.h"
#include "sinter/emu/counts.h"

#include <optional>
#include <string>
#include <vector>

namespace bench {

/// A function whose kernels are looked at, as the DSL exports it.
struct KernelCase {
  std::string name;
  std::string graph;        ///< a module of one function with constant shapes
  int64_t indexLimit = 256; ///< integer inputs hold all numbers below it, in no order
};

struct KernelFigures {
  std::string name;                ///< of the case, of the command and of the kernel
  sinter::rt::KernelCounts counts; ///< of one run
  double seconds = 0;              ///< the least that an H200 takes (sinter::rt::roofline)
  /// Bytes of stack and spills a thread, of sm_80 and sm_90 the worse; none: there is no ptxas.
  std::optional<int64_t> spills;
};

/// Buffers up to so many bytes are taken to stay in the cache while a kernel runs. Cases are 1/64
/// of what they stand for, so that they take seconds: tensors are 4 MiB, and this is the power of
/// two below 1/64 of an H200's L2.
inline constexpr uint64_t kKeptBytes = uint64_t(1) << 19;

/// Named kernels at sizes past the cache.
std::vector<KernelCase> kernelCases();
/// A training step with AdamW of the MNIST CNN and of the transformer of tests/frontend.
KernelCase cnnStep(int64_t batch);
KernelCase transformerStep(int64_t batch);

/// Compiles a case, runs it once on the emulated card and counts, one entry a kernel in order of
/// launch. Throws sinter::Error with the compiler's or the device's message.
std::vector<KernelFigures> measure(const KernelCase &what, bool assembled = true);

} // namespace bench
