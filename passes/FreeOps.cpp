#include "FreeOps.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

Dims withoutOnes(ArrayRef<AffineExpr> dims) {
  Dims result;
  llvm::copy_if(dims, std::back_inserter(result), [](AffineExpr dim) { return !isOne(dim); });
  return result;
}

bool isUnitReshape(Operation *op) {
  auto reshape = dyn_cast<ReshapeOp>(op);
  return reshape && withoutOnes(dimsOf(reshape.getX())) == withoutOnes(dimsOf(reshape.getY()));
}

bool isFree(Operation *op) { return isa<FullOp, ExpandOp>(op) || isUnitReshape(op); }

} // namespace sinter::passes
