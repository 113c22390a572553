#include "Epilogue.h"

#include "cpu/Emitters.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen {

static ContractionOpInterface contractionOf(GroupOp group) {
  for (Operation &op : group.getBody().front())
    if (auto contraction = dyn_cast<ContractionOpInterface>(op))
      return contraction;
  return nullptr;
}

std::optional<LibraryEpilogue> libraryEpilogue(GroupOp group) {
  LibraryEpilogue result;
  result.contraction = contractionOf(group);
  if (!result.contraction || group.getNumResults() != 1)
    return std::nullopt;
  for (Value operand : result.contraction->getOperands())
    if (!isa<BlockArgument>(operand))
      return std::nullopt;
  Value last = result.contraction->getResult(0);
  for (Operation &op : group.getBody().front().without_terminator()) {
    if (&op == result.contraction.getOperation() || isa<ExpandOp>(op))
      continue;
    if (isa<ReluOp>(op) && op.getOperand(0) == last) {
      result.postOps.push_back(rt::PostOp::Relu);
    } else if (isa<AddOp>(op) && (op.getOperand(0) == last) != (op.getOperand(1) == last)) {
      Value other = op.getOperand(op.getOperand(0) == last ? 1 : 0);
      auto bias = other.getDefiningOp<ExpandOp>();
      Value operand = bias ? bias.getX() : other;
      if (!isa<BlockArgument>(operand))
        return std::nullopt;
      result.postOps.push_back(bias ? rt::PostOp::Bias : rt::PostOp::Add);
      result.operands.push_back(operand);
    } else {
      return std::nullopt;
    }
    last = op.getResult(0);
  }
  if (group.getBody().front().getTerminator()->getOperand(0) != last)
    return std::nullopt;
  return result;
}

AffineExpr contractionFlops(GroupOp group) {
  auto contraction = contractionOf(group);
  if (!contraction)
    return nullptr;
  ContractionSizes sizes = contraction.contractionSizes();
  return simplify(sizes.batch * sizes.m * sizes.n * sizes.k * 2);
}

bool prefersGenerated(GroupOp group) {
  // Half the time of a library call (about 2 microseconds) at a modest 30 GFLOP/s.
  constexpr int64_t kTinyFlops = 60000;
  auto flops = constantSize(contractionFlops(group));
  return flops && *flops <= kTinyFlops;
}

std::vector<std::byte> constantBytes(ConstantOp constant) {
  auto elements = cast<DenseElementsAttr>(constant.getValue());
  int64_t count = elements.getNumElements();
  std::vector<std::byte> bytes;
  if (elements.getElementType().isInteger(1)) { // packed in the attribute
    for (bool value : elements.getValues<bool>())
      bytes.push_back(std::byte(value));
    return bytes;
  }
  ArrayRef<char> raw = elements.getRawData();
  auto append = [&] {
    bytes.insert(bytes.end(), reinterpret_cast<const std::byte *>(raw.begin()),
                 reinterpret_cast<const std::byte *>(raw.end()));
  };
  for (int64_t i = 0; i < (elements.isSplat() ? count : 1); ++i)
    append();
  return bytes;
}

} // namespace sinter::codegen
