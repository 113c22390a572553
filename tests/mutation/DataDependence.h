// What of a kernel depends on the contents of memory, by value or by control; the rest depends on
// parameters and on a thread's position only. Errs towards "depends".
#pragma once

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Function.h"

namespace sinter::mutation {

class DataDependence {
public:
  explicit DataDependence(llvm::Function &kernel);
  bool isLoaded(const llvm::Value *value) const { return loaded.contains(value); }
  /// Whether it depends on memory that threads get to this block.
  bool reaches(const llvm::BasicBlock &block) const { return blocks.contains(&block); }

private:
  bool spreadValues(llvm::Function &kernel);
  llvm::SmallPtrSet<const llvm::Value *, 32> loaded;
  llvm::SmallPtrSet<const llvm::BasicBlock *, 16> blocks;
};

} // namespace sinter::mutation
