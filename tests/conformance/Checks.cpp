// The checks of a Suite: interpreted, decomposed, differentiated, compiled.
#include "Suite.h"

#include "sinter/ir/FiniteDifference.h"
#include "sinter/passes/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;
using sinter::ir::ReferenceTensor;
using sinter::ir::Rounding;

namespace sinter::conformance {

/// Elements beyond which a finite difference takes too long.
static constexpr int64_t kMaxDifferences = 200;
/// A central difference with step 1e-5 is good to about 1e-9; second derivatives of large terms
/// cost some digits.
static constexpr double kDifferenceTolerance = 1e-6;
static constexpr double kDecompositionTolerance = 1e-9;

/// `tolerance`, or what the constants of formulas lose by rounding to the coarsest float type among
/// the arguments.
static double atLeastRounding(double tolerance, ArrayRef<ReferenceTensor> arguments) {
  for (const ReferenceTensor &argument : arguments)
    if (argument.isFloat())
      tolerance = std::max(tolerance, 4 * roundingUnit(argument.element()));
  return tolerance;
}

Operation *Suite::function(const char *kind, size_t index, ModuleOp in) const {
  return in.lookupSymbol(kind + std::to_string(index));
}

std::optional<std::vector<ReferenceTensor>> Suite::interpretOne(const char *kind, size_t index,
                                                                Rounding rounding,
                                                                ArrayRef<ReferenceTensor> arguments,
                                                                ModuleOp in) {
  ir::Interpreter interpreter(rounding);
  interpreter.variables = cases[index].variables;
  diagnostics.clear();
  auto results = interpreter.run(function(kind, index, in), arguments);
  if (failed(results)) {
    ADD_FAILURE() << cases[index].name << ": @" << kind << ": " << diagnostics;
    return std::nullopt;
  }
  cases[index].variablesAfter = std::move(interpreter.variables);
  return std::move(*results);
}

bool Suite::expandGradients() {
  expanded = cast<ModuleOp>(module->clone());
  PassManager manager(&context);
  manager.nest<func::FuncOp>().addPass(passes::createGradientPass());
  if (succeeded(manager.run(*expanded)))
    return true;
  ADD_FAILURE() << op.mnemonic << ": gradients can't be expanded: " << diagnostics;
  return false;
}

void Suite::interpret() {
  for (size_t i = 0; i < cases.size(); ++i) {
    Case &c = cases[i];
    if (auto results = interpretOne("f", i, Rounding::Stores, c.arguments, *expanded))
      c.results = std::move(*results);
    auto variablesAfter = c.variablesAfter;
    if (!c.differentiated.empty())
      if (auto gradients = interpretOne("grad", i, Rounding::Stores, c.allArguments(), *expanded))
        c.gradients = std::move(*gradients);
    c.variablesAfter = std::move(variablesAfter);
  }
}

static LogicalResult decomposeAll(Operation *function) {
  while (true) {
    ir::DecomposableOpInterface found;
    function->walk([&](ir::DecomposableOpInterface op) { found = op; });
    if (!found)
      return verify(function);
    IRRewriter rewriter(found);
    rewriter.replaceOp(found, found.decompose(rewriter));
  }
}

void Suite::checkDecompositions() {
  OwningOpRef<ModuleOp> decomposed = cast<ModuleOp>(expanded->clone());
  for (size_t i = 0; i < cases.size(); ++i) {
    Operation *f = function("f", i, *decomposed);
    bool any = false;
    f->walk([&](ir::DecomposableOpInterface) { any = true; });
    if (!any)
      continue;
    diagnostics.clear();
    if (failed(decomposeAll(f))) {
      ADD_FAILURE() << cases[i].name << ": its decomposition is not valid: " << diagnostics;
      continue;
    }
    ++totals.decompositions;
    auto whole = interpretOne("f", i, Rounding::None, cases[i].arguments, *expanded);
    auto parts = interpretOne("f", i, Rounding::None, cases[i].arguments, *decomposed);
    for (size_t r = 0; whole && parts && r < whole->size(); ++r)
      if (std::string wrong =
              compareLoosely((*whole)[r], (*parts)[r],
                             atLeastRounding(kDecompositionTolerance, cases[i].arguments));
          !wrong.empty())
        ADD_FAILURE() << cases[i].name << ": decomposed: result " << r << ": " << wrong;
  }
}

void Suite::checkGradients() {
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case &c = cases[i];
    int64_t elements = 0;
    for (unsigned argument : c.differentiated)
      elements += c.arguments[argument].size();
    if (c.differentiated.empty() || elements > kMaxDifferences)
      continue;
    auto arguments = c.allArguments();
    auto analytic = interpretOne("grad", i, Rounding::None, arguments, *expanded);
    ++totals.gradients;
    for (size_t g = 0; analytic && g < analytic->size(); ++g) {
      diagnostics.clear();
      auto numeric = ir::finiteDifference(function("loss", i, *expanded), arguments,
                                          c.differentiated[g], c.variables);
      totals.finiteDifferences += arguments[c.differentiated[g]].size();
      std::string wrong = failed(numeric)
                              ? diagnostics
                              : compareLoosely(*numeric, (*analytic)[g],
                                               atLeastRounding(kDifferenceTolerance, arguments));
      if (!wrong.empty())
        ADD_FAILURE() << c.name << ": gradient of operand " << c.differentiated[g]
                      << " against finite differences: " << wrong;
    }
  }
}

