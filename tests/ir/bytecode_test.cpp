// Graph files: the dialect version they carry, and what becomes of files that can't be read.
#include "sinter/ir/Bytecode.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace sinter::ir;

namespace {

class Bytecode : public ::testing::Test {
protected:
  Bytecode()
      : handler(&context, [this](Diagnostic &diagnostic) { errors += diagnostic.str() + "\n"; }) {
    context.loadDialect<SinterDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(
        R"(module attributes {sinter.symbols = [{name = "n", lower = 1 : i64, upper = 64 : i64}]} {
          sinter.variable trainable @weight : tensor<3x4xf32>
          func.func @step(%x: tensor<?x3xf32, #sinter.dims<s0, 3>>) -> tensor<?x4xf32, #sinter.dims<s0, 4>> {
            %w = sinter.read @weight : tensor<3x4xf32>
            %y = sinter.matmul %x, %w : tensor<?x3xf32, #sinter.dims<s0, 3>>, tensor<3x4xf32> to tensor<?x4xf32, #sinter.dims<s0, 4>>
            return %y : tensor<?x4xf32, #sinter.dims<s0, 4>>
          }
        })",
        &context);
  }

  std::string write(std::optional<uint64_t> version = std::nullopt) {
    BytecodeWriterConfig config;
    if (version)
      config.setDialectVersion<SinterDialect>(std::make_unique<SinterVersion>(*version));
    std::string bytes;
    llvm::raw_string_ostream stream(bytes);
    EXPECT_TRUE(succeeded(writeBytecodeToFile(*module, stream, config)));
    return bytes;
  }

  static std::string print(ModuleOp op) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    op.print(stream);
    return text;
  }

  MLIRContext context;
  std::string errors;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
};

TEST_F(Bytecode, RoundTrip) {
  ASSERT_TRUE(module);
  auto read = parseSourceString<ModuleOp>(write(), &context);
  ASSERT_TRUE(read) << errors;
  EXPECT_EQ(print(*read), print(*module));
}

TEST_F(Bytecode, NewerVersionIsRefused) {
  EXPECT_FALSE(parseSourceString<ModuleOp>(write(kDialectVersion + 1), &context));
  EXPECT_NE(errors.find("written by a newer sinter: it has dialect version " +
                        std::to_string(kDialectVersion + 1)),
            std::string::npos)
      << errors;
}

TEST_F(Bytecode, TruncatedFilesAreRefused) {
  std::string bytes = write();
  for (size_t size = 4; size < bytes.size(); size += 7) {
    errors.clear();
    EXPECT_FALSE(parseSourceString<ModuleOp>(StringRef(bytes).take_front(size), &context)) << size;
    EXPECT_FALSE(errors.empty()) << size;
  }
}

} // namespace
