#include "Kernel.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IntrinsicInst.h"

#include <cstddef>

using namespace llvm;

namespace sinter::codegen::emulator {
namespace {

/// One call on its way to services and context.
class Lowering {
public:
  Lowering(Kernel &kernel, CallInst &call, StringRef name)
      : kernel(kernel), call(call), name(name), builder(&call), i32(builder.getInt32Ty()),
        i64(builder.getInt64Ty()) {}

  /// The value to put for the call; null: none (`done`), or not known here.
  Value *value = nullptr;
  bool done = false;

  void run() {
    if (name.consume_front("read.ptx.sreg."))
      value = specialRegister();
    else if (name.consume_front("barrier.cta."))
      barrier();
    else if (name.consume_front("shfl.sync."))
      value = shuffle();
    else if (name.consume_front("vote."))
      value = vote();
    else if (name.consume_front("redux.sync."))
      value = reduce();
    else if (name.consume_front("match."))
      value = match();
    else if (name.consume_front("isspacep."))
      value = isSpace();
    else
      other();
  }

private:
  Value *arg(unsigned index) { return call.getArgOperand(index); }
  Value *low(Value *pair) { return builder.CreateTrunc(pair, i32); }
  Value *high(Value *pair) { return builder.CreateTrunc(builder.CreateLShr(pair, 32), i32); }
  Value *service(size_t offset, Type *type, std::initializer_list<Value *> args) {
    kernel.setCommunicates();
    SmallVector<Value *> all(args);
    all.push_back(kernel.addSite(call));
    return kernel.callService(builder, offset, type, all);
  }
  Value *bits(Value *number) {
    if (number->getType()->isFloatTy())
      return builder.CreateBitCast(number, i32);
    return builder.CreateZExtOrTrunc(number, i32);
  }
  Value *pair(Value *first, Value *second) {
    Value *result = builder.CreateInsertValue(PoisonValue::get(call.getType()), first, 0);
    return builder.CreateInsertValue(result, second, 1);
  }
  Value *threadIndex() { return kernel.threadField(offsetof(sinter_emu_thread, index), i32); }
  Value *lane() { return builder.CreateAnd(threadIndex(), SINTER_EMU_WARP - 1); }

  Value *specialRegister();
  Value *laneMask(StringRef relation);
  void barrier();
  Value *shuffle();
  Value *vote();
  Value *reduce();
  Value *match();
  Value *isSpace();
  void other();

