// Fitting the tensors of a weights file to the variables of a program.
// Plain functions; any thread.
#pragma once

#include "sinter/core/program.h"
#include "sinter/core/safetensors.h"
#include "sinter/core/variable_store.h"

#include <span>
#include <string_view>
#include <vector>

namespace sinter::rt {

/// One tensor a variable, in order. The error lists every variable that is
/// missing (with the nearest name there is) or of another type. Tensors that no
/// variable asks for are left out. `origin` names the file in errors.
StatusOr<std::vector<const TensorView *>> fitWeights(std::span<const Variable> variables,
                                                     const Safetensors &weights,
                                                     std::string_view origin);

/// Writes every variable of the store; whole or not at all.
Status saveWeights(const std::string &path, VariableStore &variables, const TextMap &metadata = {});

/// A variable that commands read or write.
struct VariableUse {
  Index slot; ///< in Program::variables
  bool written;
};

/// Those of one entry's commands, by slot.
std::vector<VariableUse> usedVariables(const Program &program, const Entry &entry);
/// One flag a variable: some command of the program writes to it.
std::vector<bool> writtenVariables(const Program &program);

} // namespace sinter::rt
