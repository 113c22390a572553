#include "sinter/core/device_variables.h"

#include <algorithm>

namespace sinter::rt {

DeviceVariables::~DeviceVariables() {
  for (auto &[variable, copy] : copies)
    owner->free(copy.data);
}

StatusOr<void *> DeviceVariables::place(StoredVariable &variable) {
  Copy &copy = copies[&variable];
  if (copy.data)
    return copy.data;
  StatusOr<void *> memory =
      owner->allocate(size_t(std::max<int64_t>(variable.bytes(), 1)), {variable.name, ""});
  if (memory.ok())
    copy.data = *memory;
  return memory;
}

Status DeviceVariables::update(StoredVariable &variable) {
  Copy &copy = copies[&variable];
  if (copy.version == variable.version())
    return {};
  StatusOr<Array> value = variable.read(); // from another device, if that has it
  if (!value.ok())
    return value.status();
  if (value->bytes())
    SINTER_RETURN_IF_ERROR(
        owner->copyToDevice(copy.data, value->data(), size_t(value->bytes()), {variable.name, ""}));
  copy.version = variable.version();
  return {};
}

void DeviceVariables::changed(StoredVariable &variable) {
  variable.changed(shared_from_this());
  copies[&variable].version = variable.version();
}

Status DeviceVariables::fetch(StoredVariable &variable) {
  const Array &home = variable.storage();
  if (home.bytes())
    SINTER_RETURN_IF_ERROR(owner->copyToHost(home.data(), copies[&variable].data,
                                             size_t(home.bytes()), {variable.name, ""}));
  return owner->synchronize();
}

} // namespace sinter::rt
