// Between the DSL's types and the dialect's: element types, symbolic dimensions, shapes, source
// lines. Errors of a user's making are raised here and in Call; both throw only where no MLIR
// frame is on the stack.
#pragma once

#include "sinter/base/error.h"
#include "sinter/ir/DType.h"
#include "sinter/ir/Shape.h"
#include "sinter/types.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <sstream>
#include <string>
#include <vector>

namespace sinter::detail {

struct DimNode {
  enum class Kind { Number, Symbol, Add, Mul, FloorDiv, CeilDiv, Mod };
  Kind kind = Kind::Number;
  int64_t number = 0;
  std::string name; ///< of a Symbol, with its bounds
  int64_t lower = 1, upper = -1;
  std::shared_ptr<const DimNode> a, b;
};

/// The symbols of a module: s0 is the first.
class Symbols {
public:
  explicit Symbols(mlir::MLIRContext &context) : context(context) {}
  /// With `declare`, a new symbol is added; else it is an Error.
  mlir::AffineExpr expr(const Dim &dim, bool declare, Where at);
  ir::Dims dims(const Shape &shape, bool declare, Where at);
  Dim dim(mlir::AffineExpr expr) const;
  Shape shape(mlir::Type type) const;
  /// The value of `sinter.symbols`.
  mlir::ArrayAttr attribute() const;
  bool empty() const { return list.empty(); }

private:
  mlir::AffineExpr expr(const DimNode &node, bool declare, Where at);
  mlir::MLIRContext &context;
  std::vector<std::shared_ptr<const DimNode>> list;
};

using ir::dtypeOf;
using ir::elementType;
mlir::RankedTensorType tensorType(mlir::MLIRContext &context, DType dtype,
                                  const std::vector<int64_t> &dims);

std::string placeOf(Where at);                            ///< "train.cc:31"
std::string str(mlir::Type type, const Symbols &symbols); ///< "f32[n, 784]"

template <class... Parts> std::string text(const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return std::move(stream).str();
}
/// Throws "train.cc:31: message".
template <class... Parts> [[noreturn]] void fail(Where at, const Parts &...parts) {
  throw Error(text(placeOf(at), ": ", parts...));
}
/// Position from 0 of an axis that may be negative; Error if it is out of range.
int64_t axisOf(int64_t axis, int64_t rank, const char *op, Where at);

} // namespace sinter::detail
