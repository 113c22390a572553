// Behind the C interface of an artifact: what is known of an image, and an
// instance of it. See sinter/abi/artifact.h for threads and ownership.
#pragma once

#include "sinter/core/artifact_device.h"
#include "sinter/core/executable.h"
#include "sinter/core/safetensors.h"

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::rt {

/// The table of C functions, without an image.
const sinter_artifact_api &artifactFunctions();

/// An image that was opened: its table, and its program, parsed on first use.
/// Lives until the process or the shared object ends.
class Artifact : public sinter_artifact_api {
public:
  explicit Artifact(const sinter_artifact_image *image);
  static Artifact &of(const sinter_artifact_api *api) {
    return *static_cast<Artifact *>(const_cast<sinter_artifact_api *>(api));
  }

  /// Parses the program unless that was done; the same result every time. The
  /// members below are empty before it and constant after it.
  Status open();
  /// Whether a device runs it, not the CPU.
  bool isForDevice() const { return image->open_device != nullptr; }
  /// The variant named `isa`, or the best for this CPU if null. Null for a device's artifact.
  StatusOr<const sinter_kernel_variant *> chooseVariant(const char *isa) const;
  std::span<const sinter_kernel_variant> variants() const {
    return {image->variants, image->variant_count};
  }
  /// What there is to choose from: instruction sets, or forms of a device's code, "sm_90 cubin".
  const std::vector<std::string> &variantNames() const { return names; }
  /// The folder of the shared object or program that holds the image, with "/".
  std::string folder() const;

  struct Port : sinter_port {
    std::vector<sinter_dim> storage;
  };
  struct EntryPorts {
    std::vector<Port> inputs, outputs;
  };
  std::shared_ptr<const Program> program;
  std::vector<EntryPorts> ports; ///< one an entry
  std::vector<sinter_variable> variables;

private:
  Status parse();
  std::vector<Port> describe(const std::vector<rt::Port> &ports);

  std::vector<std::string> names;
  std::once_flag once;
  Status parsed;
  std::deque<std::string> formulas; ///< of composite dimensions; stable addresses
};

} // namespace sinter::rt

/// One set of variables and memory, and the entries compiled over them.
struct sinter_instance {
  using Status = sinter::Status;

  static sinter::StatusOr<std::unique_ptr<sinter_instance>> create(sinter::rt::Artifact &artifact,
                                                                   const sinter_options &options);

  sinter::StatusOr<sinter::rt::Executable *> executable(int32_t entry);
  Status run(int32_t entry, std::span<const sinter_tensor> inputs,
             std::span<const sinter_tensor> outputs);
  Status outputDims(int32_t entry, std::span<const sinter_tensor> inputs, int32_t output,
                    std::span<int64_t> dims);
  Status getVariable(int32_t index, sinter_tensor &view);
  Status setVariable(int32_t index, const sinter_tensor &value);
  Status load(const std::string &path);
  Status profile(bool on);
  const char *memoryReport();

  sinter::rt::Artifact &artifact;
  const sinter_kernel_variant *variant; ///< null: it runs on `device`
  sinter_artifact_device device;
  std::string deviceName;
  std::shared_ptr<const void> weightsFile; ///< the mapping that variables borrow from
  sinter::rt::VariableStore variables;
  std::unique_ptr<sinter::rt::Profiler> profiler;
  std::string text; ///< of the report given out last

private:
  sinter_instance(sinter::rt::Artifact &artifact, const sinter_kernel_variant *variant,
                  int threads);
  Status openDevice(const char *name);
  Status initialiseVariables(const sinter_options &options);
  Status adopt(const sinter::rt::Safetensors &weights, std::string_view origin, bool mayBorrow);
  Status assign(sinter::rt::StoredVariable &variable, const void *data);
  Status setArguments(std::span<const sinter_tensor> tensors, std::string_view what,
                      std::vector<sinter::rt::Argument> &arguments);

  sinter::rt::ThreadPool pool;
  std::shared_ptr<sinter::rt::Workspace> workspace;
  std::shared_ptr<sinter::rt::DeviceVariables> deviceVariables;     ///< null: the CPU
  std::vector<std::unique_ptr<sinter::rt::Executable>> executables; ///< made on first use
  std::vector<sinter::rt::StoredVariable *> byIndex;
  std::vector<bool> mapped; ///< by index: lies in the read-only mapping
  std::vector<sinter::rt::Argument> inputArguments, outputArguments;
};
