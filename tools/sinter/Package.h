// A packaged graph, read from MLIR bytecode or text. Owns its context; one thread.
#pragma once

#include "sinter/base/status.h"
#include "sinter/codegen/Compile.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <filesystem>

namespace sinter::tools {

/// Gathers the errors that MLIR reports while it lives, as one text; warnings and remarks go to
/// stderr at once.
class Diagnostics {
public:
  explicit Diagnostics(mlir::MLIRContext &context);
  ~Diagnostics();
  /// The errors so far, or `fallback` if none was reported; forgets them.
  std::string take(const std::string &fallback);

private:
  mlir::MLIRContext &context;
  uint64_t handler;
  std::string errors;
};

class Package {
public:
  static StatusOr<std::unique_ptr<Package>> read(const std::string &path);

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The weights the package names; empty if it names none.
  std::filesystem::path weights;

private:
  Package();
};

} // namespace sinter::tools
