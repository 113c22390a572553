#include "Kernel.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

#include <algorithm>
#include <cstddef>

using namespace llvm;

namespace sinter::codegen::emulator {

static constexpr unsigned kLocal = 5;

bool isMemoryAccess(const Instruction &instruction) {
  return isa<LoadInst, StoreInst, AtomicRMWInst, AtomicCmpXchgInst>(instruction);
}

Value *accessPointer(Instruction &access) {
  return const_cast<Value *>(
      isa<AtomicCmpXchgInst>(access) ? cast<AtomicCmpXchgInst>(access).getPointerOperand()
      : isa<AtomicRMWInst>(access)   ? cast<AtomicRMWInst>(access).getPointerOperand()
                                     : getLoadStorePointerOperand(&access));
}

bool isLocalAccess(const Instruction &access) {
  const Value *pointer = accessPointer(const_cast<Instruction &>(access));
  if (pointer->getType()->getPointerAddressSpace() == kLocal)
    return true;
  SmallVector<const Value *, 4> objects;
  getUnderlyingObjects(pointer, objects, nullptr, 0);
  return all_of(objects, [](const Value *object) {
    auto *argument = dyn_cast<Argument>(object);
    return isa<AllocaInst>(object) || (argument && argument->hasByValAttr());
  });
}

Kernel::Kernel(Function &original, const EmulationOptions &options, HostVariables &variables)
    : original(original), options(options), hostVariables(variables) {}

Error Kernel::rewrite() {
  describe();
  moveBody();
  if (options.instrument)
    countBlocks();
  if (Error error = lowerCalls())
    return error;
  if (Error error = replaceVariables())
    return error;
  for (Instruction *access : accesses) {
    unsigned space = accessPointer(*access)->getType()->getPointerAddressSpace();
    if (space == SINTER_EMU_SPACE_GENERIC || space == SINTER_EMU_SPACE_GLOBAL ||
        space == SINTER_EMU_SPACE_SHARED || space == SINTER_EMU_SPACE_CONSTANT)
      rewriteAccess(*access);
    else
      return errorAt(result.name, *access,
                     "accesses address space " + Twine(space) + ", which has no emulation");
  }
  lowerCasts();
  unifyAddressSpaces();
  return Error::success();
}

/// The product of the numbers in an attribute such as "16,16,1"; 0 if there is none.
static uint32_t threadLimit(const Function &kernel, StringRef attribute) {
  if (!kernel.hasFnAttribute(attribute))
    return 0;
  uint32_t product = 1;
  for (StringRef part : split(kernel.getFnAttribute(attribute).getValueAsString(), ','))
    if (uint32_t number = 0; !part.trim().getAsInteger(10, number))
      product *= number;
  return product;
}

/// The parameter that all a pointer may point into comes from; -1 if that is not known.
static int16_t sourceParam(const Value *pointer) {
  SmallVector<const Value *, 4> objects;
  getUnderlyingObjects(pointer, objects, nullptr, 0);
  if (objects.size() == 1)
    if (auto *argument = dyn_cast<Argument>(objects.front()))
      return int16_t(argument->getArgNo());
  return -1;
}

void Kernel::describe() {
  const DataLayout &layout = original.getDataLayout();
  result.name = original.getName();
  result.instrumented = options.instrument;
  result.maxThreads = threadLimit(original, "nvvm.maxntid");
  if (uint32_t required = threadLimit(original, "nvvm.reqntid"))
    result.maxThreads = required;
  for (Argument &argument : original.args()) {
    Type *type = argument.hasByValAttr() ? argument.getParamByValType() : argument.getType();
    result.params.push_back({uint32_t(layout.getTypeStoreSize(type)),
                             argument.getType()->isPointerTy() && !argument.hasByValAttr()});
  }
  for (BasicBlock &block : original) {
    result.basicBlocks.push_back(instructionMix(block));
    for (Instruction &instruction : block) {
      if (auto *local = dyn_cast<AllocaInst>(&instruction))
        if (auto bytes = local->getAllocationSize(layout))
          result.localBytes += uint32_t(bytes->getFixedValue());
      if (!isMemoryAccess(instruction) || isLocalAccess(instruction))
        continue;
      accesses.push_back(&instruction);
      accessParams[&instruction] = sourceParam(accessPointer(instruction));
    }
  }
}

Value *Kernel::entryLoad(Value *base, size_t offset, Type *type) {
  Value *&value = loaded[{base, offset}];
  if (value)
    return value;
  IRBuilder<> builder(entryEnd);
  auto *load =
      builder.CreateLoad(type, builder.CreateConstGEP1_64(builder.getInt8Ty(), base, offset));
  load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(builder.getContext(), {}));
  return value = load;
}

