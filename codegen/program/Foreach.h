// Groups that do the same to each element of tensors of any shape, such as an optimizer's updates
// of all parameters, for targets that run several of them in one launch.
#pragma once

#include "sinter/ir/Dialect.h"

namespace sinter::codegen {

/// Whether every value in a pointwise group is a scalar or has the result's fixed shape, element by
/// element, so that its elements may be counted through whatever the shape is.
bool isElementwise(ir::GroupOp group);
/// Whether two such groups compute the same from their elements and scalars.
bool sameElementwise(ir::GroupOp a, ir::GroupOp b);

} // namespace sinter::codegen
