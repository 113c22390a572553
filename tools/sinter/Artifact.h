// An artifact loaded into this process, through its C interface alone. Never unloaded: its table
// and strings stay valid. One thread.
#pragma once

#include "sinter/abi/artifact.h"
#include "sinter/base/status.h"
#include "sinter/core/program.h"

#include <memory>
#include <string>

namespace sinter::tools {

/// Whether the file begins as ELF files do.
bool isElf(const std::string &path);

/// The table of the artifact at `path`, an error if it is none or another release's.
StatusOr<const sinter_artifact_api *> loadArtifact(const std::string &path);
/// The command list inside.
StatusOr<rt::Program> programOf(const sinter_artifact_api *api);

/// An instance with all that it was created from.
struct InstanceDeleter {
  const sinter_artifact_api *api;
  void operator()(sinter_instance *instance) const { api->destroy(instance); }
};
using Instance = std::unique_ptr<sinter_instance, InstanceDeleter>;
StatusOr<Instance> createInstance(const sinter_artifact_api *api, const sinter_options &options);

/// The error that the artifact reported last on this thread.
Status lastError(const sinter_artifact_api *api, int code);

} // namespace sinter::tools
