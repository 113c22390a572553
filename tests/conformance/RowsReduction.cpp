#include "Row.h"

using namespace mlir;

namespace sinter::conformance {

static void addReduction(RowMaker &maker, const Shape &shape, std::vector<int64_t> dims,
                         bool keepdim, StringRef element, Fill fill, StringRef note = "") {
  Row row;
  row.inputs = {maker.input(shape, element, std::move(fill))};
  row.attributes = {maker.array("dims", dims)};
  if (keepdim)
    row.attributes.push_back(maker.unit("keepdim"));
  for (int64_t dim : dims)
    row.terms *= sizeOf(shape[dim]);
  maker.add(std::move(row), note);
}

bool addReductionRows(RowMaker &maker) {
  if (maker.op.family != "reduction")
    return false;
  auto [lower, upper] = maker.op.inputRange;
  Fill fill = maker.op.kinks == "ties" ? distinct(lower, upper) : maker.fill();
  for (const std::string &element : elementsOf(maker.op.operands[0])) {
    addReduction(maker, {13, 17}, {1}, false, element, fill);
    addReduction(maker, {3, 7, 5}, {0, 2}, true, element, fill);
    addReduction(maker, {4, kSpecials}, {0}, false, element, special(1), "special");
    addReduction(maker, {7, 6}, {1}, false, element, whole(-1, 1), "ties");
  }
  const std::pair<Shape, std::vector<int64_t>> cases[] = {{{}, {}},
                                                          {{7}, {}},
                                                          {{1}, {0}},
                                                          {{0}, {0}},
                                                          {{0, 3}, {0}},
                                                          {{3, 0}, {0}},
                                                          {{1025}, {0}},
                                                          {{17, 31}, {0}},
                                                          {{17, 31}, {0, 1}},
                                                          {{2, 3, 5}, {1}},
                                                          {{2, 3, 5}, {0, 1, 2}},
                                                          {{2, 3, 4, 5}, {0, 2, 3}},
                                                          {{2, 3, 4, 5}, {1}},
                                                          {{3, 4000}, {1}},
                                                          {{1000, 3}, {0}},
                                                          {{sym(0), 3}, {0}},
                                                          {{sym(0), 3}, {1}},
                                                          {{sym(0), sym(1)}, {0, 1}},
                                                          {{sym(2), 3}, {0}},
                                                          {{3, sym(3)}, {1}}};
  for (const auto &[shape, dims] : cases)
    addReduction(maker, shape, dims, false, "f32", fill);
  for (int64_t nan : {0, 3, 6}) { // NaN first, in the middle, last
    std::vector<double> numbers(7, 1);
    numbers[nan] = NAN;
    addReduction(maker, {7}, {0}, false, "f32", values(numbers), "NaN at " + std::to_string(nan));
  }
  addReduction(maker, {5}, {0}, false, "f32",
               values({-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY}), "all -inf");
  return true;
}

} // namespace sinter::conformance
