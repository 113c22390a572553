#include "KernelCache.h"

#include "mlir/IR/OperationSupport.h"

using namespace mlir;

namespace sinter::codegen {

const GroupCode &KernelCache::lookup(ir::GroupOp group) {
  auto ignoreValue = [](Value) { return llvm::hash_code(0); };
  size_t hash = OperationEquivalence::computeHash(group, ignoreValue, ignoreValue,
                                                  OperationEquivalence::IgnoreLocations);
  for (Operation &op : group.getBody().front())
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(&op, ignoreValue, ignoreValue,
                                                OperationEquivalence::IgnoreLocations));
  for (Known *known : byHash[hash])
    if (OperationEquivalence::isEquivalentTo(known->group, group,
                                             OperationEquivalence::ignoreValueEquivalence, nullptr,
                                             OperationEquivalence::IgnoreLocations) &&
        OperationEquivalence::isRegionEquivalentTo(&known->group.getBody(), &group.getBody(),
                                                   OperationEquivalence::IgnoreLocations))
      return known->code;
  std::string name = "sinter_k" + std::to_string(storage.size());
  storage.push_back({group, emit(kernels, group, name)});
  for (const GroupKernel &kernel : storage.back().code.kernels) {
    numbers[kernel.symbol] = int32_t(emitted.size());
    emitted.push_back({kernel.symbol, int32_t(kernel.threads)});
  }
  byHash[hash].push_back(&storage.back());
  return storage.back().code;
}

} // namespace sinter::codegen
