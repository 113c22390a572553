#include "Foreach.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen {

static Dims domainOf(GroupOp group) {
  return dimsOf(group.getBody().front().getTerminator()->getOperand(0));
}

static bool isScalar(Value value) { return isOne(product(dimsOf(value), value.getContext())); }

bool isElementwise(GroupOp group) {
  if (group.getKind() != "pointwise")
    return false;
  Dims domain = domainOf(group);
  auto total = constantSize(product(domain, group.getContext()));
  if (!total || *total <= 1)
    return false;
  auto fits = [&](Value value) { return isScalar(value) || dimsOf(value) == domain; };
  Block &body = group.getBody().front();
  if (!llvm::all_of(body.getArguments(), fits))
    return false;
  for (Value output : body.getTerminator()->getOperands())
    if (dimsOf(output) != domain)
      return false;
  return llvm::all_of(body.without_terminator(), [&](Operation &op) {
    auto element = dyn_cast<ElementOpInterface>(op);
    bool spreads = isa<ExpandOp>(op) && isScalar(op.getOperand(0));
    return element && (element.isPointwise() || spreads) && llvm::all_of(op.getResults(), fits);
  });
}

bool sameElementwise(GroupOp a, GroupOp b) {
  DenseMap<Value, Value> twin;
  auto same = [&](Value x, Value y) {
    twin[x] = y;
    return elementType(x) == elementType(y) && isScalar(x) == isScalar(y);
  };
  auto sameRange = [&](ValueRange x, ValueRange y) {
    return x.size() == y.size() && llvm::all_of(llvm::zip(x, y), [&](auto pair) {
             return same(std::get<0>(pair), std::get<1>(pair));
           });
  };
  Block &left = a.getBody().front(), &right = b.getBody().front();
  if (!sameRange(left.getArguments(), right.getArguments()) ||
      left.getOperations().size() != right.getOperations().size())
    return false;
  return llvm::all_of(llvm::zip(left, right), [&](auto pair) {
    Operation &x = std::get<0>(pair), &y = std::get<1>(pair);
    auto isTwin = [&](auto operands) {
      return twin[std::get<0>(operands)] == std::get<1>(operands);
    };
    return x.getName() == y.getName() && x.getAttrDictionary() == y.getAttrDictionary() &&
           x.getNumOperands() == y.getNumOperands() &&
           llvm::all_of(llvm::zip(x.getOperands(), y.getOperands()), isTwin) &&
           sameRange(x.getResults(), y.getResults());
  });
}

} // namespace sinter::codegen
