// The search for the first NaN or infinity of a step, behind Hooks::checkNumerics.
#pragma once

#include "shape_plan.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sinter::rt {

/// "NaN at [3, 5]"; nothing if all is finite or the array has no floats.
std::optional<std::string> firstNonFinite(const Array &array);

/// The contents of a command's operand: the memory itself on the CPU, a copy of a device's.
using ReadOperand = std::function<StatusOr<Array>(void *data, DType dtype, const Dims &dims)>;

/// Remembers what a command reads, so that it can be shown although the command
/// may overwrite it, then looks at what it wrote.
class NumericsCheck {
public:
  /// Before the command runs.
  static StatusOr<NumericsCheck> begin(const Entry &entry, const ShapePlan &plan, const Step &step,
                                       const ReadOperand &read);
  /// After it ran; no failure if all is finite.
  StatusOr<std::optional<NumericsFailure>> find(const ReadOperand &read) const;

private:
  struct Operand {
    void *data;
    DType dtype;
    Dims dims;
  };
  std::vector<Array> inputs;
  std::vector<Operand> outputs;
};

} // namespace sinter::rt
