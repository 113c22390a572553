// The search for the first NaN or infinity of a step, behind Hooks::checkNumerics.
#pragma once

#include "shape_plan.h"

#include <optional>
#include <string>
#include <vector>

namespace sinter::rt {

/// "NaN at [3, 5]"; nothing if all is finite or the array has no floats.
std::optional<std::string> firstNonFinite(const Array &array);

/// Remembers what a command reads, so that it can be shown although the command
/// may overwrite it, then looks at what it wrote.
class NumericsCheck {
public:
  NumericsCheck(const Entry &entry, const ShapePlan &plan, const Step &step);
  /// After the command ran.
  std::optional<NumericsFailure> find() const;

private:
  std::vector<Array> inputs, outputs;
};

} // namespace sinter::rt
