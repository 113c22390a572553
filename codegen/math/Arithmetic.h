// What the expansions of mathematical functions are written with.
#pragma once

#include "sinter/ir/Expr.h"

#include "mlir/Dialect/Math/IR/Math.h"

namespace sinter::codegen {

/// x * y + z, rounded once.
inline ir::ScalarExpr fma(const ir::ScalarExpr &x, const ir::ScalarExpr &y,
                          const ir::ScalarExpr &z) {
  return x.with(mlir::math::FmaOp::create(x.builder, x.loc, x.value, y.value, z.value));
}
inline ir::ScalarExpr fma(const ir::ScalarExpr &x, double y, const ir::ScalarExpr &z) {
  return fma(x, x.constant(y), z);
}

/// A polynomial in x, the coefficient of its highest power first.
inline ir::ScalarExpr polynomial(const ir::ScalarExpr &x, llvm::ArrayRef<double> coefficients) {
  ir::ScalarExpr first = x.constant(coefficients.front());
  mlir::Value sum = first.value;
  for (double coefficient : coefficients.drop_front())
    sum = fma(x.with(sum), x, x.constant(coefficient)).value;
  return x.with(sum);
}

/// `Op`, a conversion, to `element` or a vector of it.
template <class Op> ir::ScalarExpr convert(const ir::ScalarExpr &x, mlir::Type element) {
  mlir::Type type = element;
  if (auto vector = llvm::dyn_cast<mlir::VectorType>(x.value.getType()))
    type = vector.clone(element);
  return x.with(Op::create(x.builder, x.loc, type, x.value));
}

inline ir::ScalarExpr copySign(const ir::ScalarExpr &size, const ir::ScalarExpr &sign) {
  return size.with(mlir::math::CopySignOp::create(size.builder, size.loc, size.value, sign.value));
}

} // namespace sinter::codegen
