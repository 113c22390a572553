// Passes over the sinter dialect, one create function each (see Passes.td), and their registration
// for sinter-opt.
#pragma once

#include "sinter/ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace sinter::passes {

#define GEN_PASS_DECL
#include "sinter/passes/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "sinter/passes/Passes.h.inc"

} // namespace sinter::passes