const Bound &Suite::bound(const std::string &name, const char *otherwise) const {
  auto found = bounds.find(name);
  return (found == bounds.end() ? bounds.find(otherwise) : found)->second;
}

/// The row's function over absolute values: how large the terms are that its results sum.
std::vector<ReferenceTensor> Suite::scalesOf(size_t index) {
  std::vector<ReferenceTensor> arguments = cases[index].arguments;
  for (ReferenceTensor &argument : arguments)
    for (int64_t i = 0; argument.isFloat() && i < argument.size(); ++i)
      argument.set(i, std::abs(argument.real(i)));
  auto scales = interpretOne("f", index, Rounding::None, arguments, *expanded);
  return scales ? std::move(*scales) : std::vector<ReferenceTensor>();
}

Run Suite::runOf(const char *kind, size_t index, Tensors arguments) const {
  auto compiled = cast<FunctionOpInterface>(function(kind, index, *module));
  Run run;
  run.name = cases[index].name;
  run.function = compiled.getName().str();
  run.arguments = std::move(arguments);
  llvm::append_range(run.results, compiled.getResultTypes());
  run.variables = cases[index].variables;
  return run;
}

void Suite::checkForward(Backend &backend, size_t index) {
  Case &c = cases[index];
  Bound allowed = bound(op.mnemonic, "default");
  allowed.ulps *= c.row.condition;
  allowed.perTerm *= c.row.condition;
  Run run = runOf("f", index, c.arguments);
  std::vector<ReferenceTensor> scales;
  if (allowed.of == Bound::Of::Terms)
    scales = scalesOf(index);
  for (size_t r = 0; r < c.results.size(); ++r) {
    const ReferenceTensor *scale = r < scales.size() ? &scales[r] : nullptr;
    run.expected.push_back({Expectation::Of::Result, unsigned(r), "result " + std::to_string(r),
                            c.results[r], allowanceOf(c.results[r], allowed, c.row.terms, scale)});
  }
  for (const auto &[name, value] : c.variablesAfter)
    run.expected.push_back(
        {Expectation::Of::Variable, 0, name, value, allowanceOf(value, allowed, c.row.terms)});
  checkRun(backend, std::move(run));
}

void Suite::checkBackward(Backend &backend, size_t index) {
  Case &c = cases[index];
  Run run = runOf("grad", index, c.allArguments());
  const Bound &allowed = bound(op.mnemonic + "_gradient", "gradient");
  for (size_t g = 0; g < c.gradients.size(); ++g)
    run.expected.push_back({Expectation::Of::Result, unsigned(g),
                            "gradient of operand " + std::to_string(c.differentiated[g]),
                            c.gradients[g], allowanceOf(c.gradients[g], allowed, c.row.terms)});
  checkRun(backend, std::move(run));
}

void Suite::checkRun(Backend &backend, Run run) {
  ++totals.compiledRuns;
  if (backend.keeps(run))
    return;
  std::string error, where = run.name + ": " + backend.name() + ": ";
  auto results = backend.run(run, error);
  if (failed(results)) {
    ADD_FAILURE() << where << "@" << run.function << ": " << error;
    return;
  }
  size_t wanted = llvm::count_if(
      run.expected, [](const Expectation &e) { return e.of == Expectation::Of::Result; });
  ASSERT_EQ(results->size(), wanted) << where;
  for (const Expectation &e : run.expected) {
    const ReferenceTensor &actual =
        e.of == Expectation::Of::Result ? (*results)[e.position] : run.variables[e.name];
    if (std::string wrong = compare(e.value, actual, e.allowance); !wrong.empty())
      ADD_FAILURE() << where << e.name << ": " << wrong;
  }
}

void Suite::checkBackend(Backend &backend) {
  diagnostics.clear();
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone());
  for (size_t i = 0; i < cases.size(); ++i) // only finite differences need the loss itself
    if (Operation *loss = function("loss", i, *copy))
      loss->erase();
  copy->setSymName(op.mnemonic);
  if (failed(backend.compile(*copy))) {
    ADD_FAILURE() << op.mnemonic << ": " << backend.name()
                  << " can't compile the rows: " << diagnostics;
    return;
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    checkForward(backend, i);
    if (!cases[i].differentiated.empty())
      checkBackward(backend, i);
  }
  if (std::string error; failed(backend.finish(error)))
    ADD_FAILURE() << op.mnemonic << ": " << backend.name() << ": " << error;
}

} // namespace sinter::conformance
