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
  Known &fresh = keep(group, emit(kernels, group, nextName()));
  byHash[hash].push_back(&fresh);
  return fresh.code;
}

const GroupCode &KernelCache::add(ArrayRef<ir::GroupOp> groups, const EmitForeach &emitAll) {
  return keep(groups.front(), emitAll(kernels, groups, nextName())).code;
}

KernelCache::Known &KernelCache::keep(ir::GroupOp group, GroupCode code) {
  Known &known = storage.emplace_back(Known{group, std::move(code)});
  for (const GroupKernel &kernel : known.code.kernels) {
    numbers[kernel.symbol] = int32_t(emitted.size());
    emitted.push_back({kernel.symbol, int32_t(kernel.threads)});
  }
  return known;
}

} // namespace sinter::codegen
