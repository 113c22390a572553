// Runs one entry of a Program: checks the caller's arrays, plans the arena for
// their shapes, and walks the command list.
//
// An Executable shares the Program, the workspace and the process's kernels, and
// refers to a VariableStore and a ThreadPool that must outlive it. One caller at
// a time; several executables are independent unless they share a workspace or
// write the same variables.
//
// What depends on shapes is computed once for each assignment of the symbolic
// dimensions and kept for the `Options::cachedShapes` used last. A call with a
// kept shape allocates nothing, takes no lock and, for commands of one task,
// costs some nanoseconds a command.
#pragma once

#include "sinter/abi/kernel.h"
#include "sinter/core/array.h"
#include "sinter/core/device_variables.h"
#include "sinter/core/library.h"
#include "sinter/core/profiler.h"
#include "sinter/core/program.h"
#include "sinter/core/thread_pool.h"
#include "sinter/core/variable_store.h"
#include "sinter/core/workspace.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::rt {

/// An array of the caller's, dense and row-major, aligned to its element.
struct Argument {
  Argument() = default;
  Argument(void *data, DType dtype, std::span<const int64_t> dims)
      : data(data), dtype(dtype), dims(dims) {}
  Argument(const Array &array) : Argument(array.data(), array.dtype(), array.dims()) {}

  void *data = nullptr; ///< an input is only read
  DType dtype = DType::F32;
  std::span<const int64_t> dims;
};

/// What a hook learns of the command it was called for; valid during the call.
struct CommandInfo {
  std::string_view name, location, module;
};

/// The first NaN or infinity that a checked step produced.
struct NumericsFailure {
  CommandInfo command;       ///< the entry's name and no location, if an input had it already
  std::string what;          ///< "NaN at [3, 5] of output 0, f32[64, 10]"
  std::vector<Array> inputs; ///< as the command read them
  Array output;
};

/// Debugging aids; all off by default and then without cost.
struct Hooks {
  Profiler *profiler = nullptr;
  /// Receives the value of each Probe command.
  std::function<void(const CommandInfo &, const Array &)> probe = {};
  /// Look at every float a command writes; the first NaN or infinity ends the run.
  bool checkNumerics = false;
  /// May save what the failure shows; the returned text joins the error message.
  std::function<std::string(const NumericsFailure &)> onNumericsFailure = {};
};

class Executable {
public:
  struct Options {
    std::shared_ptr<Workspace> workspace; ///< null: an own one
    size_t cachedShapes = 16;
    /// The device where commands run, with the copies of `variables` there; null: the CPU. Then
    /// `deviceKernels` has one an entry of the program's table, `kernels` is empty, and library
    /// calls are `deviceLibrary`'s, which may be null where the entry makes none.
    std::shared_ptr<DeviceVariables> device = {};
    std::vector<DeviceKernel> deviceKernels = {};
    std::shared_ptr<DeviceLibrary> deviceLibrary = {};
  };

  /// `kernels`: one function a Program kernel. `library` may be null if the
  /// entry makes no library call. Every variable of the program must be in the
  /// store with its type. An entry without symbolic dimensions is planned here.
  static StatusOr<std::unique_ptr<Executable>>
  create(std::shared_ptr<const Program> program, Index entry, std::vector<sinter_kernel> kernels,
         VariableStore &variables, ThreadPool &pool, const LibraryProvider *library,
         Options options);
  static StatusOr<std::unique_ptr<Executable>>
  create(std::shared_ptr<const Program> program, Index entry, std::vector<sinter_kernel> kernels,
         VariableStore &variables, ThreadPool &pool, const LibraryProvider *library = nullptr) {
    return create(std::move(program), entry, std::move(kernels), variables, pool, library,
                  Options());
  }
  ~Executable();

  /// Runs the entry from `inputs` into `outputs`, which must not overlap. Errors
  /// name the port, what it takes and what it got; nothing was run then. Only a failure of the
  /// library or of check-numerics stops a step halfway, with variables as they then are.
  Status run(std::span<const Argument> inputs, std::span<const Argument> outputs);
  /// As `run`, with new arrays for the outputs.
  StatusOr<std::vector<Array>> call(std::span<const Array> inputs);
  /// The outputs' dimensions for inputs of these types (data may be null), one
  /// an output; valid until the next call.
  StatusOr<std::span<const Dims>> outputDims(std::span<const Argument> inputs);

  void setHooks(Hooks hooks);
  const Program &program() const;
  const Entry &entry() const;
  /// Bytes by kind and the owners of the arena for the shapes used last.
  std::string memoryReport() const;

private:
  struct Impl;
  explicit Executable(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// The type of a port with its symbols, "f32[n, 1, 28, 28]".
std::string formatPort(const Program &program, const Port &port);
/// "n", "2 * n + 1", "ceil(n / 4)" …
std::string formatExpr(const Program &program, Index expr);

} // namespace sinter::rt
