#include "Kernel.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IntrinsicInst.h"

#include <functional>

using namespace llvm;

namespace sinter::codegen::emulator {
namespace {

/// "ex2.approx.ftz.f32" → "ex2.approx": what is computed, without type and treatment of denormals,
/// which are always kept here.
StringRef operationName(StringRef name, std::string &storage) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  static const StringRef dropped[] = {"ftz",   "f",    "d",      "f32",    "f64", "f16", "f16x2",
                                      "v2f16", "bf16", "bf16x2", "v2bf16", "i",   "ll",  "i32",
                                      "i64",   "s",    "rn",     "approx", "full"};
  for (StringRef part : parts)
    if (!is_contained(dropped, part))
      storage += (storage.empty() ? "" : ".") + part.str();
  return storage;
}

using Emit = std::function<Value *(IRBuilder<> &, ArrayRef<Value *>)>;

Emit unary(Intrinsic::ID id) {
  return [id](IRBuilder<> &builder, ArrayRef<Value *> args) {
    return builder.CreateUnaryIntrinsic(id, args[0]);
  };
}

Emit binary(Intrinsic::ID id) {
  return [id](IRBuilder<> &builder, ArrayRef<Value *> args) {
    return builder.CreateBinaryIntrinsic(id, args[0], args[1]);
  };
}

Emit binary(Instruction::BinaryOps opcode) {
  return [opcode](IRBuilder<> &builder, ArrayRef<Value *> args) {
    return builder.CreateBinOp(opcode, args[0], args[1]);
  };
}

Value *one(Value *like) { return ConstantFP::get(like->getType(), 1.0); }

Value *reciprocal(IRBuilder<> &builder, ArrayRef<Value *> args) {
  return builder.CreateFDiv(one(args[0]), args[0]);
}

Value *reciprocalRoot(IRBuilder<> &builder, ArrayRef<Value *> args) {
  return builder.CreateFDiv(one(args[0]), builder.CreateUnaryIntrinsic(Intrinsic::sqrt, args[0]));
}

/// To [0, 1]; NaN becomes 0.
Value *saturate(IRBuilder<> &builder, ArrayRef<Value *> args) {
  Value *low = builder.CreateBinaryIntrinsic(Intrinsic::maxnum, args[0],
                                             Constant::getNullValue(args[0]->getType()));
  return builder.CreateBinaryIntrinsic(Intrinsic::minnum, low, one(args[0]));
}

Value *fusedMultiplyAdd(IRBuilder<> &builder, ArrayRef<Value *> args) {
  return builder.CreateIntrinsic(Intrinsic::fma, {args[0]->getType()}, args);
}

const Emit *findFloat(StringRef operation) {
  static const StringMap<Emit> table = {
      {"fabs", unary(Intrinsic::fabs)},
      {"floor", unary(Intrinsic::floor)},
      {"ceil", unary(Intrinsic::ceil)},
      {"trunc", unary(Intrinsic::trunc)},
      {"round", unary(Intrinsic::roundeven)},
      {"sqrt", unary(Intrinsic::sqrt)},
      {"ex2", unary(Intrinsic::exp2)},
      {"lg2", unary(Intrinsic::log2)},
      {"sin", unary(Intrinsic::sin)},
      {"cos", unary(Intrinsic::cos)},
      {"tanh", unary(Intrinsic::tanh)},
      {"fmin", binary(Intrinsic::minnum)},
      {"fmax", binary(Intrinsic::maxnum)},
      {"fmin.nan", binary(Intrinsic::minimum)},
      {"fmax.nan", binary(Intrinsic::maximum)},
      {"add", binary(Instruction::FAdd)},
      {"mul", binary(Instruction::FMul)},
      {"div", binary(Instruction::FDiv)},
      {"fma", fusedMultiplyAdd},
      {"rcp", reciprocal},
      {"rsqrt", reciprocalRoot},
      {"saturate", saturate},
  };
  auto found = table.find(operation);
  return found == table.end() ? nullptr : &found->second;
}

/// The high half of the product.
Value *multiplyHigh(IRBuilder<> &builder, ArrayRef<Value *> args, bool isSigned) {
  unsigned bits = args[0]->getType()->getIntegerBitWidth();
  Type *wide = builder.getIntNTy(2 * bits);
  auto extend = [&](Value *value) {
    return isSigned ? builder.CreateSExt(value, wide) : builder.CreateZExt(value, wide);
  };
  Value *product = builder.CreateMul(extend(args[0]), extend(args[1]));
  return builder.CreateTrunc(builder.CreateLShr(product, bits), args[0]->getType());
}

Value *multiply24(IRBuilder<> &builder, ArrayRef<Value *> args, bool isSigned) {
  auto narrow = [&](Value *value) {
    Value *high = builder.CreateShl(value, 8);
    return isSigned ? builder.CreateAShr(high, 8) : builder.CreateLShr(high, 8);
  };
  return builder.CreateMul(narrow(args[0]), narrow(args[1]));
}

/// Each byte of the result is one of the eight of b:a, or that byte's sign.
Value *permuteBytes(IRBuilder<> &builder, ArrayRef<Value *> args) {
  Type *i64 = builder.getInt64Ty();
  Value *all = builder.CreateOr(builder.CreateZExt(args[0], i64),
                                builder.CreateShl(builder.CreateZExt(args[1], i64), 32));
  Value *result = builder.getInt32(0);
  for (int i = 0; i < 4; ++i) {
    Value *select = builder.CreateLShr(args[2], 4 * i);
    Value *shift = builder.CreateZExt(builder.CreateShl(builder.CreateAnd(select, 7), 3), i64);
    Value *byte = builder.CreateTrunc(builder.CreateLShr(all, shift), builder.getInt8Ty());
    Value *sign = builder.CreateAShr(byte, 7);
    Value *isSign = builder.CreateICmpNE(builder.CreateAnd(select, 8), builder.getInt32(0));
    Value *chosen =
        builder.CreateZExt(builder.CreateSelect(isSign, sign, byte), builder.getInt32Ty());
    result = builder.CreateOr(result, builder.CreateShl(chosen, 8 * i));
  }
  return result;
}

Value *absoluteDifference(IRBuilder<> &builder, ArrayRef<Value *> args, bool isSigned) {
  Value *less =
      isSigned ? builder.CreateICmpSLT(args[0], args[1]) : builder.CreateICmpULT(args[0], args[1]);
  Value *difference = builder.CreateSelect(less, builder.CreateSub(args[1], args[0]),
                                           builder.CreateSub(args[0], args[1]));
  return builder.CreateAdd(difference, args[2]);
}

Value *lowerInteger(IRBuilder<> &builder, StringRef name, ArrayRef<Value *> args) {
  StringRef family = name.split('.').first, variant = name.split('.').second;
  bool isSigned = !variant.starts_with("u");
  if (family == "mulhi")
    return multiplyHigh(builder, args, isSigned);
  if (family == "mul24")
    return multiply24(builder, args, isSigned);
  if (family == "sad")
    return absoluteDifference(builder, args, isSigned);
  if (name == "prmt")
    return permuteBytes(builder, args);
  return nullptr;
}

/// f2i.rz, d2ull.rn, i2f.rn, f2bf16.rn …
Value *lowerConversion(IRBuilder<> &builder, StringRef name, CallInst &call) {
  auto [from, rest] = name.split('2');
  StringRef to = rest.split('.').first, rounding = rest.split('.').second.split('.').first;
  if (call.arg_size() != 1 || from.empty() || to.empty())
    return nullptr;
  Value *value = call.getArgOperand(0);
  Type *source = value->getType(), *target = call.getType();
  bool isSigned = !(from.starts_with("u") || to.starts_with("u"));
  if (source->isFloatingPointTy() && (to == "i" || to == "ui" || to == "ll" || to == "ull")) {
    auto id = StringSwitch<Intrinsic::ID>(rounding)
                  .Case("rn", Intrinsic::roundeven)
                  .Case("rz", Intrinsic::trunc)
                  .Case("rm", Intrinsic::floor)
                  .Case("rp", Intrinsic::ceil)
                  .Default(Intrinsic::not_intrinsic);
    if (id == Intrinsic::not_intrinsic)
      return nullptr;
    return builder.CreateIntrinsic(isSigned ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
                                   {target, source}, {builder.CreateUnaryIntrinsic(id, value)});
  }
  if (rounding != "rn")
    return nullptr;
  if (source->isIntegerTy() && target->isFloatingPointTy())
    return isSigned ? builder.CreateSIToFP(value, target) : builder.CreateUIToFP(value, target);
  if (source->isFloatingPointTy() && (to == "f" || to == "h" || to == "bf16")) {
    Type *narrow = to == "f"   ? builder.getFloatTy()
                   : to == "h" ? builder.getHalfTy()
                               : builder.getBFloatTy();
    return builder.CreateBitCast(builder.CreateFPCast(value, narrow), target);
  }
  return nullptr;
}

} // namespace

Value *lowerNvvmMath(IRBuilder<> &builder, CallInst &call) {
  StringRef name = call.getCalledFunction()->getName().drop_front(strlen("llvm.nvvm."));
  SmallVector<Value *> args(call.args());
  if (Value *value = lowerInteger(builder, name, args))
    return value;
  if (Value *value = lowerConversion(builder, name, call))
    return value;
  std::string storage;
  const Emit *emit = findFloat(operationName(name, storage));
  if (!emit || !call.getType()->isFPOrFPVectorTy())
    return nullptr;
  return (*emit)(builder, args);
}

} // namespace sinter::codegen::emulator
