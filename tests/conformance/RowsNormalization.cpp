// Softmax, normalisations and losses.
#include "Row.h"

using namespace mlir;

namespace sinter::conformance {

static void addSoftmax(RowMaker &maker, const Shape &shape, int64_t dim, StringRef element,
                       Fill fill, StringRef note = "") {
  Row row;
  row.inputs = {maker.input(shape, element, std::move(fill))};
  row.attributes = {maker.i64("dim", dim)};
  row.terms = sizeOf(shape[dim]);
  maker.add(std::move(row), note);
}

static void addSoftmaxRows(RowMaker &maker) {
  for (const std::string &element : kFloats) {
    addSoftmax(maker, {7, 13}, 1, element, maker.fill());
    addSoftmax(maker, {3, 5, 2}, 1, element, uniform(-30, 30));
  }
  const std::pair<Shape, int64_t> cases[] = {
      {{1}, 0},         {{1, 1}, 1},      {{0}, 0},          {{0, 5}, 1},       {{5, 0}, 1},
      {{1025}, 0},      {{17, 31}, 0},    {{2, 3, 4, 5}, 3}, {{2, 3, 4, 5}, 0}, {{sym(0), 7}, 1},
      {{3, sym(0)}, 1}, {{sym(2), 3}, 1}, {{sym(3), 3}, 0},  {{3, 1000}, 1}};
  for (const auto &[shape, dim] : cases)
    addSoftmax(maker, shape, dim, "f32", maker.fill());
  addSoftmax(maker, {4, kSpecials}, 1, "f32", special(1), "special");
  addSoftmax(maker, {3}, 0, "f32", values({-INFINITY, 0, 1}), "-inf");
  addSoftmax(maker, {3}, 0, "f32", values({-INFINITY}), "all -inf");
  addSoftmax(maker, {4}, 0, "f32", values({1e30, 1e30, -1e30, 0}), "large");
}

static Row &addLayerNorm(RowMaker &maker, const Shape &shape, size_t normalized, double epsilon,
                         StringRef element, Fill fill, StringRef note = "") {
  Shape inner(shape.end() - int64_t(normalized), shape.end());
  Row row;
  row.inputs = {maker.input(shape, element, std::move(fill)), maker.input(inner, element),
                maker.input(inner, element)};
  row.attributes = {maker.f64("epsilon", epsilon)};
  row.terms = sizeOf(inner);
  return maker.add(std::move(row), note);
}

static void addLayerNormRows(RowMaker &maker) {
  for (const std::string &element : kFloats) {
    addLayerNorm(maker, {5, 13}, 1, 1e-5, element, maker.fill());
    addLayerNorm(maker, {3, 2, 7}, 2, 1e-3, element, maker.fill());
  }
  const std::pair<Shape, size_t> cases[] = {
      {{7}, 1},         {{2, 1}, 1},       {{0, 5}, 1},
      {{3, 1025}, 1},   {{2, 3, 4, 5}, 3}, {{2, 3, 4, 5}, 1},
      {{31, 17}, 2},    {{sym(0), 7}, 1},  {{sym(0), 3, sym(1)}, 2},
      {{sym(2), 3}, 1}, {{sym(3), 5}, 1}};
  for (const auto &[shape, normalized] : cases)
    addLayerNorm(maker, shape, normalized, 1e-5, "f32", maker.fill());
  addLayerNorm(maker, {3, kSpecials}, 1, 1e-5, "f32", special(1), "special");
  addLayerNorm(maker, {2, 5}, 1, 1e-5, "f32", values({3}), "constant");
  addLayerNorm(maker, {2, 64}, 1, 1e-5, "f32", uniform(1000, 1001), "far from zero").condition =
      1000 / 0.29; // mean / deviation
}

static Row &addBatchNorm(RowMaker &maker, const Shape &shape, StringRef element, Fill fill,
                         StringRef note = "") {
  Shape channels = {shape[1]};
  Row row;
  row.inputs = {maker.input(shape, element, std::move(fill)), maker.input(channels, element),
                maker.input(channels, element)};
  if (maker.op.mnemonic == "batch_norm") {
    row.inputs.push_back(maker.input(channels, element));
    row.inputs.push_back(maker.input(channels, element, uniform(0.5, 2)));
  } else {
    row.terms = sizeOf(shape) / std::max<int64_t>(1, sizeOf(shape[1]));
  }
  row.attributes = {maker.f64("epsilon", 1e-5)};
  return maker.add(std::move(row), note);
}

static void addBatchNormRows(RowMaker &maker) {
  for (const std::string &element : kFloats) {
    addBatchNorm(maker, {5, 3}, element, maker.fill());
    addBatchNorm(maker, {2, 3, 4, 5}, element, maker.fill());
  }
  for (const Shape &shape : {Shape{3, 1}, Shape{2, 0}, Shape{31, 17}, Shape{2, 5, 7},
                             Shape{3, 2, 13, 11}, Shape{2, 3, 2, 2, 2}, Shape{sym(0), 3},
                             Shape{sym(0), 2, 4, 4}, Shape{sym(1), 3, sym(0)}, Shape{257, 2}})
    addBatchNorm(maker, shape, "f32", maker.fill());
  addBatchNorm(maker, {0, 3}, "f32", maker.fill(), "no elements");
  addBatchNorm(maker, {kSpecials, 3}, "f32", special(3), "special");
  addBatchNorm(maker, {4, 2}, "f32", values({3}), "constant");
  addBatchNorm(maker, {64, 2}, "f32", uniform(1000, 1001), "far from zero").condition =
      1000 / 0.29; // mean / deviation
}

static void addCrossEntropy(RowMaker &maker, Size rows, Size classes, double smoothing, Fill labels,
                            StringRef element, StringRef label, Fill fill, StringRef note = "") {
  Row row;
  row.inputs = {maker.input({rows, classes}, element, std::move(fill)),
                maker.input({rows}, label, std::move(labels))};
  if (smoothing != 0)
    row.attributes.push_back(maker.f64("label_smoothing", smoothing));
  row.terms = sizeOf(Shape{rows, classes});
  maker.add(std::move(row), note);
}

static void addCrossEntropyRows(RowMaker &maker) {
  for (const std::string &element : kFloats)
    for (StringRef label : {"i64", "i32"})
      for (double smoothing : {0.0, 0.1})
        addCrossEntropy(maker, 5, 7, smoothing, whole(0, 6), element, label, maker.fill());
  const std::pair<Size, Size> cases[] = {{1, 1},    {1, 10},      {64, 10},   {31, 17},
                                         {3, 1025}, {sym(0), 10}, {sym(3), 3}};
  for (const auto &[rows, classes] : cases)
    addCrossEntropy(maker, rows, classes, 0, whole(0, sizeOf(classes) - 1), "f32", "i64",
                    maker.fill());
  addCrossEntropy(maker, 0, 3, 0, whole(0, 2), "f32", "i64", maker.fill());
  addCrossEntropy(maker, 4, 3, 0, values({0, -100, 2, -100}), "f32", "i64", maker.fill());
  addCrossEntropy(maker, 4, 3, 0.2, values({0, -100, 2, -100}), "f32", "i64", maker.fill());
  addCrossEntropy(maker, 2, 3, 0, values({-100}), "f32", "i64", maker.fill(), "all ignored");
  addCrossEntropy(maker, 4, 3, 0, values({0, 3, -1, 1}), "f32", "i64", maker.fill());
  addCrossEntropy(maker, 3, 4, 0, whole(0, 3), "f32", "i64", uniform(-80, 80));
  addCrossEntropy(maker, 2, 3, 0, values({1}), "f32", "i64", values({-INFINITY, 0, 1}), "-inf");
  addCrossEntropy(maker, 2, 3, 0, values({1}), "f32", "i64", values({NAN, 0, 1, 2, 3, 4}), "NaN");
}

static void addMseRows(RowMaker &maker) {
  auto add = [&](const Shape &shape, StringRef element, Fill fill, StringRef note = "") {
    Row row;
    row.inputs = {maker.input(shape, element, fill), maker.input(shape, element, fill)};
    row.terms = sizeOf(shape);
    maker.add(std::move(row), note);
  };
  for (const Shape &shape : awkwardShapes())
    add(shape, "f32", maker.fill());
  for (const std::string &element : kFloats) {
    add({13, 7}, element, maker.fill());
    add({kSpecials}, element, special(1), "special");
  }
}

bool addNormalizationRows(RowMaker &maker) {
  static const std::map<std::string, void (*)(RowMaker &)> makers = {
      {"softmax", addSoftmaxRows},
      {"log_softmax", addSoftmaxRows},
      {"layer_norm", addLayerNormRows},
      {"batch_norm", addBatchNormRows},
      {"batch_norm_training", addBatchNormRows},
      {"cross_entropy", addCrossEntropyRows},
      {"mse", addMseRows}};
  auto found = makers.find(maker.op.mnemonic);
  if (found == makers.end())
    return false;
  found->second(maker);
  return true;
}

} // namespace sinter::conformance
