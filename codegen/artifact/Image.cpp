#include "Artifact.h"

#include "sinter/abi/artifact.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"

namespace sinter::codegen {
namespace {

/// Builds the constants of sinter_artifact_image in an LLVM module. Field orders are those of
/// sinter/abi/artifact.h.
class ImageBuilder {
public:
  ImageBuilder(llvm::LLVMContext &context, llvm::Module &module)
      : context(context), module(module), pointer(llvm::PointerType::get(context, 0)),
        i32(llvm::Type::getInt32Ty(context)), i64(llvm::Type::getInt64Ty(context)) {}

  llvm::Constant *global(llvm::Constant *value, llvm::StringRef name, unsigned alignment = 8) {
    auto *result = new llvm::GlobalVariable(module, value->getType(), true,
                                            llvm::GlobalValue::PrivateLinkage, value, name);
    result->setAlignment(llvm::Align(alignment));
    return result;
  }
  llvm::Constant *text(llvm::StringRef value) {
    return global(llvm::ConstantDataArray::getString(context, value), "text", 1);
  }
  llvm::Constant *bytes(llvm::StringRef value, llvm::StringRef name) {
    return global(llvm::ConstantDataArray::getString(context, value, false), name, 64);
  }
  llvm::Constant *number32(uint64_t value) { return llvm::ConstantInt::get(i32, value); }
  llvm::Constant *number64(uint64_t value) { return llvm::ConstantInt::get(i64, value); }
  llvm::Constant *null() { return llvm::ConstantPointerNull::get(pointer); }
  llvm::Constant *record(llvm::ArrayRef<llvm::Constant *> fields) {
    return llvm::ConstantStruct::getAnon(context, fields);
  }
  llvm::Constant *kernelArray(llvm::ArrayRef<std::string> symbols) {
    std::vector<llvm::Constant *> addresses;
    for (const std::string &symbol : symbols) {
      auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                           {pointer, pointer, pointer, i64, i64}, false);
      auto *function =
          llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, symbol, module);
      function->setVisibility(llvm::GlobalValue::HiddenVisibility);
      addresses.push_back(function);
    }
    auto *type = llvm::ArrayType::get(pointer, addresses.size());
    return global(llvm::ConstantArray::get(type, addresses), "kernels");
  }
  /// `const sinter_artifact_api *<name>_api(void)`: hands the image to the runtime.
  void entryPoint(llvm::StringRef name, llvm::Constant *image) {
    auto *openType = llvm::FunctionType::get(pointer, {pointer}, false);
    auto *open = llvm::Function::Create(openType, llvm::GlobalValue::ExternalLinkage,
                                        "sinter_artifact_open", module);
    auto *function = llvm::Function::Create(llvm::FunctionType::get(pointer, false),
                                            llvm::GlobalValue::ExternalLinkage, name, module);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", function));
    builder.CreateRet(builder.CreateCall(open, {image}));
  }

private:
  llvm::LLVMContext &context;
  llvm::Module &module;
  llvm::PointerType *pointer;
  llvm::IntegerType *i32, *i64;
};

} // namespace

llvm::FailureOr<llvm::SmallVector<char, 0>>
emitImage(const ArtifactOptions &options, llvm::ArrayRef<std::byte> program,
          llvm::ArrayRef<const Isa *> isas, llvm::ArrayRef<std::vector<std::string>> symbols) {
  llvm::LLVMContext context;
  llvm::Module module("image", context);
  ImageBuilder b(context, module);
  std::vector<llvm::Constant *> variants;
  for (auto [isa, names] : llvm::zip(isas, symbols))
    variants.push_back(b.record(
        {b.text(isa->name), b.kernelArray(names), b.number32(names.size()), b.number32(0)}));
  auto *variantArray = llvm::ConstantArray::get(
      llvm::ArrayType::get(variants[0]->getType(), variants.size()), variants);
  llvm::Constant *weights = b.null();
  uint64_t weightsSize = 0;
  if (!options.weights.empty()) {
    auto file = llvm::MemoryBuffer::getFile(options.weights.string(), false, false);
    if (!file) {
      llvm::errs() << "sinter: cannot read the weights " << options.weights.string() << ": "
                   << file.getError().message() << '\n';
      return llvm::failure();
    }
    weightsSize = (*file)->getBufferSize();
    weights = b.bytes((*file)->getBuffer(), "weights");
  }
  llvm::StringRef blob(reinterpret_cast<const char *>(program.data()), program.size());
  llvm::Constant *image = b.global(
      b.record({b.number32(SINTER_ABI_VERSION), b.text(options.name), b.bytes(blob, "program"),
                b.number64(program.size()), b.global(variantArray, "variants"),
                b.number32(isas.size()), weights, b.number64(weightsSize),
                options.weights.empty() && !options.weightsFile.empty()
                    ? b.text(options.weightsFile)
                    : b.null(),
                b.number32(options.compile.vendor == "onednn" ? SINTER_VENDOR_ONEDNN
                                                              : SINTER_VENDOR_NONE)}),
      "image");
  b.entryPoint(options.name + "_api", image);
  return emitObject(module, *isas[0]);
}

} // namespace sinter::codegen
