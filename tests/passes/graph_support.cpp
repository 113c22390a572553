#include "graph_support.h"

#include "sinter/ir/FiniteDifference.h"

#include "mlir/Parser/Parser.h"

#include <random>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::test {

static ReferenceTensor draw(Type type, const GraphCase &test, std::mt19937 &random) {
  auto bind = [&](AffineExpr dim) {
    AffineExpr sizes[] = {constantDim(5, type.getContext()), constantDim(3, type.getContext())};
    return *constantSize(simplify(dim.replaceSymbols(sizes)));
  };
  ReferenceTensor tensor(llvm::map_to_vector(dimsOf(type), bind),
                         cast<RankedTensorType>(type).getElementType());
  std::uniform_real_distribution<double> real(test.lower, test.upper);
  std::uniform_int_distribution<int64_t> integer(0, 2);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (tensor.isFloat())
      tensor.set(i, real(random));
    else
      tensor.setInt(i, integer(random));
  }
  return tensor;
}

Graph::Graph(const GraphCase &test) {
  context.loadDialect<SinterDialect, func::FuncDialect>();
  std::string text =
      "module attributes {sinter.symbols = [{name = \"n\", lower = 1 : i64, upper = 64 : i64}, "
      "{name = \"m\", lower = 1 : i64, upper = 64 : i64}]} {\n";
  module = parseSourceString<ModuleOp>(text + test.function + "\n}", &context);
  EXPECT_TRUE(module) << test.name;
  std::mt19937 random(7);
  for (Type type : find("f").getArgumentTypes())
    arguments.push_back(draw(type, test, random));
}

func::FuncOp Graph::find(StringRef name) { return module->lookupSymbol<func::FuncOp>(name); }

func::FuncOp
Graph::copy(StringRef from, StringRef name,
            function_ref<SmallVector<Value>(OpBuilder &, func::FuncOp, ValueRange)> results) {
  func::FuncOp function = find(from).clone();
  function.setName(name);
  module->push_back(function);
  Operation *end = function.front().getTerminator();
  OpBuilder builder(end);
  end->setOperands(results(builder, function, SmallVector<Value>(end->getOperands())));
  function.setType(
      FunctionType::get(&context, function.getArgumentTypes(), end->getOperandTypes()));
  return function;
}

func::FuncOp Graph::addGradient(StringRef from, StringRef name) {
  return copy(from, name, [](OpBuilder &builder, func::FuncOp function, ValueRange results) {
    SmallVector<Value> wrt;
    for (Value argument : function.getArguments())
      if (isa<FloatType>(elementType(argument)))
        wrt.push_back(argument);
    auto grads = GradientsOp::create(builder, function.getLoc(), ValueRange(wrt).getTypes(),
                                     results[0], Value(), wrt);
    return SmallVector<Value>(grads.getResults());
  });
}

func::FuncOp Graph::addSquares(StringRef from, StringRef name) {
  return copy(from, name, [](OpBuilder &builder, func::FuncOp function, ValueRange results) {
    Value total;
    for (Value result : results) {
      Type wide = tensorType(dimsOf(result), builder.getF64Type());
      Value cast = CastOp::create(builder, function.getLoc(), wide, result);
      Value square = MulOp::create(builder, function.getLoc(), cast, cast);
      auto all = llvm::to_vector(llvm::seq<int64_t>(0, tensorTypeOf(result).getRank()));
      Value sum = SumOp::create(builder, function.getLoc(), square, all);
      total = total ? AddOp::create(builder, function.getLoc(), total, sum) : sum;
    }
    return SmallVector<Value>{total};
  });
}

void Graph::run(function_ref<void(OpPassManager &)> pipeline) {
  PassManager manager(&context);
  pipeline(manager);
  ASSERT_TRUE(succeeded(manager.run(*module)));
}

void Graph::expandGradients() {
  run([](OpPassManager &manager) {
    manager.addNestedPass<func::FuncOp>(passes::createGradientPass());
  });
}

std::vector<ReferenceTensor> Graph::interpret(StringRef name) {
  auto results = Interpreter(Rounding::None).run(find(name), arguments);
  EXPECT_TRUE(succeeded(results));
  return succeeded(results) ? *results : std::vector<ReferenceTensor>();
}

std::vector<ReferenceTensor> Graph::differences(StringRef name) {
  std::vector<ReferenceTensor> all;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].isFloat()) {
      auto difference = finiteDifference(find(name), arguments, unsigned(i));
      EXPECT_TRUE(succeeded(difference));
      all.push_back(succeeded(difference) ? *difference : ReferenceTensor());
    }
  return all;
}

void expectClose(const std::vector<ReferenceTensor> &expected,
                 const std::vector<ReferenceTensor> &actual, double tolerance) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t k = 0; k < expected.size(); ++k) {
    ASSERT_EQ(expected[k].dims(), actual[k].dims());
    double scale = 1;
    for (int64_t i = 0; i < expected[k].size(); ++i)
      scale = std::max(scale, std::abs(expected[k].real(i)));
    for (int64_t i = 0; i < expected[k].size(); ++i)
      EXPECT_NEAR(expected[k].real(i), actual[k].real(i), tolerance * scale)
          << "result " << k << ", element " << i;
  }
}

} // namespace sinter::test
