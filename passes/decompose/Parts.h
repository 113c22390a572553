// Replacing an op by its parts, for passes that need it gone.
#pragma once

#include "sinter/ir/Dialect.h"

namespace sinter::passes {

/// Builds the parts of `op` in its place and erases it.
void replaceByParts(ir::DecomposableOpInterface op);

} // namespace sinter::passes
