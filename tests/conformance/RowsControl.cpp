// Structure: variables, probes and gradients.
#include "Row.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace sinter::conformance {

/// y = @v + x, read before @v is set to x.
static void addVariableRows(RowMaker &maker) {
  auto add = [&](const Shape &shape, StringRef element) {
    Row row;
    row.inputs = {maker.input(shape, element)};
    row.variables["v"] = maker.input(shape, element);
    row.smooth = false; // the gradient with respect to a variable is the business of the step tests
    row.build = [](OpBuilder &b, Location loc, ValueRange in,
                   const std::string &prefix) -> SmallVector<Value> {
      Value old = ir::ReadOp::create(b, loc, in[0].getType(), prefix + "v");
      ir::AssignOp::create(b, loc, prefix + "v", in[0]);
      return {ir::AddOp::create(b, loc, old, in[0])};
    };
    maker.add(std::move(row));
  };
  for (const std::string &element : elementsOf("NumberTensor"))
    for (const Shape &shape : {Shape{}, Shape{13, 17}})
      add(shape, element);
  for (const Shape &shape : awkwardShapes())
    if (llvm::all_of(shape, [](const Size &size) { return size.position < 0; }))
      add(shape, "f32");
}

static void addProbeRows(RowMaker &maker) {
  auto add = [&](const Shape &shape, StringRef element) {
    Row row;
    row.inputs = {maker.input(shape, element)};
    row.build = [](OpBuilder &b, Location loc, ValueRange in,
                   const std::string &) -> SmallVector<Value> {
      Value y = ir::NegOp::create(b, loc, in[0]);
      ir::ProbeOp::create(b, loc, y, "y");
      return {y};
    };
    maker.add(std::move(row));
  };
  for (const std::string &element : elementsOf("NumberTensor"))
    add({7}, element);
  for (const Shape &shape : awkwardShapes())
    add(shape, "f32");
}

/// The derivative of x^3 + exp(x), weighted by a seed or summed; its own gradient is the second
/// derivative.
static void addGradientsRows(RowMaker &maker) {
  auto add = [&](const Shape &shape, StringRef element, bool seeded) {
    Row row;
    row.inputs = {maker.input(shape, element)};
    if (seeded)
      row.inputs.push_back(maker.input(shape, element));
    row.build = [](OpBuilder &b, Location loc, ValueRange in,
                   const std::string &) -> SmallVector<Value> {
      Value square = ir::MulOp::create(b, loc, in[0], in[0]),
            cube = ir::MulOp::create(b, loc, square, in[0]);
      Value y = ir::AddOp::create(b, loc, cube, ir::ExpOp::create(b, loc, in[0]));
      Type types[] = {in[0].getType()};
      return ir::GradientsOp::create(b, loc, types, y, in.size() > 1 ? in[1] : Value(),
                                     in.take_front())
          ->getResults();
    };
    maker.add(std::move(row));
  };
  for (bool seeded : {false, true})
    for (const std::string &element : kFloats)
      add({7}, element, seeded);
  for (const Shape &shape : awkwardShapes())
    add(shape, "f32", true);
}

bool addControlRows(RowMaker &maker) {
  StringRef name = maker.op.mnemonic;
  if (name == "variable" || name == "read" || name == "assign")
    addVariableRows(maker);
  else if (name == "probe")
    addProbeRows(maker);
  else if (name == "gradients")
    addGradientsRows(maker);
  else
    return false;
  return true;
}

} // namespace sinter::conformance
