#include "Row.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace sinter::conformance {

static double unit(Random &random) { return double(random() >> 11) * 0x1p-53; }

/// Distance of x from the nearest kink of a unary function.
static double kinkDistance(StringRef kinks, double x) {
  double nearest = INFINITY;
  for (StringRef kink : llvm::split(kinks, ',')) {
    if (kink == "integers")
      nearest = std::min(nearest, std::abs(x - std::nearbyint(x)));
    else if (kink == "halves")
      nearest = std::min(nearest, std::abs(x - std::floor(x) - 0.5));
    else if (kink == "bounds") // the bounds that RowsElementwise.cpp gives clamp
      nearest = std::min({nearest, std::abs(x + 0.75), std::abs(x - 1.25)});
    kink.consume_front("a=");
    if (double at; !kink.getAsDouble(at))
      nearest = std::min(nearest, std::abs(x - at));
  }
  return nearest;
}

Fill uniform(double lower, double upper, std::string kinks) {
  return [=](ir::ReferenceTensor &x, Random &random) {
    auto [least, largest] =
        x.isFloat() ? std::pair<int64_t, int64_t>() : ir::integerRange(x.element());
    for (int64_t i = 0; i < x.size(); ++i) {
      double value;
      do
        value = lower + (upper - lower) * unit(random);
      while (kinkDistance(kinks, value) < 0.02);
      if (x.isFloat())
        x.set(i, value);
      else // whole numbers of a few dozen, or anything that a smaller type holds
        x.setInt(i, std::clamp(int64_t(std::nearbyint(value * 30)), std::max<int64_t>(least, -60),
                               std::min<int64_t>(largest, 60)));
    }
  };
}

Fill whole(int64_t lower, int64_t upper) {
  return [=](ir::ReferenceTensor &x, Random &random) {
    for (int64_t i = 0; i < x.size(); ++i)
      x.setInt(i, lower + int64_t(random() % uint64_t(upper - lower + 1)));
  };
}

Fill distinct(double lower, double upper) {
  return [=](ir::ReferenceTensor &x, Random &random) {
    std::vector<int64_t> order(x.size());
    std::iota(order.begin(), order.end(), 0);
    for (int64_t i = x.size() - 1; i > 0; --i)
      std::swap(order[i], order[random() % uint64_t(i + 1)]);
    for (int64_t i = 0; i < x.size(); ++i)
      x.set(i, lower + (upper - lower) * (double(order[i]) + 0.5) / double(x.size()));
  };
}

Fill special(int64_t stride) {
  return [=](ir::ReferenceTensor &x, Random &) {
    static constexpr double numbers[kSpecials] = {NAN,   INFINITY, -INFINITY, 0.0, -0.0,
                                                  1e-40, 90,       -110,      1,   -2.5};
    for (int64_t i = 0; i < x.size(); ++i) {
      int64_t which = i / stride % kSpecials;
      if (x.isFloat()) {
        x.set(i, numbers[which]);
        continue;
      }
      auto [least, largest] = ir::integerRange(x.element());
      int64_t integers[kSpecials] = {least, largest, least + 1, largest - 1, 0, 1, -1, 2, -2, 100};
      x.setInt(i, integers[which]);
    }
  };
}

Fill values(std::vector<double> numbers) {
  return [numbers](ir::ReferenceTensor &x, Random &) {
    for (int64_t i = 0; i < x.size(); ++i)
      x.set(i, numbers[i % int64_t(numbers.size())]);
  };
}

AffineExpr Size::expr(MLIRContext *context) const {
  return position < 0 ? getAffineConstantExpr(number, context)
                      : getAffineSymbolExpr(position, context) * number;
}

