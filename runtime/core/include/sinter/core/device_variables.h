// The copies of a store's variables on one device, which the executables that run there share.
//
// A variable is copied to the device when the host has newer contents, and back when the host wants
// to see them (StoredVariable::read), so that steps that follow each other copy nothing. One caller
// at a time, like the device; the store outlives all use but the destructor.
#pragma once

#include "sinter/core/device.h"
#include "sinter/core/variable_store.h"

#include <memory>
#include <unordered_map>

namespace sinter::rt {

class DeviceVariables final : public VariableHolder,
                              public std::enable_shared_from_this<DeviceVariables> {
public:
  static std::shared_ptr<DeviceVariables> create(std::shared_ptr<Device> device) {
    return std::shared_ptr<DeviceVariables>(new DeviceVariables(std::move(device)));
  }
  ~DeviceVariables() override;

  Device &device() const { return *owner; }
  /// The variable's place on the device, the same for good.
  StatusOr<void *> place(StoredVariable &variable);
  /// Enqueues a copy to the device if its contents are old.
  Status update(StoredVariable &variable);
  /// Work was or is about to be enqueued that changes the copy.
  void changed(StoredVariable &variable);
  Status fetch(StoredVariable &variable) override;

private:
  struct Copy {
    void *data = nullptr;
    uint64_t version = 0; ///< of the variable that it is
  };

  explicit DeviceVariables(std::shared_ptr<Device> device) : owner(std::move(device)) {}

  std::shared_ptr<Device> owner;
  std::unordered_map<const StoredVariable *, Copy> copies;
};

} // namespace sinter::rt
