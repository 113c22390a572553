// Parses IR and runs it in the reference interpreter, for tests with values worked out by hand.
#pragma once

#include "sinter/ir/Dialect.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::ir {

class ReferenceTest : public testing::Test {
protected:
  ReferenceTest() {
    context.loadDialect<SinterDialect, mlir::func::FuncDialect>();
    context.getDiagEngine().registerHandler(
        [this](mlir::Diagnostic &diagnostic) { diagnostics += diagnostic.str() + "\n"; });
  }

  /// The last function of the module.
  mlir::Operation *parse(llvm::StringRef text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << diagnostics;
    return module ? &module->getBody()->back() : nullptr;
  }

  mlir::Type type(llvm::StringRef text) { return mlir::parseType(text, &context); }

  ReferenceTensor tensor(llvm::StringRef element, llvm::ArrayRef<int64_t> dims,
                         llvm::ArrayRef<double> values) {
    ReferenceTensor result(dims, type(element));
    EXPECT_EQ(result.size(), int64_t(values.size()));
    for (auto [i, value] : llvm::enumerate(values))
      result.set(int64_t(i), value);
    return result;
  }

  static std::vector<double> values(const ReferenceTensor &tensor) {
    std::vector<double> result;
    for (int64_t i = 0; i < tensor.size(); ++i)
      result.push_back(tensor.real(i));
    return result;
  }

  /// Values of the first result of the module's last function; nothing and a test failure if the
  /// run fails.
  std::vector<double> run(llvm::StringRef text, llvm::ArrayRef<ReferenceTensor> arguments) {
    mlir::Operation *function = parse(text);
    if (!function)
      return {};
    auto results = interpreter.run(function, arguments);
    EXPECT_TRUE(succeeded(results)) << diagnostics;
    return succeeded(results) ? values(results->front()) : std::vector<double>();
  }

  /// The diagnostics of a run that must fail.
  std::string failureOf(llvm::StringRef text, llvm::ArrayRef<ReferenceTensor> arguments) {
    mlir::Operation *function = parse(text);
    if (!function)
      return "";
    EXPECT_TRUE(failed(interpreter.run(function, arguments)));
    return diagnostics;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string diagnostics;
  Interpreter interpreter;
};

MATCHER_P(NearAll, expected, "") {
  if (arg.size() != expected.size())
    return false;
  for (size_t i = 0; i < expected.size(); ++i)
    if (!(std::abs(arg[i] - expected[i]) <= 1e-6 ||
          (std::isnan(arg[i]) && std::isnan(expected[i]))))
      return false;
  return true;
}
inline auto nearly(std::vector<double> expected) { return NearAll(std::move(expected)); }

} // namespace sinter::ir
