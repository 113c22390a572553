// A row of the conformance table: one op on inputs of given types and values.
#pragma once

#include "Ops.h"

#include "sinter/ir/Dialect.h"

#include <array>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace sinter::conformance {

using Random = std::mt19937_64;
/// Writes the values of an input.
using Fill = std::function<void(ir::ReferenceTensor &, Random &)>;

/// Within [lower, upper], away from the kinks a TableGen definition names.
Fill uniform(double lower, double upper, std::string kinks = "");
/// Whole numbers in [lower, upper].
Fill whole(int64_t lower, int64_t upper);
/// All different, spread over [lower, upper] in random order.
Fill distinct(double lower, double upper);
/// NaN, infinities, zeros of both signs, tiny and large values, or the extremes of an integer type;
/// value i is number i / `stride` of the list, so that two inputs with strides 1 and kSpecials meet
/// in all pairs.
Fill special(int64_t stride);
inline constexpr int64_t kSpecials = 10;
/// Given numbers, over and over.
Fill values(std::vector<double> numbers);

/// A size: a number, or a multiple of a symbol (of an argument: the symbol alone); see kSymbols.
struct Size {
  Size(int64_t number) : number(number) {}
  static Size symbol(int position, int64_t factor = 1) {
    Size size(factor);
    size.position = position;
    return size;
  }
  mlir::AffineExpr expr(mlir::MLIRContext *context) const;
  int64_t number;
  int position = -1;
};
using Shape = std::vector<Size>;
/// The symbols every test module declares, and the value each has when it runs.
struct SymbolValue {
  const char *name;
  int64_t lower, upper, value;
};
inline constexpr std::array<SymbolValue, 4> kSymbols = {
    {{"n", 2, 8, 5}, {"m", 1, 8, 3}, {"none", 0, 4, 0}, {"one", 1, 4, 1}}};
int64_t sizeOf(const Size &size);
int64_t sizeOf(const Shape &shape); ///< number of elements
/// Sizes of an image tensor, channels first or last.
inline Shape imageShape(bool last, Size n, Size c, Size h, Size w) {
  return last ? Shape{n, h, w, c} : Shape{n, c, h, w};
}
inline Size sym(int position, int64_t factor = 1) { return Size::symbol(position, factor); }

struct Input {
  mlir::RankedTensorType type;
  Fill fill;
  mlir::RankedTensorType
      expanded; ///< if set, sinter.expand widens the input to this before the op reads it
};

struct Row {
  std::string name;
  std::vector<Input> inputs;
  std::vector<mlir::NamedAttribute> attributes;
  std::vector<mlir::Type> results;        ///< empty: the op infers them
  std::vector<Input> carriers;            ///< arguments that only give symbols their values
  std::map<std::string, Input> variables; ///< by name, which the module prefixes
  double condition = 1; ///< by how much the inputs' last bits count more in the result than usual
  int64_t terms = 1;    ///< numbers added to make one element of the result
  bool smooth = true;   ///< a finite difference means something at these values
  /// Builds what the row tests of the inputs, given the prefix of its variables' names; null: the
  /// op itself.
  std::function<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::Location, mlir::ValueRange,
                                               const std::string &)>
      build;
};

/// Makes rows for one op.
class RowMaker {
public:
  RowMaker(mlir::MLIRContext *context, const OpInfo &op) : context(context), op(op) {}

  mlir::Type element(llvm::StringRef name) const;
  mlir::RankedTensorType type(const Shape &shape, llvm::StringRef element) const;
  /// The op's own range and kinks.
  Fill fill() const { return uniform(op.inputRange.first, op.inputRange.second, op.kinks); }
  Input input(const Shape &shape, llvm::StringRef element) const {
    return {type(shape, element), fill(), {}};
  }
  Input input(const Shape &shape, llvm::StringRef element, Fill fill) const {
    return {type(shape, element), std::move(fill), {}};
  }
  /// An argument that has every symbol for a size.
  std::vector<Input> allSymbols() const { return {input({sym(0), sym(1), sym(2), sym(3)}, "i8")}; }
  mlir::NamedAttribute attr(llvm::StringRef name, mlir::Attribute value) const;
  mlir::NamedAttribute i64(llvm::StringRef name, int64_t value) const;
  mlir::NamedAttribute f64(llvm::StringRef name, double value) const;
  mlir::NamedAttribute array(llvm::StringRef name, llvm::ArrayRef<int64_t> values) const;
  mlir::NamedAttribute unit(llvm::StringRef name) const;
  /// Adds a row; it is named after its inputs' types and attributes and `note`, which says why the
  /// row isn't smooth.
  Row &add(Row row, llvm::StringRef note = "");

  mlir::MLIRContext *context;
  const OpInfo &op;
  std::vector<Row> rows;
};

inline const std::vector<std::string> kFloats = {"f32", "f64", "bf16", "f16"};
inline const std::vector<std::string> kIntegers = {"i64", "i32", "i16", "i8", "ui8"};
/// Element types that a TableGen constraint admits.
std::vector<std::string> elementsOf(llvm::StringRef constraint);
/// Shapes that go wrong: scalar, empty, one, prime, longer than any vector and ragged, symbolic.
const std::vector<Shape> &awkwardShapes();

/// The rows of an op; none if nobody wrote any.
std::vector<Row> rowsOf(mlir::MLIRContext *context, const OpInfo &op);

// The makers, by family; each knows some mnemonics or families and returns whether this op is one
// of them.
bool addElementwiseRows(RowMaker &maker);
bool addShapeRows(RowMaker &maker);
bool addReductionRows(RowMaker &maker);
bool addContractionRows(RowMaker &maker);
bool addPoolingRows(RowMaker &maker);
bool addNormalizationRows(RowMaker &maker);
bool addIndexRows(RowMaker &maker);
bool addRandomRows(RowMaker &maker);
bool addControlRows(RowMaker &maker);

} // namespace sinter::conformance
