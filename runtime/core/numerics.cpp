#include "numerics.h"

#include "sinter/base/text.h"

#include <algorithm>
#include <cmath>

namespace sinter::rt {

std::optional<std::string> firstNonFinite(const Array &array) {
  if (!isFloat(array.dtype()))
    return std::nullopt;
  for (int64_t i = 0; i < array.elements(); ++i) {
    double value = array.floatAt(i);
    if (std::isfinite(value))
      continue;
    Dims at(array.dims().size());
    int64_t rest = i;
    for (size_t axis = at.size(); axis-- > 0; rest /= array.dims()[axis])
      at[axis] = rest % array.dims()[axis];
    return concat(std::isnan(value) ? "NaN" : value < 0 ? "-inf" : "inf", " at ", formatShape(at));
  }
  return std::nullopt;
}

static bool overlap(const Array &a, const Array &b) {
  auto *firstA = static_cast<std::byte *>(a.data()), *firstB = static_cast<std::byte *>(b.data());
  return firstA < firstB + b.bytes() && firstB < firstA + a.bytes();
}

NumericsCheck::NumericsCheck(const Entry &entry, const ShapePlan &plan, const Step &step) {
  const Command &command = entry.commands[step.command];
  for (size_t i = 0; i < command.buffers.size(); ++i) {
    Index buffer = command.buffers[i];
    Array array =
        Array::borrow(step.buffers[i], entry.buffers[buffer].dtype, plan.bufferDims[buffer]);
    (writesOperand(command, i) ? outputs : inputs).push_back(std::move(array));
  }
  for (Array &input : inputs)
    if (std::any_of(outputs.begin(), outputs.end(),
                    [&](const Array &output) { return overlap(input, output); }))
      input = input.clone();
}

std::optional<NumericsFailure> NumericsCheck::find() const {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (auto found = firstNonFinite(outputs[i]))
      return NumericsFailure{
          {}, concat(*found, " of output ", i, ", ", outputs[i].type()), inputs, outputs[i]};
  return std::nullopt;
}

} // namespace sinter::rt
