// Reads and writes at positions given by data.
#include "Row.h"

using namespace mlir;

namespace sinter::conformance {

/// Positions in range and, now and then, on either side of it.
static Fill positions(int64_t size) { return whole(-1, size); }

static void addEmbedding(RowMaker &maker, Size rows, Size width, Shape index, StringRef element,
                         StringRef indexElement, Fill fill, StringRef note = "") {
  Input positionsInput = maker.input(index, indexElement, positions(sizeOf(rows)));
  Row row;
  row.terms = sizeOf(index);
  if (maker.op.mnemonic == "embedding") {
    row.inputs = {maker.input({rows, width}, element, std::move(fill)), positionsInput};
  } else {
    Shape dy = index;
    dy.push_back(width);
    row.inputs = {maker.input(dy, element, std::move(fill)), positionsInput};
    row.results = {maker.type({rows, width}, element)};
  }
  maker.add(std::move(row), note);
}

static void addEmbeddingRows(RowMaker &maker) {
  for (const std::string &element : elementsOf(maker.op.operands[0]))
    for (StringRef indexElement : {"i64", "i32"})
      addEmbedding(maker, 7, 5, {11}, element, indexElement,
                   element == "i1" ? whole(0, 1) : maker.fill());
  struct {
    Size rows, width;
    Shape index;
  } cases[] = {{1, 1, {1}},         {7, 5, {}},       {7, 5, {0}},     {7, 0, {3}},
               {0, 3, {4}},         {3, 33, {2, 3}},  {100, 17, {31}}, {7, 5, {sym(0)}},
               {7, 3, {sym(0), 2}}, {7, 3, {sym(2)}}, {2, 64, {40}}};
  for (auto &c : cases)
    addEmbedding(maker, c.rows, c.width, c.index, "f32", "i64", maker.fill());
  addEmbedding(maker, 3, kSpecials, {7}, "f32", "i64", special(1), "special");
}

static void addGather(RowMaker &maker, const Shape &x, const Shape &index, int64_t dim,
                      StringRef element, StringRef indexElement, Fill fill, StringRef note = "") {
  Row row;
  Input at = maker.input(index, indexElement, positions(sizeOf(x[dim])));
  row.inputs = {maker.input(x, element, fill), at};
  if (maker.op.mnemonic == "scatter_add")
    row.inputs.push_back(maker.input(index, element, fill));
  row.attributes = {maker.i64("dim", dim)};
  row.terms = sizeOf(index[dim]) + 1;
  maker.add(std::move(row), note);
}

static void addGatherRows(RowMaker &maker) {
  for (const std::string &element : elementsOf(maker.op.operands[0]))
    for (StringRef indexElement : {"i64", "i32"})
      addGather(maker, {5, 7}, {4, 9}, 1, element, indexElement,
                element == "i1" ? whole(0, 1) : maker.fill());
  const std::tuple<Shape, Shape, int64_t> cases[] = {{{1}, {1}, 0},
                                                     {{7}, {1025}, 0},
                                                     {{7}, {0}, 0},
                                                     {{0}, {3}, 0},
                                                     {{5, 7}, {9, 7}, 0},
                                                     {{5, 7}, {2, 3}, 0},
                                                     {{2, 3, 5}, {2, 4, 5}, 1},
                                                     {{2, 3, 5}, {1, 2, 3}, 2},
                                                     {{31, 17}, {31, 1}, 1},
                                                     {{sym(0), 7}, {sym(0), 3}, 1},
                                                     {{3, 4}, {sym(0), 4}, 0},
                                                     {{sym(2), 4}, {sym(2), 2}, 1},
                                                     {{sym(0)}, {7}, 0}};
  for (const auto &[x, index, dim] : cases)
    addGather(maker, x, index, dim, "f32", "i64", maker.fill());
  addGather(maker, {kSpecials}, {17}, 0, "f32", "i64", special(1), "special");
}

static void addOneHotRows(RowMaker &maker) {
  auto add = [&](const Shape &index, int64_t classes, StringRef indexElement, StringRef element) {
    Row row;
    row.inputs = {maker.input(index, indexElement, positions(classes))};
    row.attributes = {maker.i64("classes", classes),
                      maker.attr("type", TypeAttr::get(maker.element(element)))};
    maker.add(std::move(row));
  };
  for (const std::string &element : elementsOf("NumberTensor"))
    for (StringRef indexElement : {"i64", "i32"})
      add({11}, 5, indexElement, element);
  for (const Shape &shape : awkwardShapes())
    add(shape, 7, "i64", "f32");
  add({31}, 1, "i64", "i64");
}

bool addIndexRows(RowMaker &maker) {
  StringRef name = maker.op.mnemonic;
  if (name == "embedding" || name == "embedding_grad")
    addEmbeddingRows(maker);
  else if (name == "gather" || name == "scatter_add")
    addGatherRows(maker);
  else if (name == "one_hot")
    addOneHotRows(maker);
  else
    return false;
  return true;
}

} // namespace sinter::conformance
