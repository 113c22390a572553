#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::codegen {

Type storageType(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

static unsigned bytesOf(Type type) {
  return std::max(1u, getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8);
}

KernelEmitter::KernelEmitter(ModuleOp module, Location place)
    : ElementSource(ownBuilder, place), ownBuilder(module.getContext()) {
  b.setInsertionPointToEnd(module.getBody());
}

Block *KernelEmitter::start(StringRef name, ArrayRef<Type> arguments, ValueRange inputs) {
  function = func::FuncOp::create(b, loc, name, b.getFunctionType(arguments, {}));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  for (auto [i, input] : llvm::enumerate(inputs))
    operandOf.try_emplace(input, unsigned(i));
  return entry;
}

unsigned KernelEmitter::alignment(Type type, Value) const { return bytesOf(type); }

void KernelEmitter::finish() { func::ReturnOp::create(b, loc); }

//===-- sizes and indices ---------------------------------------------------------------------===//

Value KernelEmitter::dim(AffineExpr size) {
  if (auto constant = constantSize(size))
    return index(*constant);
  Value &known = sizes[size];
  if (known)
    return known;
  // Evaluated once, at the top of the kernel.
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(prologue);
  std::function<Value(AffineExpr)> evaluate = [&](AffineExpr expr) -> Value {
    if (auto constant = constantSize(expr))
      return arith::ConstantIndexOp::create(b, loc, *constant);
    if (auto which = dyn_cast<AffineSymbolExpr>(expr))
      return arith::IndexCastOp::create(b, loc, b.getIndexType(), symbol(which.getPosition()));
    auto binary = cast<AffineBinaryOpExpr>(expr);
    Value left = evaluate(binary.getLHS()), right = evaluate(binary.getRHS());
    switch (expr.getKind()) {
    case AffineExprKind::Add:
      return arith::AddIOp::create(b, loc, left, right);
    case AffineExprKind::Mul:
      return arith::MulIOp::create(b, loc, left, right);
    case AffineExprKind::FloorDiv:
      return arith::FloorDivSIOp::create(b, loc, left, right);
    case AffineExprKind::CeilDiv:
      return arith::CeilDivSIOp::create(b, loc, left, right);
    case AffineExprKind::Mod:
      return arith::RemUIOp::create(b, loc, left, right);
    default:
      llvm_unreachable("sizes are made of symbols and arithmetic");
    }
  };
  Value result = evaluate(size);
  sizes[size] = result;
  return result;
}

SmallVector<Value> KernelEmitter::delinearize(Value linear, ArrayRef<AffineExpr> dims) {
  SmallVector<Value> result(dims.size());
  auto total = constantSize(product(dims, b.getContext()));
  bool narrow = prefersNarrowIndices() && total && *total <= std::numeric_limits<int32_t>::max();
  auto number = [&](Value value) -> Value {
    return narrow ? Value(arith::IndexCastOp::create(b, loc, b.getI32Type(), value)) : value;
  };
  auto asIndex = [&](Value value) -> Value {
    return narrow ? Value(arith::IndexCastUIOp::create(b, loc, b.getIndexType(), value)) : value;
  };
  linear = number(linear);
  for (size_t i = dims.size(); i-- > 0;) {
    if (isOne(dims[i])) {
      result[i] = index(0);
      continue;
    }
    bool outermost = llvm::all_of(dims.take_front(i), isOne);
    Value size = number(dim(dims[i]));
    result[i] = asIndex(outermost ? linear : Value(arith::RemUIOp::create(b, loc, linear, size)));
    if (!outermost)
      linear = arith::DivUIOp::create(b, loc, linear, size);
  }
  return result;
}

Value KernelEmitter::sub(Value a, Value b_) {
  auto x = getConstantIntValue(a), y = getConstantIntValue(b_);
  if (x && y)
    return index(*x - *y);
  return y == 0 ? a : Value(arith::SubIOp::create(b, loc, a, b_));
}
Value KernelEmitter::minimum(Value a, Value b_) {
  auto x = getConstantIntValue(a), y = getConstantIntValue(b_);
  if (x && y)
    return index(std::min(*x, *y));
  return arith::MinSIOp::create(b, loc, a, b_);
}

Value KernelEmitter::wholeLanes(Value count, int64_t lanes) {
  if (auto constant = getConstantIntValue(count))
    return index(*constant / lanes);
  return arith::DivUIOp::create(b, loc, count, index(lanes));
}

Value KernelEmitter::extract(Value vector, int64_t lane) {
  return vector::ExtractOp::create(b, loc, vector, lane);
}

void KernelEmitter::withLanes(int64_t lanes, function_ref<void()> body) {
  std::swap(laneCount, lanes);
  body();
  std::swap(laneCount, lanes);
}

SmallVector<Value> KernelEmitter::loop(Value from, Value to, int64_t step, ValueRange carried,
                                       function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto first = getConstantIntValue(from), last = getConstantIntValue(to);
  if (first && last && *first >= *last)
    return SmallVector<Value>(carried);
  if (first && last && *first + step >= *last)
    return body(from, carried);
  auto op = scf::ForOp::create(b, loc, from, to, index(step), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  SmallVector<Value> next = body(op.getInductionVar(), op.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(b, loc, next);
  return SmallVector<Value>(op.getResults());
}

void KernelEmitter::loop(Value from, Value to, int64_t step, function_ref<void(Value)> body) {
  loop(from, to, step, ValueRange{}, [&](Value i, ValueRange) {
    body(i);
    return SmallVector<Value>{};
  });
}

//===-- elements ------------------------------------------------------------------------------===//

bool KernelEmitter::visibleHere(Value value) const {
  // Code is written in order, so whatever stands in a surrounding block was computed before.
  Block *home = value.getParentBlock();
  for (Block *block = b.getInsertionBlock(); block;
       block = block->getParentOp() ? block->getParentOp()->getBlock() : nullptr) {
    if (block == home)
      return true;
    if (isa<func::FuncOp>(block->getParentOp()))
      return false;
  }
  return false;
}

Value KernelEmitter::valueAt(Value tensor, ArrayRef<Index> at) {
  if (Value value = defined.lookup(tensor)) {
    bool isVector = isa<VectorType>(value.getType());
    return lanes() > 1 && !isVector
               ? Value(vector::BroadcastOp::create(b, loc, laneType(value.getType()), value))
               : value;
  }
  auto same = [](const Index &a, const Index &b) { return a.base == b.base && a.step == b.step; };
  auto &known = cache[tensor];
  for (Cached &entry : known)
    if (entry.lanes == lanes() && llvm::equal(entry.at, at, same) && visibleHere(entry.value))
      return entry.value;
  Value result;
  if (auto operand = operandOf.find(tensor); operand != operandOf.end()) {
    result = load(operand->second, tensor, at);
  } else {
    Operation *op = tensor.getDefiningOp();
    Operation *outer = std::exchange(current, op);
    result = cast<ElementOpInterface>(op).emitElement(cast<OpResult>(tensor).getResultNumber(), at,
                                                      *this);
    current = outer;
  }
  cache[tensor].push_back({lanes(), SmallVector<Index>(at), result});
  return result;
}

Value KernelEmitter::factor(ContractionOpInterface op, unsigned side, Value batch, Value row,
                            Value column) {
  Operation *outer = std::exchange(current, op.getOperation());
  Value result = op.emitFactor(side, batch, row, column, *this);
  current = outer;
  return result;
}

Value KernelEmitter::element(unsigned operand, ArrayRef<Index> at) {
  return valueAt(current->getOperand(operand), at);
}
Value KernelEmitter::operandValue(unsigned operand) { return current->getOperand(operand); }

void KernelEmitter::define(Value tensor, Value value) {
  defined[tensor] = value;
  cache.clear();
}

//===-- memory --------------------------------------------------------------------------------===//

std::pair<Value, Value> KernelEmitter::address(Value tensor, ArrayRef<Index> at,
                                               int64_t &laneStride) {
  Dims dims = dimsOf(tensor);
  Value linear = index(0), stride = index(1), laneDistance;
  laneStride = 0;
  for (size_t i = dims.size(); i-- > 0;) {
    if (!isOne(dims[i])) {
      linear = add(linear, mul(at[i].base, stride));
      if (at[i].step != 0) {
        Value distance = mul(index(at[i].step), stride);
        laneDistance = laneDistance ? add(laneDistance, distance) : distance;
      }
    }
    if (i > 0)
      stride = mul(stride, dim(dims[i]));
  }
  if (!laneDistance)
    return {linear, nullptr};
  if (auto constant = getConstantIntValue(laneDistance)) {
    laneStride = *constant;
    return {linear, nullptr};
  }
  return {linear, laneDistance};
}

Value KernelEmitter::pointerAt(Value base, Type element, Value linear) {
  Value offset = arith::IndexCastOp::create(b, loc, b.getI64Type(), linear);
  return LLVM::GEPOp::create(b, loc, base.getType(), element, base, ArrayRef<LLVM::GEPArg>{offset});
}

Value KernelEmitter::loadRaw(unsigned operand, Type type, Value linear) {
  Type element = getElementTypeOrSelf(type);
  return LLVM::LoadOp::create(b, loc, type, pointerAt(pointers[operand], element, linear),
                              alignment(type, linear));
}

void KernelEmitter::storeRaw(unsigned operand, Value value, Value linear) {
  Type element = getElementTypeOrSelf(value);
  LLVM::StoreOp::create(b, loc, value, pointerAt(pointers[operand], element, linear),
                        alignment(value.getType(), linear));
}

Value KernelEmitter::load(unsigned operand, Value tensor, ArrayRef<Index> at) {
  Type element = elementType(tensor), stored = storageType(element);
  int64_t laneStride;
  auto [linear, laneDistance] = address(tensor, at, laneStride);
  if (lanes() == 1)
    return fromStorage(loadRaw(operand, stored, linear), element);
  Type vector = VectorType::get({lanes()}, stored);
  if (!laneDistance && laneStride == 1)
    return fromStorage(loadRaw(operand, vector, linear), element);
  if (!laneDistance && laneStride == 0) {
    Value scalar;
    int64_t all = std::exchange(laneCount, 1);
    scalar = fromStorage(loadRaw(operand, stored, linear), element);
    laneCount = all;
    return vector::BroadcastOp::create(b, loc, laneType(scalar.getType()), scalar);
  }
  Value distance = laneDistance ? laneDistance : index(laneStride);
  Value result = LLVM::PoisonOp::create(b, loc, vector);
  for (int64_t lane = 0; lane < lanes(); ++lane) {
    Value scalar = loadRaw(operand, stored, add(linear, mul(index(lane), distance)));
    result = vector::InsertOp::create(b, loc, scalar, result, ArrayRef<int64_t>{lane});
  }
  return fromStorage(result, element);
}

void KernelEmitter::store(unsigned operand, Value tensor, ArrayRef<Index> at, Value value) {
  Type element = elementType(tensor);
  int64_t laneStride;
  auto [linear, laneDistance] = address(tensor, at, laneStride);
  Value stored = toStorage(value, element);
  if (lanes() == 1 || (!laneDistance && laneStride == 1))
    return storeRaw(operand, stored, linear);
  Value distance = laneDistance ? laneDistance : index(laneStride);
  for (int64_t lane = 0; lane < lanes(); ++lane)
    storeRaw(operand, vector::ExtractOp::create(b, loc, stored, lane),
             add(linear, mul(index(lane), distance)));
}

Value KernelEmitter::fromStorage(Value stored, Type element) {
  ScalarExpr value{b, loc, stored};
  if (element.isInteger(1))
    return ne(value, value.constant(0)).value;
  if (element.isBF16()) {
    // A bf16 is the upper half of an f32.
    Value bits = arith::BitcastOp::create(b, loc, laneType(b.getIntegerType(16)), stored);
    Value wide = arith::ExtUIOp::create(b, loc, laneType(b.getI32Type()), bits);
    ScalarExpr word{b, loc, wide};
    return arith::BitcastOp::create(b, loc, laneType(b.getF32Type()),
                                    arith::ShLIOp::create(b, loc, wide, word.constant(16).value));
  }
  if (element.isF16())
    return arith::ExtFOp::create(b, loc, laneType(b.getF32Type()), stored);
  return stored;
}

Value KernelEmitter::toStorage(Value value, Type element) {
  if (element.isInteger(1))
    return arith::ExtUIOp::create(b, loc, laneType(b.getIntegerType(8)), value);
  if (element.isBF16() || element.isF16())
    return arith::TruncFOp::create(b, loc, laneType(element), value);
  return value;
}

} // namespace sinter::codegen
