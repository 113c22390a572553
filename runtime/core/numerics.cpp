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

StatusOr<NumericsCheck> NumericsCheck::begin(const Entry &entry, const ShapePlan &plan,
                                             const Step &step, const ReadOperand &read) {
  NumericsCheck check;
  const Command &command = entry.commands[step.command];
  auto operand = [&](size_t i) -> Operand {
    Index buffer = command.buffers[i];
    return {step.buffers[i], entry.buffers[buffer].dtype, plan.bufferDims[buffer]};
  };
  for (size_t i = 0; i < command.buffers.size(); ++i)
    if (writesOperand(command, i))
      check.outputs.push_back(operand(i));
  auto overlapsOutput = [&](const Array &array, const void *data) {
    auto first = static_cast<const std::byte *>(data), end = first + array.bytes();
    return std::any_of(check.outputs.begin(), check.outputs.end(), [&](const Operand &output) {
      auto *begin = static_cast<const std::byte *>(output.data);
      auto bytes = elementCount(output.dims) * int64_t(byteSize(output.dtype));
      return first < begin + bytes && begin < end;
    });
  };
  for (size_t i = 0; i < command.buffers.size(); ++i) {
    if (writesOperand(command, i))
      continue;
    Operand input = operand(i);
    StatusOr<Array> value = read(input.data, input.dtype, input.dims);
    if (!value.ok())
      return value.status();
    bool isLost = value->data() == input.data && overlapsOutput(*value, input.data);
    check.inputs.push_back(isLost ? value->clone() : *value);
  }
  return check;
}

StatusOr<std::optional<NumericsFailure>> NumericsCheck::find(const ReadOperand &read) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    StatusOr<Array> output = read(outputs[i].data, outputs[i].dtype, outputs[i].dims);
    if (!output.ok())
      return output.status();
    if (auto found = firstNonFinite(*output))
      return std::optional(NumericsFailure{
          {}, concat(*found, " of output ", i, ", ", output->type()), inputs, *output});
  }
  return std::optional<NumericsFailure>();
}

} // namespace sinter::rt
