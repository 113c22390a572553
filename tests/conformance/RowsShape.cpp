// Creation and movement of data.
#include "Row.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace sinter::conformance {

static const std::vector<std::string> &allElements() {
  static const std::vector<std::string> elements = elementsOf("AnyTensor_");
  return elements;
}

/// Numbers of any element type: small, and NaN and infinities among floats.
static Fill anyValues(StringRef element) { return element == "f32" ? special(1) : uniform(-2, 2); }

static void addFullRows(RowMaker &maker) {
  Builder b(maker.context);
  auto add = [&](const Shape &shape, StringRef element, Attribute value) {
    Row row;
    row.results = {maker.type(shape, element)};
    row.attributes = {maker.attr("value", value)};
    row.carriers = maker.allSymbols();
    maker.add(std::move(row));
  };
  for (const Shape &shape : awkwardShapes())
    add(shape, "f32", b.getF64FloatAttr(-1.1));
  for (const std::string &element : allElements()) {
    add({5}, element, b.getF64FloatAttr(1));
    add({5}, element, b.getI64IntegerAttr(-3));
  }
  for (double value : {double(NAN), double(INFINITY), -0.0, 1e-42, 70000.0})
    for (const std::string &element : kFloats)
      add({3}, element, b.getF64FloatAttr(value));
  add({3}, "i64", b.getI64IntegerAttr(INT64_MAX - 1));
}

static void addConstantRows(RowMaker &maker) {
  Random random(1);
  auto add = [&](ArrayRef<int64_t> dims, StringRef element, const Fill &fill) {
    ir::ReferenceTensor tensor(dims, maker.element(element));
    fill(tensor, random);
    SmallVector<Attribute> elements;
    for (int64_t i = 0; i < tensor.size(); ++i)
      elements.push_back(
          tensor.isFloat() ? Attribute(FloatAttr::get(tensor.element(), tensor.real(i)))
                           : IntegerAttr::get(tensor.element(),
                                              APInt(tensor.element().getIntOrFloatBitWidth(),
                                                    uint64_t(tensor.at(i).integer), false, true)));
    Row row;
    auto type = RankedTensorType::get(dims, tensor.element());
    row.results = {type};
    row.attributes = {maker.attr("value", DenseElementsAttr::get(type, elements))};
    maker.add(std::move(row));
  };
  for (const std::string &element : allElements()) {
    add({kSpecials}, element, special(1));
    add({2, 3}, element, uniform(-2, 2));
  }
  for (const auto &dims : std::vector<std::vector<int64_t>>{{}, {0}, {1}, {101}})
    add(dims, "f32", uniform(-2, 2));
}

static void addArangeRows(RowMaker &maker) {
  auto add = [&](Size size, StringRef element, double start, double step) {
    Row row;
    row.results = {maker.type({size}, element)};
    row.attributes = {maker.f64("start", start), maker.f64("step", step)};
    row.carriers = maker.allSymbols();
    maker.add(std::move(row));
  };
  for (const std::string &element : elementsOf("NumberTensor")) {
    add(11, element, 3, 2);
    add(61, element, 1, 1);
  }
  for (Size size : {Size(0), Size(1), Size(1025), sym(0), sym(2), sym(0, 7)})
    add(size, "f32", -1, 0.25);
  add(37, "f64", 0.1, 0.1);
  add(37, "f32", 10, -0.75);
  add(37, "i64", 10, -3);
}

static void addUnary(RowMaker &maker, const Shape &from, const Shape &to, StringRef element,
                     std::vector<NamedAttribute> attributes = {}) {
  Row row;
  row.inputs = {maker.input(from, element, anyValues(element))};
  row.results = {maker.type(to, element)};
  row.attributes = std::move(attributes);
  row.carriers = maker.allSymbols();
  row.smooth = element != "f32";
  maker.add(std::move(row));
}

