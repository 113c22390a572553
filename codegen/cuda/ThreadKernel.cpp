#include "ThreadKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

#include <numeric>

using namespace mlir;

namespace sinter::codegen {

constexpr unsigned kGlobal = 1, kShared = 3; // address spaces

ThreadKernel::ThreadKernel(ModuleOp module, StringRef name, Location loc, ValueRange inputs,
                           unsigned others, unsigned symbols, int64_t threads)
    : KernelEmitter(module, loc), module(module), operands(unsigned(inputs.size()) + others),
      blockSize(threads) {
  SmallVector<Type> types(operands, LLVM::LLVMPointerType::get(b.getContext(), kGlobal));
  types.append(symbols, b.getI64Type());
  Block *entry = start(name, types, inputs);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    b.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
  // One block a multiprocessor will do: the assembler must not spill to make room for more.
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(1));
  llvm::append_range(pointers, entry->getArguments().take_front(operands));
  auto read = [&](Value id) { return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), id); };
  blockIndex = read(NVVM::BlockIdXOp::create(b, loc, b.getI32Type()));
  auto last = read(NVVM::ThreadIdXOp::create(b, loc, b.getI32Type()));
  threadIndex = last;
  prologue = last;
}

Value ThreadKernel::symbol(unsigned position) { return function.getArgument(operands + position); }

//===-- alignment -----------------------------------------------------------------------------===//

int64_t knownDivisor(Value index) {
  if (auto constant = getConstantIntValue(index))
    return std::abs(*constant);
  Operation *op = index.getDefiningOp();
  if (!op) {
    auto loop = dyn_cast<scf::ForOp>(index.getParentBlock()->getParentOp());
    if (!loop || index != loop.getInductionVar())
      return 1;
    return std::gcd(knownDivisor(loop.getLowerBound()), knownDivisor(loop.getStep()));
  }
  auto of = [&](unsigned i) { return knownDivisor(op->getOperand(i)); };
  if (isa<arith::AddIOp, arith::SubIOp, arith::RemUIOp, arith::MinSIOp>(op))
    return std::gcd(of(0), of(1));
  if (isa<arith::MulIOp>(op)) {
    int64_t product;
    return llvm::MulOverflow(of(0), of(1), product) ? 1 : product;
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return of(0);
  return isa<arith::SelectOp>(op) ? std::gcd(of(1), of(2)) : 1;
}

unsigned ThreadKernel::alignment(Type type, Value linear) const {
  unsigned plain = KernelEmitter::alignment(type, linear);
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return plain;
  int64_t count = vector.getNumElements(), divisor = knownDivisor(linear);
  // Where only part of the vector is aligned, the back end splits the access.
  int64_t known = divisor == 0 ? count : std::gcd(divisor, count);
  return plain * unsigned(known);
}

//===-- control -------------------------------------------------------------------------------===//

void ThreadKernel::barrier() { NVVM::Barrier0Op::create(b, loc); }

void ThreadKernel::when(Value condition, function_ref<void()> body) {
  auto guard = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard insertion(b);
  b.setInsertionPointToStart(guard.thenBlock());
  body();
}

Value ThreadKernel::less(Value a, Value b_) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, a, b_);
}
Value ThreadKernel::inverse(Value condition) {
  return arith::XOrIOp::create(b, loc, condition, arith::ConstantIntOp::create(b, loc, 1, 1));
}
Value ThreadKernel::both(Value a, Value b_) { return arith::AndIOp::create(b, loc, a, b_); }
Value ThreadKernel::select(Value condition, Value a, Value b_) {
  return arith::SelectOp::create(b, loc, condition, a, b_);
}
Value ThreadKernel::quotient(Value a, int64_t b_) {
  return arith::DivUIOp::create(b, loc, a, index(b_));
}
Value ThreadKernel::remainder(Value a, int64_t b_) {
  return arith::RemUIOp::create(b, loc, a, index(b_));
}

//===-- between threads -----------------------------------------------------------------------===//

