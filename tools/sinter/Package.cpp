#include "Package.h"

#include "sinter/base/text.h"
#include "sinter/core/file.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace sinter::tools {

/// "train.cc:31" of a location that has a file somewhere inside; "" of others.
static std::string sourceLine(mlir::Location location) {
  std::string text;
  location->walk([&](mlir::Location inner) {
    auto file = llvm::dyn_cast<mlir::FileLineColLoc>(inner);
    if (!file)
      return mlir::WalkResult::advance();
    text = concat(file.getFilename().str(), ":", file.getLine());
    return mlir::WalkResult::interrupt();
  });
  return text;
}

static std::string format(const mlir::Diagnostic &diagnostic) {
  std::string line = sourceLine(diagnostic.getLocation());
  return (line.empty() ? "" : line + ": ") + diagnostic.str();
}

Diagnostics::Diagnostics(mlir::MLIRContext &context) : context(context) {
  handler = context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
    std::string text = format(diagnostic);
    for (const mlir::Diagnostic &note : diagnostic.getNotes())
      text += "\n  " + format(note);
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      errors += (errors.empty() ? "" : "\n") + text;
    else
      llvm::errs() << text << '\n';
    return mlir::success();
  });
}

Diagnostics::~Diagnostics() { context.getDiagEngine().eraseHandler(handler); }

std::string Diagnostics::take(const std::string &fallback) {
  return errors.empty() ? fallback : std::exchange(errors, "");
}

static mlir::DialectRegistry registry() {
  mlir::DialectRegistry dialects;
  codegen::registerDialects(dialects);
  return dialects;
}

// A diagnostic names the line; the op printed whole would bury it.
Package::Package() : context(registry()) { context.printOpOnDiagnostic(false); }

StatusOr<std::unique_ptr<Package>> Package::read(const std::string &path) {
  auto file = rt::MappedFile::open(path);
  if (!file.ok())
    return file.status();
  std::unique_ptr<Package> package(new Package());
  Diagnostics diagnostics(package->context);
  llvm::StringRef bytes(reinterpret_cast<const char *>((*file)->data()), (*file)->size());
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(bytes, path), {});
  package->module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &package->context);
  if (!package->module)
    return makeError(Code::Corrupt, path,
                     " is no package: ", diagnostics.take("it is neither MLIR bytecode nor text"),
                     "; write it with Package::write of this release");
  if (package->module->getOps<mlir::func::FuncOp>().empty())
    return makeError(Code::InvalidArgument, path,
                     " holds no function; give it one with Package::add");
  if (auto name = package->module.get()->getAttrOfType<mlir::StringAttr>("sinter.weights"))
    package->weights = std::filesystem::path(path).parent_path() / name.str();
  return package;
}

} // namespace sinter::tools