  Kernel &kernel;
  CallInst &call;
  StringRef name;
  IRBuilder<> builder;
  Type *i32, *i64;
};

Value *Lowering::laneMask(StringRef relation) {
  Value *self = builder.CreateShl(builder.getInt32(1), lane());
  Value *below = builder.CreateSub(self, builder.getInt32(1));
  if (relation == "eq")
    return self;
  if (relation == "lt")
    return below;
  if (relation == "le")
    return builder.CreateOr(below, self);
  if (relation == "ge")
    return builder.CreateNot(below);
  if (relation == "gt")
    return builder.CreateNot(builder.CreateOr(below, self));
  return nullptr;
}

Value *Lowering::specialRegister() {
  if (name == "laneid")
    return lane();
  if (name == "warpid")
    return builder.CreateUDiv(threadIndex(), builder.getInt32(SINTER_EMU_WARP));
  if (name == "warpsize")
    return builder.getInt32(SINTER_EMU_WARP);
  if (name == "dynamic_smem_size")
    return kernel.blockField(offsetof(sinter_emu_block, dynamic_shared), i32);
  if (name.consume_front("lanemask."))
    return laneMask(name);
  auto [vector, axis] = name.split('.');
  unsigned index = axis == "x" ? 0 : axis == "y" ? 1 : axis == "z" ? 2 : 3;
  if (index == 3)
    return nullptr;
  if (vector == "tid")
    return kernel.threadField(offsetof(sinter_emu_thread, tid) + 4 * index, i32);
  if (vector == "ntid")
    return kernel.blockField(offsetof(sinter_emu_block, ntid) + 4 * index, i32);
  if (vector == "ctaid")
    return kernel.blockField(offsetof(sinter_emu_block, ctaid) + 4 * index, i32);
  if (vector == "nctaid")
    return kernel.blockField(offsetof(sinter_emu_block, nctaid) + 4 * index, i32);
  return nullptr;
}

void Lowering::barrier() {
  bool counted = name.ends_with(".count");
  Value *threads = counted ? arg(1) : builder.getInt32(0);
  if (name.starts_with("arrive.")) {
    done = true;
    service(offsetof(sinter_emu_services, barrier_arrive), builder.getVoidTy(), {arg(0), threads});
    return;
  }
  auto meet = [&](Value *vote) {
    return service(offsetof(sinter_emu_services, barrier), i32, {arg(0), threads, vote});
  };
  if (name.starts_with("sync.")) {
    done = true;
    meet(builder.getInt32(0));
    return;
  }
  if (!name.consume_front("red."))
    return;
  Value *predicate = arg(counted ? 2 : 1);
  if (name.starts_with("popc."))
    value = meet(builder.CreateZExt(predicate, i32));
  else if (name.starts_with("or."))
    value = builder.CreateICmpNE(meet(builder.CreateZExt(predicate, i32)), builder.getInt32(0));
  else if (name.starts_with("and.")) // nobody says no
    value = builder.CreateICmpEQ(meet(builder.CreateZExt(builder.CreateNot(predicate), i32)),
                                 builder.getInt32(0));
}

Value *Lowering::shuffle() {
  auto [kind, type] = name.split('.');
  int mode = kind == "up"     ? SINTER_EMU_SHUFFLE_UP
             : kind == "down" ? SINTER_EMU_SHUFFLE_DOWN
             : kind == "bfly" ? SINTER_EMU_SHUFFLE_BFLY
             : kind == "idx"  ? SINTER_EMU_SHUFFLE_IDX
                              : -1;
  if (mode < 0)
    return nullptr;
  Value *got = service(offsetof(sinter_emu_services, shuffle), i64,
                       {builder.getInt32(mode), arg(0), bits(arg(1)), arg(2), arg(3)});
  Value *number = low(got);
  if (type.starts_with("f32"))
    number = builder.CreateBitCast(number, builder.getFloatTy());
  if (!type.ends_with("p"))
    return number;
  return pair(number, builder.CreateICmpNE(high(got), builder.getInt32(0)));
}

Value *Lowering::vote() {
  if (!name.consume_back(".sync"))
    return nullptr; // without a mask: sm_70 and newer lack it
  Value *got = service(offsetof(sinter_emu_services, ballot), i64,
                       {arg(0), builder.CreateZExt(arg(1), i32)});
  Value *yes = low(got), *all = high(got);
  if (name == "ballot")
    return yes;
  Value *everyone = builder.CreateICmpEQ(yes, all);
  if (name == "all")
    return everyone;
  Value *someone = builder.CreateICmpNE(yes, builder.getInt32(0));
  if (name == "any")
    return someone;
  if (name == "uni")
    return builder.CreateOr(everyone, builder.CreateNot(someone));
  return nullptr;
}

Value *Lowering::reduce() {
  // Floats carry modifiers that make no difference but for NaN and the absolute value.
  if (name.contains("abs") || name.contains("NaN"))
    return nullptr;
  int operation = StringSwitch<int>(name)
                      .Case("add", SINTER_EMU_ADD)
                      .Case("and", SINTER_EMU_AND)
                      .Case("or", SINTER_EMU_OR)
                      .Case("xor", SINTER_EMU_XOR)
                      .Case("min", SINTER_EMU_MIN)
                      .Case("max", SINTER_EMU_MAX)
                      .Case("umin", SINTER_EMU_UMIN)
                      .Case("umax", SINTER_EMU_UMAX)
                      .Case("fmin", SINTER_EMU_FMIN)
                      .Case("fmax", SINTER_EMU_FMAX)
                      .Default(-1);
  if (operation < 0)
    return nullptr;
  Value *got = service(offsetof(sinter_emu_services, reduce), i32,
                       {builder.getInt32(operation), arg(1), bits(arg(0))});
  return call.getType()->isFloatTy() ? builder.CreateBitCast(got, call.getType()) : got;
}

Value *Lowering::match() {
  Value *got =
      service(offsetof(sinter_emu_services, match), i64, {arg(0), builder.CreateZExt(arg(1), i64)});
  if (name.starts_with("any.sync."))
    return low(got);
  if (!name.starts_with("all.sync."))
    return nullptr;
  Value *all = builder.CreateICmpEQ(low(got), high(got));
  return pair(builder.CreateSelect(all, low(got), builder.getInt32(0)), all);
}

Value *Lowering::isSpace() {
  Value *address = builder.CreatePtrToInt(arg(0), i64);
  Value *offset = builder.CreateSub(address, builder.getInt64(SINTER_EMU_SHARED));
  Value *isShared = builder.CreateICmpULT(offset, builder.getInt64(uint64_t(1) << 32));
  if (name == "shared")
    return isShared;
  constexpr uint64_t reach = uint64_t(1) << 47;
  Value *isGlobal =
      builder.CreateICmpULT(builder.CreateSub(address, builder.getInt64(SINTER_EMU_GLOBAL - reach)),
                            builder.getInt64(2 * reach));
  if (name == "global")
    return isGlobal;
  if (name == "local") // constants have no window of their own here
    return builder.CreateNot(builder.CreateOr(isShared, isGlobal));
  return nullptr;
}

void Lowering::other() {
  if (name == "bar.warp.sync") {
    done = true;
    service(offsetof(sinter_emu_services, warp_barrier), builder.getVoidTy(), {arg(0)});
  } else if (name == "elect.sync") {
    Value *got = service(offsetof(sinter_emu_services, ballot), i64, {arg(0), builder.getInt32(1)});
    Value *first = builder.CreateBinaryIntrinsic(Intrinsic::cttz, low(got), builder.getTrue());
    value = pair(first, builder.CreateICmpEQ(first, lane()));
  } else if (name == "activemask") {
    // Threads may be taken to run apart from each other at any time.
    value = builder.CreateShl(builder.getInt32(1), lane());
  } else if (name.starts_with("membar.")) {
    done = true;
    builder.CreateFence(AtomicOrdering::SequentiallyConsistent);
  } else if (name == "nanosleep" || name.starts_with("prefetch") ||
             name == "cp.async.commit.group" || name == "cp.async.wait.group" ||
             name == "cp.async.wait.all") {
    done = true; // copies were done where they started
  } else if (name == "reflect") {
    value = Constant::getNullValue(call.getType());
  }
}

} // namespace

Error lowerNvvmCall(Kernel &kernel, CallInst &call) {
  StringRef name = call.getCalledFunction()->getName();
  Lowering lowering(kernel, call, name.drop_front(strlen("llvm.nvvm.")));
  lowering.run();
  if (!lowering.value && !lowering.done) {
    IRBuilder<> builder(&call);
    lowering.value = lowerNvvmMath(builder, call);
  }
  if (!lowering.value && !lowering.done)
    return errorAt(kernel.description().name, call, "intrinsic '" + name + "' has no emulation");
  if (lowering.value)
    call.replaceAllUsesWith(lowering.value);
  call.eraseFromParent();
  return Error::success();
}

bool isPlainIntrinsic(Intrinsic::ID id) {
  switch (id) {
    // clang-format off
  case Intrinsic::fma: case Intrinsic::fmuladd: case Intrinsic::sqrt: case Intrinsic::fabs:
  case Intrinsic::minnum: case Intrinsic::maxnum: case Intrinsic::minimum: case Intrinsic::maximum:
  case Intrinsic::minimumnum: case Intrinsic::maximumnum: case Intrinsic::copysign:
  case Intrinsic::floor: case Intrinsic::ceil: case Intrinsic::trunc: case Intrinsic::rint:
  case Intrinsic::nearbyint: case Intrinsic::round: case Intrinsic::roundeven:
  case Intrinsic::pow: case Intrinsic::exp: case Intrinsic::exp2: case Intrinsic::exp10:
  case Intrinsic::log: case Intrinsic::log2: case Intrinsic::log10: case Intrinsic::sin:
  case Intrinsic::cos: case Intrinsic::tan: case Intrinsic::asin: case Intrinsic::acos:
  case Intrinsic::atan: case Intrinsic::atan2: case Intrinsic::sinh: case Intrinsic::cosh:
  case Intrinsic::tanh: case Intrinsic::ldexp: case Intrinsic::frexp: case Intrinsic::is_fpclass:
  case Intrinsic::canonicalize: case Intrinsic::fptosi_sat: case Intrinsic::fptoui_sat:
  case Intrinsic::ctpop: case Intrinsic::ctlz: case Intrinsic::cttz: case Intrinsic::bswap:
  case Intrinsic::bitreverse: case Intrinsic::fshl: case Intrinsic::fshr: case Intrinsic::abs:
  case Intrinsic::smin: case Intrinsic::smax: case Intrinsic::umin: case Intrinsic::umax:
  case Intrinsic::scmp: case Intrinsic::ucmp:
  case Intrinsic::sadd_sat: case Intrinsic::uadd_sat: case Intrinsic::ssub_sat:
  case Intrinsic::usub_sat: case Intrinsic::sadd_with_overflow: case Intrinsic::uadd_with_overflow:
  case Intrinsic::ssub_with_overflow: case Intrinsic::usub_with_overflow:
  case Intrinsic::smul_with_overflow: case Intrinsic::umul_with_overflow:
  case Intrinsic::vector_reduce_add: case Intrinsic::vector_reduce_mul:
  case Intrinsic::vector_reduce_and: case Intrinsic::vector_reduce_or:
  case Intrinsic::vector_reduce_xor: case Intrinsic::vector_reduce_smin:
  case Intrinsic::vector_reduce_smax: case Intrinsic::vector_reduce_umin:
  case Intrinsic::vector_reduce_umax: case Intrinsic::vector_reduce_fadd:
  case Intrinsic::vector_reduce_fmul: case Intrinsic::vector_reduce_fmin:
  case Intrinsic::vector_reduce_fmax: case Intrinsic::vector_reduce_fminimum:
  case Intrinsic::vector_reduce_fmaximum: case Intrinsic::vector_insert:
  case Intrinsic::vector_extract: case Intrinsic::expect: case Intrinsic::is_constant:
    // clang-format on
    return true;
  default:
    return false;
  }
}

} // namespace sinter::codegen::emulator
