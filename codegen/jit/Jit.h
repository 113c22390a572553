// Loads an object file of kernels into this process.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace sinter::codegen {

struct LoadedObject {
  std::shared_ptr<void> code;    ///< owns the machine code
  std::vector<void *> addresses; ///< of the symbols
};

/// Links `object` and looks up `symbols`, in order.
llvm::Expected<LoadedObject> loadObject(llvm::ArrayRef<char> object,
                                        llvm::ArrayRef<std::string> symbols);

} // namespace sinter::codegen
