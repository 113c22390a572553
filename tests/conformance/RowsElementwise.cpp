// Elementwise families straight from the definitions, and where, cast and stop_gradient.
#include "Row.h"

using namespace mlir;

namespace sinter::conformance {

/// Values for attributes without a default; the bounds are those Row.cpp keeps away from.
static std::vector<NamedAttribute> requiredAttributes(const RowMaker &maker) {
  if (maker.op.mnemonic == "clamp")
    return {maker.f64("lower", -0.75), maker.f64("upper", 1.25)};
  return {};
}

/// Neighbouring multiples of 1/8 for "a=b", so that operands never come close to each other.
static Fill grid(double lower, double upper, double offset) {
  return [=](ir::ReferenceTensor &x, Random &random) {
    if (!x.isFloat())
      return uniform(lower, upper)(x, random);
    int64_t steps = int64_t((upper - lower) * 8);
    for (int64_t i = 0; i < x.size(); ++i)
      x.set(i, lower + (double(random() % uint64_t(steps)) + offset) / 8);
  };
}

static Fill operandFill(const RowMaker &maker, size_t operand) {
  auto [lower, upper] = maker.op.inputRange;
  return maker.op.kinks == "a=b" ? grid(lower, upper, operand * 0.5) : maker.fill();
}

static void addFamilyRow(RowMaker &maker, const Shape &shape, StringRef element) {
  Row row;
  for (size_t i = 0; i < maker.op.operands.size(); ++i)
    row.inputs.push_back(maker.input(shape, element, operandFill(maker, i)));
  row.attributes = requiredAttributes(maker);
  maker.add(std::move(row));
}

/// Every pair of special values.
static void addSpecialRow(RowMaker &maker, StringRef element) {
  Row row;
  int64_t stride = 1;
  for (size_t i = 0; i < maker.op.operands.size(); ++i, stride *= kSpecials)
    row.inputs.push_back(maker.input({kSpecials * kSpecials}, element, special(stride)));
  row.attributes = requiredAttributes(maker);
  maker.add(std::move(row), "special");
}

/// Far beyond the op's range, where it may overflow or have no value.
static void addWideRow(RowMaker &maker, StringRef element) {
  Row row;
  for (size_t i = 0; i < maker.op.operands.size(); ++i)
    row.inputs.push_back(maker.input({257}, element, uniform(-300, 300)));
  row.attributes = requiredAttributes(maker);
  maker.add(std::move(row), "wide");
}

/// Operands whose sum overflows.
static void addHugeRow(RowMaker &maker) {
  Row row;
  for (size_t i = 0; i < maker.op.operands.size(); ++i)
    row.inputs.push_back(maker.input({257}, "f32", uniform(-3e38, 3e38)));
  maker.add(std::move(row), "huge");
}

/// Operands that only together have the result's shape.
static void addBroadcastRow(RowMaker &maker, StringRef element) {
  Row row;
  for (size_t i = 0; i < maker.op.operands.size(); ++i) {
    Input input = maker.input(i ? Shape{5} : Shape{7, 1}, element, operandFill(maker, i));
    input.expanded = maker.type({7, 5}, element);
    row.inputs.push_back(std::move(input));
  }
  row.attributes = requiredAttributes(maker);
  maker.add(std::move(row));
}

static void addFamilyRows(RowMaker &maker) {
  std::vector<std::string> elements = elementsOf(maker.op.operands[0]);
  for (const Shape &shape : awkwardShapes())
    addFamilyRow(maker, shape, elements[0]);
  for (const std::string &element : elements) {
    addFamilyRow(maker, {11}, element);
    addFamilyRow(maker, {3, 37}, element);
    addSpecialRow(maker, element);
  }
  addBroadcastRow(maker, elements[0]);
  if (maker.op.mnemonic == "atan2")
    addHugeRow(maker);
  for (const std::string &element : elements)
    if (llvm::is_contained(kFloats, element))
      addWideRow(maker, element);
}

static Row whereRow(RowMaker &maker, const Shape &shape, StringRef element) {
  Row row;
  row.inputs = {maker.input(shape, "i1", whole(0, 1)), maker.input(shape, element),
                maker.input(shape, element)};
  return row;
}

static void addWhereRows(RowMaker &maker) {
  for (const Shape &shape : awkwardShapes())
    maker.add(whereRow(maker, shape, "f32"));
  for (const std::string &element : elementsOf("AnyTensor_")) {
    maker.add(whereRow(maker, {13, 17}, element));
    Row row = whereRow(maker, {kSpecials * kSpecials}, element);
    row.inputs[1].fill = special(1);
    row.inputs[2].fill = special(kSpecials);
    maker.add(std::move(row), "special");
  }
  Row row = whereRow(maker, {7, 5}, "f32");
  row.inputs[0] = {maker.type({7, 1}, "i1"), whole(0, 1), maker.type({7, 5}, "i1")};
  maker.add(std::move(row));
}

static void addCastRows(RowMaker &maker) {
  auto add = [&](const Shape &shape, StringRef from, StringRef to, Fill fill, StringRef note = "") {
    Row row;
    row.inputs = {maker.input(shape, from, std::move(fill))};
    row.results = {maker.type(shape, to)};
    row.smooth = note.empty() && llvm::is_contained(kFloats, to.str());
    maker.add(std::move(row), note);
  };
  std::vector<std::string> elements = elementsOf("AnyTensor_");
  for (const std::string &from : elements)
    for (const std::string &to : elements) {
      add({37}, from, to, from == "i1" ? whole(0, 1) : uniform(-3, 3));
      add({2 * kSpecials}, from, to, special(1), "special");
    }
  for (const Shape &shape : awkwardShapes())
    add(shape, "f32", "bf16", uniform(-3, 3));
  // Halves, and just beside them: truncation, not rounding; and floats at the edges of the integer
  // types.
  add({8}, "f32", "i32",
      values({0.5, 1.5, -0.5, -1.5, 0.99999994, 2147483520, -2147483648.0, 2147483648.0}), "edges");
  add({6}, "f64", "i64",
      values({9223372036854774784.0, 9223372036854775808.0, -9223372036854775808.0, 1e300, -1e300,
              4503599627370495.5}),
      "edges");
  add({6}, "f32", "ui8", values({-0.9, 254.9, 255.9, 256, -1, 128}), "edges");
  add({6}, "i64", "f32",
      values({16777217, 16777219, -16777217, 9007199254740992, 123456789012345, 1}), "edges");
}

static void addStopGradientRows(RowMaker &maker) {
  auto add = [&](const Shape &shape, StringRef element, Fill fill) {
    Row row;
    row.inputs = {maker.input(shape, element, std::move(fill))};
    row.smooth = false; // the gradient is zero by decree
    maker.add(std::move(row));
  };
  for (const Shape &shape : awkwardShapes())
    add(shape, "f32", maker.fill());
  for (const std::string &element : elementsOf("AnyTensor_"))
    add({kSpecials}, element, special(1));
}

bool addElementwiseRows(RowMaker &maker) {
  const std::string &family = maker.op.family;
  if (family == "unary" || family == "binary" || family == "compare" || family == "logic")
    addFamilyRows(maker);
  else if (family == "where")
    addWhereRows(maker);
  else if (family == "cast")
    addCastRows(maker);
  else if (family == "identity")
    addStopGradientRows(maker);
  else
    return false;
  return true;
}

} // namespace sinter::conformance