Type RowMaker::element(StringRef name) const {
  Builder b(context);
  if (name == "f32")
    return b.getF32Type();
  if (name == "f64")
    return b.getF64Type();
  if (name == "f16")
    return b.getF16Type();
  if (name == "bf16")
    return b.getBF16Type();
  bool isUnsigned = name.consume_front("u");
  unsigned width = 0;
  name.drop_front().getAsInteger(10, width);
  return IntegerType::get(context, width,
                          isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
}

RankedTensorType RowMaker::type(const Shape &shape, StringRef elementName) const {
  ir::Dims dims;
  for (const Size &size : shape)
    dims.push_back(size.expr(context));
  return ir::tensorType(dims, element(elementName));
}

NamedAttribute RowMaker::attr(StringRef name, Attribute value) const {
  return {StringAttr::get(context, name), value};
}
NamedAttribute RowMaker::i64(StringRef name, int64_t value) const {
  return attr(name, Builder(context).getI64IntegerAttr(value));
}
NamedAttribute RowMaker::f64(StringRef name, double value) const {
  return attr(name, Builder(context).getF64FloatAttr(value));
}
NamedAttribute RowMaker::array(StringRef name, ArrayRef<int64_t> numbers) const {
  return attr(name, DenseI64ArrayAttr::get(context, numbers));
}
NamedAttribute RowMaker::unit(StringRef name) const { return attr(name, UnitAttr::get(context)); }

Row &RowMaker::add(Row row, StringRef note) {
  llvm::raw_string_ostream name(row.name);
  auto print = [&](Type type) {
    name << ' ' << cast<RankedTensorType>(type).getElementType() << ir::toString(ir::dimsOf(type));
  };
  for (const Input &input : row.inputs) {
    print(input.type);
    if (input.expanded)
      name << " expanded to" << ir::toString(ir::dimsOf(input.expanded));
  }
  for (Type type : row.results)
    name << " ->", print(type);
  for (NamedAttribute attribute : row.attributes)
    name << ' ' << attribute.getName().getValue() << '=' << attribute.getValue();
  name << ' ' << note;
  row.smooth &= note.empty();
  rows.push_back(std::move(row));
  return rows.back();
}

int64_t sizeOf(const Size &size) {
  return size.number * (size.position < 0 ? 1 : kSymbols[size.position].value);
}

int64_t sizeOf(const Shape &shape) {
  int64_t count = 1;
  for (const Size &size : shape)
    count *= sizeOf(size);
  return count;
}

std::vector<std::string> elementsOf(StringRef constraint) {
  std::vector<std::string> elements;
  bool any = constraint == "AnyTensor_";
  if (any || constraint == "FloatTensor" || constraint == "NumberTensor")
    elements = kFloats;
  if (any || constraint == "NumberTensor" || constraint == "IntTensor")
    elements.insert(elements.end(), kIntegers.begin(), kIntegers.end());
  if (constraint == "IndicesTensor")
    elements = {"i64", "i32"};
  if (any || constraint == "BoolTensor")
    elements.push_back("i1");
  return elements;
}

const std::vector<Shape> &awkwardShapes() {
  static const std::vector<Shape> shapes = {{},
                                            {0},
                                            {1},
                                            {2},
                                            {7},
                                            {31},
                                            {64},
                                            {1025},
                                            {1, 1},
                                            {13, 17},
                                            {17, 1},
                                            {1, 19},
                                            {3, 0, 5},
                                            {2, 3, 4, 5},
                                            {sym(0)},
                                            {sym(2)},
                                            {sym(3)},
                                            {sym(0), 3},
                                            {3, sym(1)},
                                            {sym(0), sym(1)},
                                            {sym(0), 1, sym(1)}};
  return shapes;
}

std::vector<Row> rowsOf(MLIRContext *context, const OpInfo &op) {
  RowMaker maker(context, op);
  for (auto *add :
       {addElementwiseRows, addShapeRows, addReductionRows, addContractionRows, addPoolingRows,
        addNormalizationRows, addIndexRows, addRandomRows, addControlRows})
    if (add(maker))
      break;
  return std::move(maker.rows);
}

} // namespace sinter::conformance
