// From object files to what a program links or loads: shared object, relocatable object, archive.
// Plain functions, one thread; they leave nothing behind.
#pragma once

#include "Toolchain.h"
#include "sinter/base/status.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace sinter::tools {

enum class OutputKind {
  Shared,  ///< .so: the objects and the runtime, one symbol visible
  Object,  ///< .o: the objects as one; the runtime is linked by whoever uses it
  Archive, ///< .a: likewise
};

/// By the extension of `path`.
StatusOr<OutputKind> outputKind(const std::string &path);

struct LinkOptions {
  OutputKind kind = OutputKind::Shared;
  std::string name;   ///< the artifact's
  std::string soname; ///< of a shared object
  RuntimeExtra extra = RuntimeExtra::OneDnn;
};

/// The content of the output file.
StatusOr<std::string> link(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects,
                           const LinkOptions &options);

} // namespace sinter::tools
