#include "sinter/package.h"

#include "session/Weights.h"
#include "sinter/core/file.h"
#include "sinter/ir/Dialect.h"
#include "tracing/Trace.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Verifier.h"

#include "llvm/Support/raw_ostream.h"

#include <set>

namespace sinter {
using detail::fail;
using detail::Trace;

/// Module attribute: the weights' file, beside the graph's.
static constexpr llvm::StringLiteral kWeightsAttr = "sinter.weights";

struct Package::Impl {
  explicit Impl(std::shared_ptr<detail::SessionState> state)
      : session(std::move(state)),
        module(mlir::ModuleOp::create(mlir::UnknownLoc::get(&session->context))),
        symbols(session->context) {}

  std::shared_ptr<detail::SessionState> session;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  detail::Symbols symbols;
};

Package::Package(Session &session)
    : session(session), impl(std::make_unique<Impl>(session.state())) {}
Package::~Package() = default;

/// Removes a function that could not be traced to its end.
static void discard(mlir::ModuleOp module, const std::string &name) {
  if (mlir::Operation *function = module.lookupSymbol(name))
    function->erase();
}

static void checkPorts(const std::string &name, const std::vector<Port> &inputs,
                       const std::vector<std::string> &outputs, Where at) {
  std::set<std::string> names;
  auto check = [&](const std::string &port) {
    if (port.empty())
      fail(at, "package: an input or output of '", name, "' has no name");
    if (!names.insert(port).second)
      fail(at, "package: two inputs or outputs of '", name, "' are named '", port, "'");
  };
  for (const Port &port : inputs)
    check(port.name);
  for (const std::string &port : outputs)
    check(port);
}

void Package::trace(const std::string &name, const JitOptions &options, detail::Function::Body body,
                    const std::vector<Port> &inputs, const std::vector<std::string> &outputs,
                    Where at) {
  if (Trace::current())
    fail(at, "package: '", name, "' is added while another function is traced");
  if (name.empty() || impl->module->lookupSymbol(name))
    fail(at, "package: ",
         name.empty() ? "an entry point needs a name"
                      : "the name '" + name + "' is taken; give this entry point another");
  checkPorts(name, inputs, outputs, at);
  try {
    Trace trace(impl->session, name, {Trace::Kind::Package, options.mode, options.weights}, at,
                *impl->module, impl->symbols);
    trace.line = at;
    std::vector<Tensor> arguments;
    for (const Port &port : inputs) {
      auto type = ir::tensorType(impl->symbols.dims(port.shape, true, at),
                                 detail::elementType(impl->session->context, port.dtype));
      arguments.push_back(trace.tensor(trace.addArgument(type, port.name, trace.location(at)), at));
    }
    detail::Function::Traced traced = body(arguments);
    std::vector<mlir::Value> results;
    for (const Tensor &result : traced.results) {
      detail::stateOf(result, at); // an Error for one that holds nothing
      results.push_back(trace.value(result.shared(), at));
    }
    if (outputs.size() > results.size())
      fail(at, "package: '", name, "' returns ", results.size(), " Tensors, but ", outputs.size(),
           " outputs are named");
    trace.finish(results, outputs);
  } catch (...) {
    discard(*impl->module, name);
    throw;
  }
  if (failed(mlir::verify(*impl->module)))
    throw Error("sinter made a graph of '" + name +
                "' that is not valid, which is a defect of "
                "sinter");
}

/// "dir/mnist.safetensors" for "dir/mnist.mlirbc".
static std::string weightsPath(const std::string &path) {
  size_t slash = path.rfind('/'), dot = path.rfind('.');
  bool hasExtension = dot != path.npos && (slash == path.npos || dot > slash);
  return (hasExtension ? path.substr(0, dot) : path) + ".safetensors";
}

void Package::write(const std::string &path, Where at) const {
  mlir::ModuleOp module = *impl->module;
  std::vector<rt::TensorView> views;
  for (auto variable : module.getOps<ir::VariableOp>()) {
    std::string name = variable.getSymName().str();
    views.push_back(detail::viewOf(name, detail::contentsOf(*impl->session->store.find(name))));
  }
  std::string weights = weightsPath(path);
  module->setAttr(kWeightsAttr, mlir::StringAttr::get(module.getContext(),
                                                      weights.substr(weights.rfind('/') + 1)));
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (failed(mlir::writeBytecodeToFile(module, stream)))
    throw Error("the graph cannot be written as bytecode, which is a defect of sinter");
  auto check = [&](const Status &status) {
    if (!status.ok())
      fail(at, "package: ", status.message());
  };
  // The graph is on the disk, all but its name, before the weights of an older one are replaced.
  StatusOr<rt::AtomicFile> graph = rt::AtomicFile::create(path);
  check(graph.status());
  check(graph->write(bytes.data(), bytes.size()));
  check(rt::writeSafetensors(weights, std::move(views)));
  check(graph->commit());
}

std::string Package::str() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  impl->module->print(stream);
  return text;
}

} // namespace sinter
