// Variables to and from safetensors, with one report of all that does not fit.
#pragma once

#include "session/State.h"
#include "sinter/core/safetensors.h"
#include "sinter/module.h"

#include <vector>

namespace sinter::detail {

/// A name a file may have, and the variable it sets.
struct Target {
  std::string name;
  std::shared_ptr<VariableState> variable;
};

rt::TensorView viewOf(const std::string &name, const Array &array);
/// Throws Error with the status' message unless it is ok.
void check(const Status &status);

/// All living variables of a session, by name; the random state is among them.
std::vector<Target> targetsOf(SessionState &session);
std::vector<rt::TensorView> viewsOf(SessionState &session);

/// Sets variables from the tensors of a file; `path` names it in the report.
LoadReport applyWeights(const rt::Safetensors &file, const std::string &path,
                        const std::vector<Target> &targets, const LoadOptions &options, Where at);
LoadReport loadWeights(const std::string &path, const std::vector<Target> &targets,
                       const LoadOptions &options, Where at);

/// `*` stands for any text, `?` for one character.
bool matches(std::string_view glob, std::string_view name);

} // namespace sinter::detail