Value *Kernel::threadField(size_t offset, Type *type) {
  return entryLoad(function->getArg(0), offset, type);
}

Value *Kernel::blockField(size_t offset, Type *type) { return entryLoad(block, offset, type); }

Value *Kernel::callService(IRBuilder<> &builder, size_t offset, Type *type,
                           ArrayRef<Value *> args) {
  Value *service = entryLoad(services, offset, builder.getPtrTy());
  SmallVector<Value *> all = {function->getArg(0)};
  all.append(args.begin(), args.end());
  SmallVector<Type *> types;
  for (Value *value : all)
    types.push_back(value->getType());
  return builder.CreateCall(FunctionType::get(type, types, false), service, all);
}

/// A kernel's own copy of a parameter that is passed by value.
static Value *copyOfParam(IRBuilder<> &builder, Value *param, Type *type, MaybeAlign align) {
  const DataLayout &layout = builder.GetInsertBlock()->getDataLayout();
  AllocaInst *copy = builder.CreateAlloca(type);
  copy->setAlignment(std::max(align.valueOrOne(), layout.getABITypeAlign(type)));
  uint64_t bytes = layout.getTypeStoreSize(type), offset = 0;
  for (uint64_t width : {8, 4, 2, 1})
    for (; bytes - offset >= width; offset += width) {
      Value *part = builder.CreateAlignedLoad(
          builder.getIntNTy(width * 8),
          builder.CreateConstGEP1_64(builder.getInt8Ty(), param, offset), Align(1));
      builder.CreateAlignedStore(
          part, builder.CreateConstGEP1_64(builder.getInt8Ty(), copy, offset), Align(1));
    }
  return copy;
}

void Kernel::moveBody() {
  LLVMContext &context = original.getContext();
  Type *pointer = PointerType::get(context, 0);
  function =
      Function::Create(FunctionType::get(Type::getVoidTy(context), {pointer}, false),
                       GlobalValue::InternalLinkage, result.name + ".thread", original.getParent());
  function->addFnAttr(Attribute::NoUnwind);
  result.function = function;
  auto *entry = BasicBlock::Create(context, "thread", function);
  BasicBlock *first = &original.getEntryBlock();
  function->splice(function->end(), &original);
  entryEnd = BranchInst::Create(first, entry);
  for (Instruction &instruction : make_early_inc_range(*first))
    if (auto *local = dyn_cast<AllocaInst>(&instruction);
        local && isa<ConstantInt>(local->getArraySize()))
      local->moveBefore(entryEnd->getIterator());
  block = threadField(offsetof(sinter_emu_thread, block), pointer);
  services = blockField(offsetof(sinter_emu_block, services), pointer);
  for (Argument &argument : original.args()) {
    if (argument.use_empty())
      continue;
    Value *table = blockField(offsetof(sinter_emu_block, params), pointer);
    Value *param = entryLoad(table, 8 * argument.getArgNo(), pointer);
    IRBuilder<> builder(entryEnd);
    Value *value =
        argument.hasByValAttr()
            ? copyOfParam(builder, param, argument.getParamByValType(), argument.getParamAlign())
            : entryLoad(param, 0, argument.getType());
    argument.replaceAllUsesWith(value);
  }
}

void Kernel::countBlocks() {
  int64_t index = 0;
  Value *counts = blockField(offsetof(sinter_emu_block, block_counts),
                             PointerType::get(function->getContext(), 0));
  for (BasicBlock &body : drop_begin(*function)) {
    IRBuilder<> builder(&*body.getFirstInsertionPt());
    Value *place = builder.CreateConstGEP1_64(builder.getInt64Ty(), counts, index++);
    builder.CreateStore(
        builder.CreateAdd(builder.CreateLoad(builder.getInt64Ty(), place), builder.getInt64(1)),
        place);
  }
}

uint32_t Kernel::addSite(const Instruction &instruction, Site site) {
  if (const DebugLoc &location = instruction.getDebugLoc()) {
    site.file = location->getFilename();
    site.line = location->getLine();
  }
  result.sites.push_back(std::move(site));
  return uint32_t(result.sites.size() - 1);
}

