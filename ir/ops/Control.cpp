#include "ops/Verify.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace sinter::ir;

/// What `entry` of a module's sinter.symbols lacks, empty if nothing.
static StringRef symbolFault(Attribute entry) {
  auto symbol = dyn_cast<DictionaryAttr>(entry);
  if (!symbol || !symbol.getAs<StringAttr>("name"))
    return "has no name";
  auto lower = symbol.getAs<IntegerAttr>("lower"), upper = symbol.getAs<IntegerAttr>("upper");
  if (!lower || !upper || !lower.getType().isInteger(64) || !upper.getType().isInteger(64))
    return "lacks the bounds `lower` and `upper`, of i64";
  return lower.getInt() < 0 || upper.getInt() < lower.getInt() ? "needs 0 <= lower <= upper" : "";
}

LogicalResult SinterDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != kSymbolsAttr)
    return success();
  auto symbols = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!symbols || symbols.size() > kMaxSymbols)
    return op->emitError(kSymbolsAttr)
           << " must be a list of at most " << kMaxSymbols << " symbols";
  for (auto [i, entry] : llvm::enumerate(symbols))
    if (StringRef fault = symbolFault(entry); !fault.empty())
      return op->emitError("symbol ")
             << i << " of " << kSymbolsAttr << " " << fault << ": " << entry;
  return success();
}

LogicalResult VariableOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (type && type.hasStaticShape() && type.getElementType().isIntOrFloat())
    return success();
  return emitError("variable '") << getSymName() << "' needs a tensor type of static shape, not "
                                 << getType();
}

/// Checks that `name` is a variable of `value`'s type.
static LogicalResult checkVariable(Operation *op, SymbolTableCollection &symbols,
                                   FlatSymbolRefAttr name, Value value) {
  auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(op, name);
  if (!variable)
    return op->emitError("there is no variable '") << name.getValue() << "'";
  if (variable.getType() == value.getType())
    return success();
  return op->emitError("variable '")
         << name.getValue() << "' is " << variable.getType() << ", not " << value.getType();
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return checkVariable(*this, symbols, getVariableAttr(), getY());
}

LogicalResult AssignOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // Assignments stand at the end, so that looking ahead is short.
  for (Operation *next = (*this)->getNextNode(); next; next = next->getNextNode())
    if (auto other = dyn_cast<AssignOp>(next); other && other.getVariable() == getVariable())
      return other.emitError("variable '") << getVariable() << "' is assigned a second time";
  return checkVariable(*this, symbols, getVariableAttr(), getX());
}

LogicalResult AssignOp::canonicalize(AssignOp op, PatternRewriter &rewriter) {
  // A variable assigned what it holds.
  auto read = op.getX().getDefiningOp<ReadOp>();
  if (!read || read.getVariable() != op.getVariable())
    return failure();
  rewriter.eraseOp(op);
  return success();
}

LogicalResult GradientsOp::verify() {
  if (getSeed() && getSeed().getType() != getY().getType())
    return emitError("seed is ") << getSeed().getType() << " where y is " << getY().getType();
  if (getWrt().getTypes() != getGrads().getTypes())
    return emitError("each gradient has the type of the value it belongs to: ")
           << getWrt().getTypes() << " give not " << getGrads().getTypes();
  return success();
}

LogicalResult GroupOp::verify() {
  if (!llvm::is_contained({"pointwise", "reduction", "contraction", "scatter"}, getKind()))
    return emitError("kind is \"")
           << getKind() << "\", not pointwise, reduction, contraction or scatter";
  Block &body = getBody().front();
  if (body.getArgumentTypes() != getInputs().getTypes())
    return emitError("the body takes ")
           << body.getArgumentTypes() << " where the inputs are " << getInputs().getTypes();
  auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back());
  if (!yield)
    return emitError("the body must end in sinter.yield");
  if (yield.getValues().getTypes() != getOutputs().getTypes())
    return emitError("the body yields ")
           << yield.getValues().getTypes() << " where the results are " << getOutputs().getTypes();
  return success();
}
