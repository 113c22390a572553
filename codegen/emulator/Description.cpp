#include "Kernel.h"

#include "llvm/IR/Constants.h"

using namespace llvm;

namespace sinter::codegen::emulator {
namespace {

/// Writes C structs of sinter/abi/emu.h as constants, field by field in their order.
class ConstantWriter {
public:
  explicit ConstantWriter(Module &module) : module(module), context(module.getContext()) {}

  Constant *integer(unsigned bits, uint64_t value) {
    return ConstantInt::get(context, APInt(bits, value, false, /*implicitTrunc=*/true));
  }
  Constant *u32(uint64_t value) { return integer(32, value); }
  Constant *text(StringRef content) {
    Constant *&known = texts[content];
    if (!known)
      known = variable(ConstantDataArray::getString(context, content), "emu.text");
    return known;
  }
  Constant *record(ArrayRef<Constant *> fields) { return ConstantStruct::getAnon(context, fields); }
  /// Null for none.
  Constant *table(ArrayRef<Constant *> records) {
    if (records.empty())
      return ConstantPointerNull::get(PointerType::get(context, 0));
    auto *type = ArrayType::get(records.front()->getType(), records.size());
    return variable(ConstantArray::get(type, records), "emu.table");
  }
  GlobalVariable *variable(Constant *content, const Twine &name) {
    return new GlobalVariable(module, content->getType(), true, GlobalValue::PrivateLinkage,
                              content, name);
  }

private:
  Module &module;
  LLVMContext &context;
  StringMap<Constant *> texts;
};

Constant *sitesOf(ConstantWriter &writer, const Description &description) {
  SmallVector<Constant *> records;
  for (const Site &site : description.sites)
    records.push_back(
        writer.record({writer.text(site.file), writer.u32(site.line), writer.integer(8, site.flags),
                       writer.integer(8, site.space), writer.integer(16, site.bytes),
                       writer.integer(16, site.align), writer.integer(16, uint64_t(site.param))}));
  return writer.table(records);
}

Constant *blocksOf(ConstantWriter &writer, const Description &description) {
  SmallVector<Constant *> records;
  for (const sinter_emu_mix &mix : description.basicBlocks) {
    SmallVector<Constant *> counts;
    for (uint16_t count : mix.count)
      counts.push_back(writer.integer(16, count));
    records.push_back(writer.record(counts));
  }
  return writer.table(records);
}

} // namespace

std::string emitDescription(Module &module, const Description &description, bool exported) {
  ConstantWriter writer(module);
  SmallVector<Constant *> params, variables;
  for (const sinter_emu_param &param : description.params)
    params.push_back(writer.record({writer.u32(param.bytes), writer.u32(param.is_pointer)}));
  for (GlobalVariable *variable : description.variables) {
    StringRef name = variable->getName();
    name.consume_back(".host");
    uint64_t bytes = module.getDataLayout().getTypeAllocSize(variable->getValueType());
    variables.push_back(writer.record({writer.text(name), variable, writer.integer(64, bytes)}));
  }
  Constant *record = writer.record(
      {writer.u32(SINTER_EMU_ABI_VERSION), writer.u32(description.instrumented),
       writer.u32(description.communicates), writer.u32(description.maxThreads),
       writer.text(description.name), description.function, writer.table(params),
       sitesOf(writer, description), blocksOf(writer, description), writer.table(variables),
       writer.u32(params.size()), writer.u32(description.sites.size()),
       writer.u32(description.basicBlocks.size()), writer.u32(variables.size()),
       writer.u32(description.staticShared), writer.u32(description.localBytes)});
  std::string name = SINTER_EMU_PREFIX + description.name;
  GlobalVariable *result = writer.variable(record, name);
  result->setLinkage(GlobalValue::ExternalLinkage);
  if (!exported)
    result->setVisibility(GlobalValue::HiddenVisibility);
  return name;
}

} // namespace sinter::codegen::emulator