Value *Kernel::addSite(const Instruction &instruction) {
  return ConstantInt::get(Type::getInt32Ty(function->getContext()), addSite(instruction, {}));
}

static bool stopsThread(const CallInst &call) {
  switch (call.getIntrinsicID()) {
  case Intrinsic::trap:
  case Intrinsic::debugtrap:
  case Intrinsic::ubsantrap:
    return true;
  default:
    return call.getCalledFunction() && call.getCalledFunction()->getName() == "__assertfail";
  }
}

/// Calls that say nothing to the host.
static bool isHint(Intrinsic::ID id) {
  return id == Intrinsic::assume || id == Intrinsic::prefetch || id == Intrinsic::lifetime_start ||
         id == Intrinsic::lifetime_end || id == Intrinsic::sideeffect ||
         id == Intrinsic::donothing || id == Intrinsic::experimental_noalias_scope_decl;
}

Error Kernel::lowerCalls() {
  SmallVector<CallInst *> calls;
  for (BasicBlock &body : *function)
    for (Instruction &instruction : body)
      if (auto *call = dyn_cast<CallInst>(&instruction))
        calls.push_back(call);
  for (CallInst *call : calls) {
    if (stopsThread(*call)) {
      IRBuilder<> builder(call);
      Value *reason = call->getIntrinsicID() ? ConstantPointerNull::get(builder.getPtrTy())
                                             : hostAddress(builder, call->getArgOperand(0));
      callService(builder, offsetof(sinter_emu_services, trap), builder.getVoidTy(),
                  {reason, addSite(*call)});
      Instruction *next = call->getNextNode();
      call->replaceAllUsesWith(PoisonValue::get(call->getType()));
      call->eraseFromParent();
      BasicBlock *place = next->getParent();
      changeToUnreachable(next);
      place->getTerminator()->eraseFromParent();
      ReturnInst::Create(place->getContext(), place);
    } else if (isHint(call->getIntrinsicID())) {
      call->eraseFromParent();
    } else if (call->getCalledFunction()->getName().starts_with("llvm.nvvm.")) {
      if (Error error = lowerNvvmCall(*this, *call))
        return error;
    } else if (!isPlainIntrinsic(call->getIntrinsicID())) {
      return errorAt(result.name, *call,
                     "intrinsic '" + call->getCalledFunction()->getName() + "' has no emulation");
    }
  }
  return Error::success();
}

Value *Kernel::hostVariable(GlobalVariable &variable) {
  GlobalVariable *host = hostVariables.lookup(&variable);
  if (!is_contained(result.variables, host))
    result.variables.push_back(host);
  IRBuilder<> builder(entryEnd);
  Value *address = builder.CreatePtrToInt(host, builder.getInt64Ty());
  if (variable.getAddressSpace() == SINTER_EMU_SPACE_GLOBAL)
    address = builder.CreateSub(
        address, blockField(offsetof(sinter_emu_block, global_delta), builder.getInt64Ty()));
  return builder.CreateIntToPtr(address, variable.getType());
}

Error Kernel::placeShared(ArrayRef<GlobalVariable *> variables) {
  const DataLayout &layout = function->getDataLayout();
  auto alignOf = [&](GlobalVariable *variable) {
    return std::max(variable->getAlign().valueOrOne(),
                    layout.getABITypeAlign(variable->getValueType()));
  };
  auto sizeOf = [&](GlobalVariable *variable) {
    return layout.getTypeAllocSize(variable->getValueType()).getFixedValue();
  };
  uint64_t end = 0;
  Align dynamic(16);
  SmallVector<std::pair<GlobalVariable *, uint64_t>> places;
  for (GlobalVariable *variable : variables) {
    if (sizeOf(variable) == 0) {
      dynamic = std::max(dynamic, alignOf(variable));
      continue;
    }
    end = alignTo(end, alignOf(variable));
    places.push_back({variable, end});
    end += sizeOf(variable);
  }
  end = alignTo(end, dynamic);
  for (GlobalVariable *variable : variables)
    if (sizeOf(variable) == 0)
      places.push_back({variable, end});
  if (end > UINT32_MAX)
    return createStringError("kernel '" + result.name + "' has more than 4 GiB of shared memory");
  result.staticShared = uint32_t(end);
  for (auto [variable, offset] : places)
    sharedAddresses[variable] = ConstantExpr::getIntToPtr(
        ConstantInt::get(Type::getInt64Ty(function->getContext()), offset), variable->getType());
  return Error::success();
}

