// Emits each distinct group once: groups that differ only in names, source places and operands
// share their kernels.
#pragma once

#include "kernel/GroupCode.h"
#include "sinter/core/program.h"

#include "llvm/ADT/StringMap.h"

#include <list>
#include <string>
#include <vector>

namespace sinter::codegen {

class KernelCache {
public:
  KernelCache(mlir::ModuleOp kernels, EmitGroup emit) : kernels(kernels), emit(std::move(emit)) {}
  /// The code of a group equal to this one, emitted now if it is the first.
  const GroupCode &lookup(ir::GroupOp group);
  /// Several groups as one kernel, emitted anew.
  const GroupCode &add(llvm::ArrayRef<ir::GroupOp> groups, const EmitForeach &emit);
  /// Position of a kernel in `all()`.
  int32_t number(llvm::StringRef symbol) const { return numbers.lookup(symbol); }
  const std::vector<rt::Kernel> &all() const { return emitted; }

private:
  struct Known {
    ir::GroupOp group;
    GroupCode code;
  };
  std::string nextName() const { return "sinter_k" + std::to_string(storage.size()); }
  Known &keep(ir::GroupOp group, GroupCode code);

  mlir::ModuleOp kernels;
  EmitGroup emit;
  llvm::DenseMap<size_t, std::vector<Known *>> byHash;
  std::list<Known> storage;
  llvm::StringMap<int32_t> numbers;
  std::vector<rt::Kernel> emitted;
};

} // namespace sinter::codegen
