// The sinter dialect, its attributes, interfaces and ops.
#pragma once

#include "sinter/ir/Element.h"
#include "sinter/ir/Expr.h"
#include "sinter/ir/Reference.h"
#include "sinter/ir/Shape.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "sinter/ir/Dialect.h.inc"
#include "sinter/ir/Interfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "sinter/ir/Attributes.h.inc"
#define GET_OP_CLASSES
#include "sinter/ir/Ops.h.inc"

namespace sinter::ir {

/// Dialect version written into .mlirbc files; raised with every change of meaning.
inline constexpr uint32_t kDialectVersion = 1;

/// Attribute names on functions and modules.
inline constexpr llvm::StringLiteral kSymbolsAttr =
    "sinter.symbols"; ///< module: array of #sinter.symbol-like dicts
inline constexpr llvm::StringLiteral kPortNameAttr =
    "sinter.name"; ///< argument / result: port name

/// The function's source place of `op` as "train.cc:31", and the dotted path of the module it was
/// traced in.
std::string sourceOf(mlir::Location loc);
std::string modulePathOf(mlir::Location loc);
/// A location that carries both.
mlir::Location makeLocation(mlir::MLIRContext *context, llvm::StringRef file, unsigned line,
                            llvm::StringRef modulePath);

} // namespace sinter::ir