Error Kernel::replaceVariables() {
  MapVector<GlobalVariable *, SmallVector<Use *>> uses;
  for (BasicBlock &body : *function)
    for (Instruction &instruction : body)
      for (Use &use : instruction.operands())
        if (auto *variable = dyn_cast<GlobalVariable>(use.get()))
          uses[variable].push_back(&use);
  SmallVector<GlobalVariable *> shared;
  for (GlobalVariable &variable : function->getParent()->globals())
    if (uses.count(&variable) && variable.getAddressSpace() == SINTER_EMU_SPACE_SHARED)
      shared.push_back(&variable);
  if (Error error = placeShared(shared))
    return error;
  for (auto &[variable, places] : uses) {
    Value *address = variable;
    if (Constant *offset = sharedAddresses.lookup(variable))
      address = offset;
    else if (hostVariables.contains(variable))
      address = hostVariable(*variable);
    else if (variable->getAddressSpace() == SINTER_EMU_SPACE_GENERIC && variable->hasInitializer())
      result.variables.push_back(variable);
    else
      return createStringError("kernel '" + result.name + "' uses the variable '" +
                               variable->getName() + "' of address space " +
                               Twine(variable->getAddressSpace()) +
                               ", which the module does not define");
    for (Use *use : places)
      use->set(address);
  }
  return Error::success();
}

/// Where the bytes are that `pointer` points to, for code that asks nobody.
Value *Kernel::hostAddress(IRBuilder<> &builder, Value *pointer) {
  Type *word = builder.getInt64Ty();
  unsigned space = pointer->getType()->getPointerAddressSpace();
  if (space == SINTER_EMU_SPACE_CONSTANT)
    return builder.CreateIntToPtr(builder.CreatePtrToInt(pointer, word), builder.getPtrTy());
  if (space == SINTER_EMU_SPACE_SHARED)
    return builder.CreateGEP(builder.getInt8Ty(),
                             blockField(offsetof(sinter_emu_block, shared), builder.getPtrTy()),
                             builder.CreatePtrToInt(pointer, word));
  Value *address = builder.CreatePtrToInt(pointer, word);
  Value *delta = blockField(offsetof(sinter_emu_block, global_delta), word);
  if (space == SINTER_EMU_SPACE_GENERIC) {
    // Variables of the module lie up to 2^47 to either side of the device's memory.
    constexpr uint64_t reach = uint64_t(1) << 47;
    Value *isGlobal = builder.CreateICmpULT(
        builder.CreateSub(address, builder.getInt64(SINTER_EMU_GLOBAL - reach)),
        builder.getInt64(2 * reach));
    Value *offset = builder.CreateSub(address, builder.getInt64(SINTER_EMU_SHARED));
    Value *isShared = builder.CreateICmpULT(offset, builder.getInt64(uint64_t(1) << 32));
    Value *shared = builder.CreateSub(
        builder.CreatePtrToInt(blockField(offsetof(sinter_emu_block, shared), builder.getPtrTy()),
                               word),
        builder.getInt64(SINTER_EMU_SHARED));
    delta = builder.CreateSelect(isGlobal, delta,
                                 builder.CreateSelect(isShared, shared, builder.getInt64(0)));
  }
  return builder.CreateIntToPtr(builder.CreateAdd(address, delta), builder.getPtrTy());
}

static uint8_t accessFlags(const Instruction &access) {
  // Volatile accesses are what threads that race on purpose use.
  uint8_t strong = access.isAtomic() || access.isVolatile() ? SINTER_EMU_ATOMICALLY : 0;
  if (isa<LoadInst>(access))
    return SINTER_EMU_READS | strong;
  if (isa<StoreInst>(access))
    return SINTER_EMU_WRITES | strong;
  return SINTER_EMU_READS | SINTER_EMU_WRITES | SINTER_EMU_ATOMICALLY;
}

static Type *accessType(const Instruction &access) {
  if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&access))
    return exchange->getNewValOperand()->getType();
  if (auto *update = dyn_cast<AtomicRMWInst>(&access))
    return update->getValOperand()->getType();
  return getLoadStoreType(&access);
}

static Align accessAlign(const Instruction &access) {
  if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&access))
    return exchange->getAlign();
  if (auto *update = dyn_cast<AtomicRMWInst>(&access))
    return update->getAlign();
  return getLoadStoreAlignment(&access);
}

