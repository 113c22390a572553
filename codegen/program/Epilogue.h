// What a contraction group asks of a vendor library, and what it costs.
#pragma once

#include "sinter/core/program.h"
#include "sinter/ir/Dialect.h"

namespace sinter::codegen {

struct LibraryEpilogue {
  ir::ContractionOpInterface contraction;
  std::vector<rt::PostOp> postOps;
  llvm::SmallVector<mlir::Value> operands; ///< block arguments of the group, one a Bias or Add
};

/// The group as a contraction followed by post-ops of the library; nullopt where it is something
/// else.
std::optional<LibraryEpilogue> libraryEpilogue(ir::GroupOp group);
/// Whether a generated kernel beats a library call: tiny products, where the call itself costs more
/// than the work.
bool prefersGenerated(ir::GroupOp group);
/// Floating-point operations of a contraction group; null for others.
mlir::AffineExpr contractionFlops(ir::GroupOp group);
/// The bytes of a constant, row-major, bools one byte each.
std::vector<std::byte> constantBytes(ir::ConstantOp constant);

} // namespace sinter::codegen
