// The inside of a module, for the layers and the tracer.
#pragma once

#include "session/State.h"
#include "sinter/module.h"

namespace sinter {

struct ModuleBase::Impl {
  std::shared_ptr<detail::SessionState> session;
  ModuleBase *parent = nullptr;
  std::string name, path, fullName;
  Where made;
  std::shared_ptr<detail::Flag> training = std::make_shared<detail::Flag>(detail::Flag{true});
  std::vector<ModuleBase *> children;
  std::vector<std::pair<std::string, Parameter *>> parameters; ///< buffers too
  std::shared_ptr<const std::map<std::string, Array>> values;  ///< initial ones, see Slot

  /// A name must be new among children and parameters.
  void checkName(const std::string &added, Where at) const;
  std::string pathOf(const std::string &member) const {
    return path.empty() ? member : path + "." + member;
  }
};

namespace detail {

/// The option's value; if it was not given (is not positive), an Error naming the layer.
int64_t required(const ModuleBase &layer, const char *option, int64_t value);

} // namespace detail
} // namespace sinter
