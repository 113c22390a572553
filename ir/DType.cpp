#include "sinter/ir/DType.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace sinter::ir {

Type elementType(MLIRContext &context, DType dtype) {
  Builder builder(&context);
  switch (dtype) {
  case DType::F64:
    return builder.getF64Type();
  case DType::F32:
    return builder.getF32Type();
  case DType::F16:
    return builder.getF16Type();
  case DType::BF16:
    return builder.getBF16Type();
  case DType::I64:
  case DType::I32:
  case DType::I16:
  case DType::I8:
    return builder.getIntegerType(unsigned(8 * byteSize(dtype)));
  case DType::U8:
    return builder.getIntegerType(8, false);
  case DType::Bool:
    return builder.getI1Type();
  }
  llvm_unreachable("an unknown element type");
}

DType dtypeOf(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    type = tensor.getElementType();
  if (type.isF64())
    return DType::F64;
  if (type.isF32())
    return DType::F32;
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::BF16;
  if (type.isUnsignedInteger(8))
    return DType::U8;
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return DType::Bool;
  case 8:
    return DType::I8;
  case 16:
    return DType::I16;
  case 32:
    return DType::I32;
  default:
    return DType::I64;
  }
}

} // namespace sinter::ir
