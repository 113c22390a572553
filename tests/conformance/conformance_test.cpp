// usage: conformance_test [--interpreter-only | --device=emu | --record=DIR | --print]
//                         [GoogleTest's flags]
//   --interpreter-only   leave compiled code out
//   --device=emu         only CUDA kernels on the emulated card, against the interpreter
//   --record=DIR         compile for cards and keep all runs in packs, for tools/gpu-check
//   --print              print the module of each op's rows instead of running it, for sinter-opt
//
// The op conformance suite: one test an op of the dialect, made from its definitions. See
// docs/adding-an-op.md for the rows an op needs, and bounds.md for the errors it may have.
#include "Suite.h"

#include "sinter/codegen/Compile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string_view>

using namespace mlir;
using namespace sinter::conformance;

static constexpr size_t kLeastRows = 20;

/// Ops that only passes make, inside what every compiled row is turned into; tests/passes has their
/// own tests.
static bool isMadeByPasses(const OpInfo &op) {
  return op.mnemonic == "group" || op.mnemonic == "yield";
}

namespace {
struct Environment {
  std::vector<OpInfo> ops;
  std::map<std::string, Bound> bounds;
  std::vector<std::unique_ptr<Backend>> backends;
  Totals totals;
  bool printOnly = false, compiledOnly = false;
};

class OpTest : public testing::Test {
public:
  OpTest(Environment &environment, const OpInfo &op) : environment(environment), op(op) {}

  void TestBody() override {
    DialectRegistry registry;
    sinter::codegen::registerDialects(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadDialect<sinter::ir::SinterDialect, func::FuncDialect>();
    Suite suite(context, op, environment.bounds, environment.totals);
    bool built = suite.build();
    ASSERT_GE(suite.rows(), kLeastRows)
        << "sinter." << op.mnemonic << " (family '" << op.family << "') has " << suite.rows()
        << " rows: add some to tests/conformance/Rows*.cpp";
    if (environment.printOnly)
      return suite.print();
    if (!built || !suite.expandGradients())
      return;
    suite.interpret();
    if (!environment.compiledOnly) {
      suite.checkDecompositions();
      suite.checkGradients();
    }
    for (auto &backend : environment.backends)
      suite.checkBackend(*backend);
  }

private:
  Environment &environment;
  const OpInfo &op;
};
} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string_view option = argc > 1 ? argv[1] : "";
  auto ops = readOps(SINTER_OPS_JSON);
  auto bounds = readBounds(SINTER_BOUNDS);
  if (!ops || !bounds)
    return 1;
  Environment environment{std::move(*ops), std::move(*bounds), {}, {}};
  environment.printOnly = option == "--print";
  constexpr std::string_view kRecord = "--record=";
  bool isKnown = option.empty() || option == "--print" || option == "--interpreter-only" ||
                 option == "--device=emu" || option.starts_with(kRecord);
  if (argc > 2 || !isKnown) {
    std::fprintf(stderr, "conformance_test: unknown argument '%s'\n", argv[argc > 2 ? 2 : 1]);
    return 2;
  }
  bool records = option.starts_with(kRecord);
  environment.compiledOnly = option == "--device=emu" || records;
  if (records)
    environment.backends.push_back(makeRecorder(std::string(option.substr(kRecord.size()))));
  else if (option.empty() || environment.compiledOnly)
    environment.backends = makeBackends(environment.compiledOnly ? "emu" : "cpu");
  for (const OpInfo &op : environment.ops)
    if (!isMadeByPasses(op))
      testing::RegisterTest("Conformance", op.mnemonic.c_str(), nullptr, nullptr, __FILE__,
                            __LINE__, [&environment, &op] { return new OpTest(environment, op); });
  int result = RUN_ALL_TESTS();
  const Totals &t = environment.totals;
  std::printf("conformance: %ld ops, %ld rows, %ld gradients against %ld finite differences, %ld "
              "decompositions, "
              "%ld compiled runs (%zu backends)\n",
              long(t.ops), long(t.rows), long(t.gradients), long(t.finiteDifferences),
              long(t.decompositions), long(t.compiledRuns), environment.backends.size());
  return result;
}
