// How codegen asks an op for one element (or a vector of neighbouring elements) of its result.
//
// An Index is affine in the vector lane: value of lane l = base + l * step. The op maps result
// indices to operand indices and computes the element from the operands' elements; it never knows
// whether those are loaded or computed in place.
#pragma once

#include "sinter/ir/Shape.h"

#include "mlir/IR/Builders.h"

namespace sinter::ir {

struct Index {
  mlir::Value base; ///< of type index
  int64_t step = 0; ///< distance between lanes
};

struct ScalarExpr;

/// Where operand elements come from and code goes. Elements have the compute type of their tensor:
/// f32 for f16 and bf16, i1 for bool, signless integers, wrapped in a vector when lanes() > 1.
class ElementSource {
public:
  ElementSource(mlir::OpBuilder &builder, mlir::Location loc) : b(builder), loc(loc) {}
  virtual ~ElementSource() = default;

  /// The element of operand `operand` of the op being emitted.
  virtual mlir::Value element(unsigned operand, llvm::ArrayRef<Index> at) = 0;
  /// Size of a dimension, as an index value.
  virtual mlir::Value dim(mlir::AffineExpr size) = 0;
  virtual int64_t lanes() const = 0;

  /// The operand's element as an expression that knows whether its integers are unsigned.
  ScalarExpr expr(unsigned operand, llvm::ArrayRef<Index> at);
  virtual mlir::Value operandValue(unsigned operand) = 0; ///< the tensor, for its type

  /// Constants of type index.
  mlir::Value index(int64_t value);
  Index at(int64_t value) { return {index(value), 0}; }
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  Index add(Index a, int64_t b);
  /// `type` or, with lanes, a vector of it.
  mlir::Type laneType(mlir::Type type) const;
  /// A constant of the compute type of `element`, in every lane.
  mlir::Value number(double value, mlir::Type element);
  /// The index itself as i64 (a vector when it moves with the lanes or lanes() > 1).
  mlir::Value asInteger(Index index);
  /// in range: 0 <= index < size, as i1; the index must not move with the lanes unless lanes()
  /// is 1.
  mlir::Value inRange(mlir::Value index, mlir::Value size);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

/// The type an element is computed in: f16, bf16 -> f32; ui8 -> i8; others unchanged.
mlir::Type computeType(mlir::Type element);

/// Sizes of a contraction, see ContractionOpInterface.
struct ContractionSizes {
  mlir::AffineExpr batch, m, n, k;
};

} // namespace sinter::ir
