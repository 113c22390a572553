#include "Strides.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen::cuda {
namespace {

constexpr int64_t kTypicalSize = 64; ///< of a dimension that isn't known

/// Computes indices for one value of `variable`.
class Evaluation {
public:
  Evaluation(Value variable, int64_t number) : variable(variable), number(number) {}

  std::optional<int64_t> of(Value value) {
    if (value == variable)
      return number;
    if (auto constant = getConstantIntValue(value))
      return constant;
    auto [entry, isNew] = known.try_emplace(value, std::nullopt);
    if (!isNew)
      return entry->second;
    auto result = compute(value);
    return known[value] = result;
  }

private:
  std::optional<int64_t> compute(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return kTypicalSize;
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
      return of(op->getOperand(0));
    if (op->getNumOperands() != 2)
      return std::nullopt;
    auto a = of(op->getOperand(0)), b = of(op->getOperand(1));
    if (!a || !b)
      return std::nullopt;
    if (isa<arith::AddIOp>(op))
      return *a + *b;
    if (isa<arith::SubIOp>(op))
      return *a - *b;
    if (isa<arith::MulIOp>(op))
      return *a * *b;
    if (*b == 0)
      return std::nullopt;
    if (isa<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>(op))
      return llvm::divideFloorSigned(*a, *b);
    if (isa<arith::RemUIOp, arith::RemSIOp>(op))
      return *a % *b;
    return std::nullopt;
  }

  Value variable;
  int64_t number;
  DenseMap<Value, std::optional<int64_t>> known;
};

} // namespace

std::optional<int64_t> strideOfLoad(GroupOp group, unsigned symbols,
                                    function_ref<void(ThreadKernel &, Value)> emit) {
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(group.getLoc());
  ThreadKernel k(*scratch, "probe", group.getLoc(), group.getBody().getArguments(), 0, symbols, 32);
  emit(k, k.thread());
  LLVM::GEPOp place;
  scratch->walk([&](LLVM::LoadOp load) {
    place = load.getAddr().getDefiningOp<LLVM::GEPOp>();
    return WalkResult::interrupt();
  });
  if (!place || place.getDynamicIndices().size() != 1)
    return std::nullopt;
  Value offset = place.getDynamicIndices()[0];
  auto first = Evaluation(k.thread(), 0).of(offset), second = Evaluation(k.thread(), 1).of(offset);
  if (!first || !second)
    return std::nullopt;
  return *second - *first;
}

} // namespace sinter::codegen::cuda