void Kernel::rewriteAccess(Instruction &access) {
  IRBuilder<> builder(&access);
  Value *pointer = accessPointer(access);
  Value *host = nullptr;
  if (options.instrument) {
    Site site;
    site.flags = accessFlags(access);
    site.space = uint8_t(pointer->getType()->getPointerAddressSpace());
    site.bytes = uint16_t(function->getDataLayout().getTypeStoreSize(accessType(access)));
    site.align = uint16_t(std::min<uint64_t>(accessAlign(access).value(), 16));
    site.param = accessParams.lookup(&access);
    host = callService(builder, offsetof(sinter_emu_services, access), builder.getPtrTy(),
                       {builder.CreatePtrToInt(pointer, builder.getInt64Ty()),
                        builder.getInt32(addSite(access, site))});
  } else {
    host = hostAddress(builder, pointer);
  }
  // The host need not fault on what only a GPU does.
  if (auto *load = dyn_cast<LoadInst>(&access)) {
    load->setOperand(LoadInst::getPointerOperandIndex(), host);
    if (!load->isAtomic())
      load->setAlignment(Align(1));
    else
      load->setSyncScopeID(SyncScope::System);
    load->dropUnknownNonDebugMetadata();
  } else if (auto *store = dyn_cast<StoreInst>(&access)) {
    store->setOperand(StoreInst::getPointerOperandIndex(), host);
    if (!store->isAtomic())
      store->setAlignment(Align(1));
    else
      store->setSyncScopeID(SyncScope::System);
    store->dropUnknownNonDebugMetadata();
  } else if (auto *update = dyn_cast<AtomicRMWInst>(&access)) {
    update->setOperand(AtomicRMWInst::getPointerOperandIndex(), host);
    update->setSyncScopeID(SyncScope::System);
  } else {
    auto *exchange = cast<AtomicCmpXchgInst>(&access);
    exchange->setOperand(AtomicCmpXchgInst::getPointerOperandIndex(), host);
    exchange->setSyncScopeID(SyncScope::System);
  }
}

/// Between generic and shared by their distance; all other spaces share one numbering.
void Kernel::lowerCasts() {
  SmallVector<AddrSpaceCastInst *> casts;
  for (BasicBlock &body : *function)
    for (Instruction &instruction : body)
      if (auto *cast = dyn_cast<AddrSpaceCastInst>(&instruction))
        casts.push_back(cast);
  for (AddrSpaceCastInst *cast : casts) {
    IRBuilder<> builder(cast);
    Type *word = cast->getType()->getWithNewType(builder.getInt64Ty());
    Value *address = builder.CreatePtrToInt(cast->getOperand(0), word);
    Constant *start = ConstantInt::get(word, SINTER_EMU_SHARED);
    if (cast->getSrcAddressSpace() == SINTER_EMU_SPACE_SHARED)
      address = builder.CreateAdd(address, start);
    else if (cast->getDestAddressSpace() == SINTER_EMU_SPACE_SHARED)
      address = builder.CreateSub(address, start);
    cast->replaceAllUsesWith(builder.CreateIntToPtr(address, cast->getType()));
    cast->eraseFromParent();
  }
}

namespace {
class FlatPointers : public ValueMapTypeRemapper {
  Type *remapType(Type *type) override {
    LLVMContext &context = type->getContext();
    if (type->isPointerTy())
      return PointerType::get(context, 0);
    if (auto *vector = dyn_cast<VectorType>(type))
      return VectorType::get(remapType(vector->getElementType()), vector->getElementCount());
    if (auto *array = dyn_cast<ArrayType>(type))
      return ArrayType::get(remapType(array->getElementType()), array->getNumElements());
    auto *structure = dyn_cast<StructType>(type);
    if (!structure)
      return type;
    SmallVector<Type *> elements;
    for (Type *element : structure->elements())
      elements.push_back(remapType(element));
    if (ArrayRef<Type *>(elements) == structure->elements())
      return type;
    return StructType::get(context, elements, structure->isPacked());
  }
};
} // namespace

void Kernel::unifyAddressSpaces() {
  for (BasicBlock &body : *function)
    for (Instruction &instruction : body) {
      instruction.dropDbgRecords();
      instruction.dropUnknownNonDebugMetadata({LLVMContext::MD_invariant_load});
    }
  FlatPointers types;
  ValueToValueMapTy none;
  RemapFunction(*function, none, RF_IgnoreMissingLocals | RF_NoModuleLevelChanges, &types);
}

} // namespace sinter::codegen::emulator