static void addExpandRows(RowMaker &maker) {
  for (const std::string &element : allElements())
    addUnary(maker, {7, 1}, {3, 7, 5}, element);
  const std::pair<Shape, Shape> pairs[] = {{{}, {}},
                                           {{}, {1}},
                                           {{}, {2, 3}},
                                           {{1}, {1025}},
                                           {{1}, {0}},
                                           {{0}, {3, 0}},
                                           {{5}, {3, 5}},
                                           {{1, 5}, {4, 5}},
                                           {{5, 1}, {5, 31}},
                                           {{2, 1, 3}, {2, 7, 3}},
                                           {{1, 1, 1}, {2, 3, 4}},
                                           {{sym(0)}, {3, sym(0)}},
                                           {{sym(0), 1}, {sym(0), 7}},
                                           {{}, {sym(0)}},
                                           {{1}, {sym(2)}},
                                           {{sym(3), 1}, {sym(1), sym(3), 5}},
                                           {{13, 1, 1}, {2, 13, 3, 5}}};
  for (const auto &[from, to] : pairs)
    for (StringRef element : {"f64", "f32"})
      addUnary(maker, from, to, element);
}

static void addReshapeRows(RowMaker &maker) {
  for (const std::string &element : allElements())
    addUnary(maker, {6, 5}, {3, 10}, element);
  const std::pair<Shape, Shape> pairs[] = {{{}, {1}},
                                           {{1}, {}},
                                           {{1, 1}, {1}},
                                           {{0, 3}, {5, 0}},
                                           {{2, 3, 4}, {24}},
                                           {{24}, {4, 3, 2}},
                                           {{13, 17}, {221}},
                                           {{2, 6}, {4, 3}},
                                           {{sym(0), 4}, {sym(0, 4)}},
                                           {{sym(0), 6}, {2, sym(0, 3)}},
                                           {{sym(0), 2, 3}, {sym(0), 6}},
                                           {{sym(2), 3}, {sym(2, 3)}},
                                           {{sym(3)}, {1, sym(3)}}};
  for (const auto &[from, to] : pairs)
    for (StringRef element : {"f64", "f32"})
      addUnary(maker, from, to, element);
}

static void addTransposeRows(RowMaker &maker) {
  auto add = [&](const Shape &from, std::vector<int64_t> permutation, StringRef element) {
    Row row;
    row.inputs = {maker.input(from, element, anyValues(element))};
    row.attributes = {maker.array("permutation", permutation)};
    row.smooth = element != "f32";
    maker.add(std::move(row));
  };
  for (const std::string &element : allElements())
    add({13, 7}, {1, 0}, element);
  const std::pair<Shape, std::vector<int64_t>> cases[] = {{{}, {}},
                                                          {{7}, {0}},
                                                          {{0, 3}, {1, 0}},
                                                          {{1, 5}, {1, 0}},
                                                          {{2, 3, 5}, {0, 2, 1}},
                                                          {{2, 3, 5}, {2, 1, 0}},
                                                          {{2, 3, 5}, {1, 2, 0}},
                                                          {{2, 3, 4, 5}, {0, 2, 3, 1}},
                                                          {{2, 3, 4, 5}, {0, 3, 1, 2}},
                                                          {{65, 33}, {1, 0}},
                                                          {{sym(0), 3}, {1, 0}},
                                                          {{sym(0), 2, sym(1)}, {2, 0, 1}},
                                                          {{sym(2), 3}, {1, 0}}};
  for (const auto &[from, permutation] : cases)
    for (StringRef element : {"f64", "f32"})
      add(from, permutation, element);
}