void ThreadKernel::atomicAdd(unsigned operand, Value tensor, ArrayRef<ir::Index> at, Value value) {
  int64_t laneStride;
  Value linear = address(tensor, at, laneStride).first;
  Type type = value.getType();
  auto op = isa<FloatType>(type) ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
  LLVM::AtomicRMWOp::create(b, loc, op, pointerAt(pointers[operand], type, linear), value,
                            LLVM::AtomicOrdering::monotonic, "device");
}

/// i1 has no memory of its own.
static Type sharedType(Type type) {
  return type.isInteger(1) ? IntegerType::get(type.getContext(), 8) : type;
}

Value ThreadKernel::shared(Type type, int64_t count) {
  std::string name = (function.getName() + "_shared" + Twine(sharedArrays++)).str();
  auto array = LLVM::LLVMArrayType::get(sharedType(type), unsigned(count));
  OpBuilder::InsertionGuard insertion(b);
  b.setInsertionPoint(function);
  LLVM::GlobalOp::create(b, loc, array, /*isConstant=*/false, LLVM::Linkage::Internal, name,
                         Attribute(), /*alignment=*/16, kShared);
  b.setInsertionPointAfter(prologue);
  return LLVM::AddressOfOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext(), kShared),
                                   name);
}

Value ThreadKernel::loadShared(Value array, Type type, Value position) {
  Type stored = sharedType(type);
  Value loaded = LLVM::LoadOp::create(b, loc, stored, pointerAt(array, stored, position));
  return stored == type ? loaded : Value(arith::TruncIOp::create(b, loc, type, loaded));
}

void ThreadKernel::storeShared(Value array, Value value, Value position) {
  Type stored = sharedType(value.getType());
  if (stored != value.getType())
    value = arith::ExtUIOp::create(b, loc, stored, value);
  LLVM::StoreOp::create(b, loc, value, pointerAt(array, stored, position));
}

Value ThreadKernel::ballot(Value condition) {
  Value everyone = arith::ConstantIntOp::create(b, loc, 0xffffffff, 32);
  return NVVM::VoteSyncOp::create(b, loc, b.getI32Type(), everyone, condition,
                                  NVVM::VoteSyncKind::ballot);
}

Value ThreadKernel::exchangeWord(Value word, int64_t distance) {
  auto number = [&](int64_t value) {
    return arith::ConstantIntOp::create(b, loc, value, 32).getResult();
  };
  return NVVM::ShflOp::create(b, loc, word.getType(), number(0xffffffff), word, number(distance),
                              number(31), NVVM::ShflKind::bfly, UnitAttr());
}

Value ThreadKernel::exchange(Value value, int64_t distance) {
  Type type = value.getType(), i32 = b.getI32Type();
  unsigned width = type.getIntOrFloatBitWidth();
  if (type.isF32() || type.isInteger(32))
    return exchangeWord(value, distance);
  Type bits = b.getIntegerType(width);
  Value raw = type == bits ? value : Value(arith::BitcastOp::create(b, loc, bits, value));
  if (width < 32) {
    Value wide = exchangeWord(arith::ExtUIOp::create(b, loc, i32, raw), distance);
    raw = arith::TruncIOp::create(b, loc, bits, wide);
  } else {
    auto pair = VectorType::get({2}, i32), single = VectorType::get({1}, bits);
    Value one = vector::BroadcastOp::create(b, loc, single, raw);
    Value words = vector::BitCastOp::create(b, loc, pair, one);
    for (int64_t half = 0; half < 2; ++half)
      words = vector::InsertOp::create(
          b, loc, exchangeWord(vector::ExtractOp::create(b, loc, words, half), distance), words,
          ArrayRef<int64_t>{half});
    raw = vector::ExtractOp::create(b, loc, vector::BitCastOp::create(b, loc, single, words), 0);
  }
  return type == bits ? raw : Value(arith::BitcastOp::create(b, loc, type, raw));
}

} // namespace sinter::codegen
