// What an executable has on a device: constants, arena and ports there, and the work it gives the
// device. The variables' copies are the session's (device_variables.h). Belongs to one Executable,
// refers to its program.
#pragma once

#include "shape_plan.h"

#include "sinter/core/device_variables.h"

#include <vector>

namespace sinter::rt {

class DeviceSide {
public:
  static StatusOr<std::unique_ptr<DeviceSide>> create(std::shared_ptr<DeviceVariables> copies,
                                                      const Program &program, const Entry &entry,
                                                      std::vector<DeviceKernel> kernels,
                                                      VariableStore &variables);
  ~DeviceSide();

  /// Tells the planner where variables and constants are.
  void place(ShapePlanner &planner) const;
  /// Makes room for the plan's arena, scratch and ports, and points its operands there.
  Status attach(const ShapePlanner &planner, ShapePlan &plan);

  /// Enqueues the copies of inputs, and of variables that are old there, to the device.
  Status begin(std::span<const Argument> inputs);
  Status execute(const ShapePlanner &planner, const ShapePlan &plan, const Step &step);
  /// Has the device do what `enqueue` executes, recorded from the plan's second run on.
  Status replay(ShapePlan &plan, FunctionRef<Status()> enqueue);
  /// Enqueues the copies of outputs to the host.
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
  /// A variable that the entry uses.
  struct Used {
    Index slot; ///< in the program's table
    StoredVariable *variable;
    bool isWritten = false;
    void *data = nullptr;
  };

  DeviceSide(std::shared_ptr<DeviceVariables> copies, const Program &program, const Entry &entry,
             std::vector<DeviceKernel> kernels)
      : copies(std::move(copies)), device(this->copies->device()), program(program), entry(entry),
        kernels(std::move(kernels)) {}
  Status findVariables(VariableStore &store);
  Status placeConstants();
  Status grow(Block &block, int64_t bytes, const WorkOrigin &origin);
  WorkOrigin owner(std::string_view name) const { return {name, ""}; }
  void describe(const ShapePlan &plan, const Step &step);
  Status launch(const ShapePlanner &planner, const ShapePlan &plan, const Step &step);

  std::shared_ptr<DeviceVariables> copies;
  Device &device;
  const Program &program;
  const Entry &entry;
  std::vector<DeviceKernel> kernels;
  std::vector<Used> variables;
  std::vector<Block> constants, ports; ///< ports: inputs, then outputs
  Block arena, scratch;
  uint64_t growths = 1; ///< changes when an address did
  std::vector<void *> params;
  std::vector<DeviceBuffer> described;
};

} // namespace sinter::rt