static void addSliceRows(RowMaker &maker) {
  auto add = [&](const Shape &from, const Shape &to, std::vector<int64_t> starts,
                 std::vector<int64_t> strides, StringRef element) {
    addUnary(maker, from, to, element,
             {maker.array("starts", starts), maker.array("strides", strides)});
  };
  for (const std::string &element : allElements())
    add({13, 7}, {4, 3}, {2, 1}, {3, 2}, element);
  for (StringRef element : {"f64", "f32"}) {
    add({}, {}, {}, {}, element);
    add({7}, {7}, {0}, {1}, element);
    add({7}, {1}, {6}, {1}, element);
    add({7}, {0}, {3}, {1}, element);
    add({0}, {0}, {0}, {1}, element);
    add({1025}, {1000}, {25}, {1}, element);
    add({1025}, {513}, {0}, {2}, element);
    add({2, 3, 5}, {1, 3, 2}, {1, 0, 3}, {1, 1, 1}, element);
    add({sym(0), 7}, {sym(0), 3}, {0, 1}, {1, 2}, element);
    add({sym(0), sym(1)}, {2, sym(1)}, {0, 0}, {1, 1}, element);
  }
}

static void addPadRows(RowMaker &maker) {
  using List = std::vector<int64_t>;
  auto add = [&](const Shape &from, List low, List high, List interior, double value,
                 StringRef element) {
    Row row;
    row.inputs = {maker.input(from, element, anyValues(element))};
    row.attributes = {maker.array("low", low), maker.array("high", high),
                      maker.array("interior", interior), maker.f64("value", value)};
    row.smooth = element != "f32";
    maker.add(std::move(row));
  };
  for (const std::string &element : allElements())
    add({5, 3}, {1, 0}, {0, 2}, {0, 1}, 1, element);
  for (StringRef element : {"f64", "f32"}) {
    add({}, {}, {}, {}, 0, element);
    add({7}, {0}, {0}, {0}, 0, element);
    add({7}, {3}, {5}, {0}, -1.5, element);
    add({7}, {0}, {0}, {2}, 0, element);
    add({1}, {0}, {0}, {2}, 0, element);
    add({0}, {2}, {1}, {0}, 4, element);
    add({2, 3, 5}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, 0, element);
    add({1, 2, 3, 3}, {0, 0, 1, 1}, {0, 0, 1, 1}, {0, 0, 1, 1}, 0, element);
    add({sym(0), 3}, {0, 1}, {0, 1}, {0, 0}, 0, element);
    add({sym(0)}, {1}, {2}, {1}, 0, element);
  }
  add({3}, {1}, {1}, {0}, -INFINITY, "f32");
}

static void addConcatRows(RowMaker &maker) {
  auto add = [&](std::vector<Shape> shapes, int64_t dim, StringRef element) {
    Row row;
    for (const Shape &shape : shapes)
      row.inputs.push_back(maker.input(shape, element, anyValues(element)));
    row.attributes = {maker.i64("dim", dim)};
    row.smooth = element != "f32";
    maker.add(std::move(row));
  };
  for (const std::string &element : allElements())
    add({{3, 5}, {3, 2}}, 1, element);
  for (StringRef element : {"f64", "f32"}) {
    add({{7}}, 0, element);
    add({{7}, {1}, {31}}, 0, element);
    add({{0}, {3}}, 0, element);
    add({{0}, {0}}, 0, element);
    add({{2, 3}, {5, 3}}, 0, element);
    add({{2, 1, 3}, {2, 4, 3}, {2, 2, 3}}, 1, element);
    add({{sym(0), 3}, {sym(0), 2}}, 1, element);
    add({{sym(0), 3}, {2, 3}}, 0, element);
    add({{sym(0)}, {sym(1)}, {sym(2)}}, 0, element);
  }
}

bool addShapeRows(RowMaker &maker) {
  static const std::map<std::string, void (*)(RowMaker &)> makers = {
      {"full", addFullRows},     {"constant", addConstantRows}, {"arange", addArangeRows},
      {"expand", addExpandRows}, {"reshape", addReshapeRows},   {"transpose", addTransposeRows},
      {"slice", addSliceRows},   {"pad", addPadRows},           {"concat", addConcatRows}};
  auto found = makers.find(maker.op.mnemonic);
  if (found == makers.end())
    return false;
  found->second(maker);
  return true;
}

} // namespace sinter::conformance
