// How an access moves through memory when an index grows.
#pragma once

#include "ThreadKernel.h"

namespace sinter::codegen::cuda {

/// By how many elements the first load that `emit` makes moves when its index goes from 0 to 1,
/// other indices and unknown sizes being what they may be; nullopt where that can't be told. `emit`
/// writes code for a kernel over the group's inputs that is thrown away.
std::optional<int64_t>
strideOfLoad(ir::GroupOp group, unsigned symbols,
             llvm::function_ref<void(ThreadKernel &, mlir::Value index)> emit);

} // namespace sinter::codegen::cuda
