#include "Interpreted.h"

#include "sinter/ir/DType.h"
#include "sinter/ir/Dialect.h"
#include "sinter/passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/Support/raw_ostream.h"

namespace sinter {
namespace {

using detail::SessionState;
using ir::ReferenceTensor;

class InterpretedRunnable : public detail::Runnable {
public:
  InterpretedRunnable(SessionState &session, mlir::ModuleOp source, std::string entry)
      : session(session), module(source.clone()), entry(std::move(entry)) {}

  std::vector<Array> run(std::span<const Array> inputs) override {
    auto function = module->lookupSymbol<mlir::func::FuncOp>(entry);
    ir::Interpreter interpreter;
    for (auto variable : module->getOps<ir::VariableOp>()) {
      std::string name = variable.getSymName().str();
      auto type = mlir::cast<mlir::RankedTensorType>(variable.getType());
      interpreter.variables[name] =
          fromArray(session.store.find(name)->storage(), type.getElementType());
    }
    interpreter.probe = [&](llvm::StringRef label, const ReferenceTensor &value) {
      if (session.probe)
        session.probe(label, toArray(value, DType::F32));
    };
    std::vector<ReferenceTensor> arguments;
    for (auto [i, input] : llvm::enumerate(inputs)) {
      auto type = mlir::cast<mlir::RankedTensorType>(function.getArgumentTypes()[i]);
      arguments.push_back(fromArray(input, type.getElementType()));
    }
    auto results = interpreter.run(function, arguments);
    if (failed(results))
      throw Error("the interpreter failed on '" + entry + "'");
    for (auto &[name, value] : interpreter.variables) {
      const Array &stored = session.store.find(name)->storage();
      Array now = toArray(value, stored.dtype());
      stored.copyFrom(now.data(), size_t(now.bytes()));
    }
    std::vector<Array> arrays;
    for (auto [i, value] : llvm::enumerate(*results))
      arrays.push_back(toArray(value, ir::dtypeOf(function.getResultTypes()[i])));
    return arrays;
  }

private:
  static ReferenceTensor fromArray(const Array &array, mlir::Type element) {
    ReferenceTensor tensor(array.dims(), element);
    for (int64_t i = 0; i < array.elements(); ++i)
      if (isFloat(array.dtype()))
        tensor.set(i, array.floatAt(i));
      else
        tensor.setInt(i, array.integerAt(i));
    return tensor;
  }
  static Array toArray(const ReferenceTensor &tensor, DType dtype) {
    std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
    if (isFloat(dtype)) {
      Array values = Array::empty(DType::F64, dims);
      for (int64_t i = 0; i < tensor.size(); ++i)
        values.data<double>()[i] = tensor.real(i);
      return values.cast(dtype);
    }
    Array values = Array::empty(DType::I64, dims);
    for (int64_t i = 0; i < tensor.size(); ++i)
      values.data<int64_t>()[i] = tensor.at(i).toInt();
    return values.cast(dtype);
  }

  SessionState &session;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string entry;
};

class InterpreterBackend : public detail::Backend {
public:
  InterpreterBackend(SessionState &session, std::string *dump) : session(session), dump(dump) {}

  std::shared_ptr<detail::Runnable> compile(mlir::ModuleOp module,
                                            const std::string &entry) override {
    if (dump) {
      dump->clear();
      llvm::raw_string_ostream stream(*dump);
      module->print(stream);
    }
    mlir::PassManager manager(module.getContext());
    manager.addNestedPass<mlir::func::FuncOp>(passes::createGradientPass());
    if (failed(manager.run(module)))
      throw Error("the gradients of '" + entry + "' failed");
    auto runnable = std::make_shared<InterpretedRunnable>(session, module, entry);
    module->walk([&](mlir::Operation *) { ++runnable->ops; });
    return runnable;
  }

private:
  SessionState &session;
  std::string *dump;
};

} // namespace

void testing::interpret(Session &session, std::string *dump) {
  session.state()->backend = std::make_unique<InterpreterBackend>(*session.state(), dump);
}

} // namespace sinter

// The tests link no compiler.
std::unique_ptr<sinter::detail::Backend> sinter::detail::makeBackend(SessionState &session) {
  return std::make_unique<InterpreterBackend>(session, nullptr);
}
