#include "Row.h"

using namespace mlir;

namespace sinter::conformance {

static Fill state(double seed, double step) { return values({seed, step}); }

static void addRandom(RowMaker &maker, const Shape &shape, StringRef element, int64_t id,
                      double probability, Fill seedAndStep) {
  Row row;
  if (maker.op.mnemonic == "dropout")
    row.inputs.push_back(maker.input(shape, element));
  row.inputs.push_back(maker.input({2}, "i64", std::move(seedAndStep)));
  row.results = {maker.type(shape, element)};
  row.attributes = {maker.i64("id", id)};
  if (llvm::is_contained(maker.op.attributes, "probability"))
    row.attributes.push_back(maker.f64("probability", probability));
  row.carriers = maker.allSymbols();
  maker.add(std::move(row));
}

bool addRandomRows(RowMaker &maker) {
  if (maker.op.family != "random")
    return false;
  std::vector<std::string> elements =
      maker.op.mnemonic == "random_bernoulli" ? std::vector<std::string>{"i1"} : kFloats;
  for (const Shape &shape : awkwardShapes())
    addRandom(maker, shape, elements[0], 1, 0.3, state(42, 0));
  for (const std::string &element : elements) {
    addRandom(maker, {13, 17}, element, 3, 0.5, state(7, 9));
    addRandom(maker, {257}, element, -1, 0.1, state(-5, 1e12));
    // Seeds and steps that need all their bits.
    addRandom(maker, {31}, element, int64_t(1) << 33 | 2, 0.25,
              state(0x1.23456789abcdep+60, 4294967296.0 + 3));
  }
  for (double probability : {0.0, 1.0, 0x1p-24, 1 - 0x1p-24, 1e-9})
    addRandom(maker, {1025}, elements[0], 5, probability, state(1, 1));
  return true;
}

} // namespace sinter::conformance
