// What an executable has on a device: its variables, constants, arena and ports there, and the
// work it gives the device.
//
// The host's variables stay the ones that everybody reads: a run copies those it uses to the device
// before and those it wrote back after, so that sessions, checkpoints and other executables need
// not know of the device. Belongs to one Executable; refers to its program and the device.
#pragma once

#include "shape_plan.h"

#include "sinter/core/device.h"

#include <vector>

namespace sinter::rt {

class DeviceSide {
public:
  static StatusOr<std::unique_ptr<DeviceSide>> create(Device &device, const Program &program,
                                                      const Entry &entry,
                                                      std::vector<DeviceKernel> kernels,
                                                      VariableStore &variables);
  ~DeviceSide();

  /// Tells the planner where variables and constants are.
  void place(ShapePlanner &planner) const;
  /// Makes room for the plan's arena and ports, and points its operands there.
  Status attach(const ShapePlanner &planner, ShapePlan &plan);

  /// Enqueues the copies of variables and inputs to the device.
  Status begin(std::span<const Argument> inputs);
  Status execute(const ShapePlanner &planner, const ShapePlan &plan, const Step &step);
  /// Copies outputs and written variables back, and waits.
  Status end(std::span<const Argument> outputs);
  /// Waits, and hands the value of a probe's buffer to the host.
  StatusOr<Array> download(const void *from, DType dtype, const Dims &dims,
                           const WorkOrigin &origin);
  Status synchronize() { return device.synchronize(); }

private:
  /// Device memory that grows to the largest need.
  struct Block {
    void *data = nullptr;
    int64_t bytes = 0;
  };
  struct Mirror {
    std::byte *host = nullptr;
    Block block;
    bool isRead = false, isWritten = false;
  };

  DeviceSide(Device &device, const Program &program, const Entry &entry,
             std::vector<DeviceKernel> kernels)
      : device(device), program(program), entry(entry), kernels(std::move(kernels)) {}
  Status findVariables(VariableStore &store);
  Status placeConstants();
  Status grow(Block &block, int64_t bytes, const WorkOrigin &origin);
  WorkOrigin owner(std::string_view name) const { return {name, ""}; }
  void describe(const ShapePlan &plan, const Step &step);
  Status launch(const ShapePlanner &planner, const ShapePlan &plan, const Step &step);

  Device &device;
  const Program &program;
  const Entry &entry;
  std::vector<DeviceKernel> kernels;
  std::vector<Mirror> variables;       ///< one a Variable
  std::vector<Block> constants, ports; ///< ports: inputs, then outputs
  Block arena;
  uint64_t growths = 1; ///< changes when an address did
  std::vector<void *> params;
  std::vector<DeviceBuffer> described;
};

} // namespace sinter::rt
