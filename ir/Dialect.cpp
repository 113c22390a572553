#include "sinter/ir/Dialect.h"

#include "ops/Fold.h"
#include "sinter/ir/Bytecode.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter::ir;

#include "sinter/ir/Dialect.cpp.inc"
#include "sinter/ir/Interfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "sinter/ir/Attributes.cpp.inc"
#define GET_OP_CLASSES
#include "sinter/ir/Ops.cpp.inc"

void SinterDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "sinter/ir/Attributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "sinter/ir/Ops.cpp.inc"
      >();
  addConstantFolding(*this);
  addBytecodeVersion(*this);
}

Operation *SinterDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                              Location loc) {
  if (isa<FloatAttr, IntegerAttr>(value))
    return FullOp::create(builder, loc, type, cast<TypedAttr>(value));
  auto elements = dyn_cast<ElementsAttr>(value);
  return elements && elements.getType() == type ? ConstantOp::create(builder, loc, type, elements)
                                                : nullptr;
}

Attribute DimsAttr::parse(AsmParser &parser, Type) {
  SmallVector<std::string> names(kMaxSymbols);
  SmallVector<std::pair<StringRef, AffineExpr>> symbols;
  for (unsigned i = 0; i < kMaxSymbols; ++i) {
    names[i] = "s" + std::to_string(i);
    symbols.emplace_back(names[i], getAffineSymbolExpr(i, parser.getContext()));
  }
  Dims dims;
  auto parseOne = [&]() -> ParseResult {
    AffineExpr expr;
    if (parser.parseAffineExpr(symbols, expr))
      return failure();
    dims.push_back(simplify(expr));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseOne))
    return {};
  return DimsAttr::get(parser.getContext(), dims);
}

void DimsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getSizes(), printer,
                        [&](AffineExpr expr) { expr.print(printer.getStream()); });
  printer << '>';
}

LogicalResult DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                       function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getSizes().size())
    return emitError() << "#sinter.dims has " << getSizes().size() << " sizes for a tensor of rank "
                       << shape.size();
  for (auto [size, expr] : llvm::zip(shape, getSizes())) {
    auto constant = constantSize(expr);
    if (constant ? *constant != size : !ShapedType::isDynamic(size))
      return emitError() << "#sinter.dims disagrees with the tensor's shape: a static dimension is "
                            "a constant of the "
                            "same size, a dynamic one an expression of symbols";
  }
  return success();
}

Location sinter::ir::makeLocation(MLIRContext *context, StringRef file, unsigned line,
                                  StringRef modulePath) {
  Location place = FileLineColLoc::get(context, file, line, 1);
  return modulePath.empty() ? place : NameLoc::get(StringAttr::get(context, modulePath), place);
}

std::string sinter::ir::sourceOf(Location loc) {
  std::string text;
  loc->walk([&](Location part) {
    auto file = dyn_cast<FileLineColLoc>(part);
    if (!file)
      return WalkResult::advance();
    text = (file.getFilename().getValue() + ":" + Twine(file.getLine())).str();
    return WalkResult::interrupt();
  });
  return text;
}

std::string sinter::ir::modulePathOf(Location loc) {
  std::string text;
  loc->walk([&](Location part) {
    auto named = dyn_cast<NameLoc>(part);
    if (!named)
      return WalkResult::advance();
    text = named.getName().str();
    return WalkResult::interrupt();
  });
  return text;
}
