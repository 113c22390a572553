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
  llvm::Constant *function(llvm::StringRef symbol) {
    auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false); // whatever it is
    return hidden(llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, symbol, module));
  }
  llvm::Constant *object(llvm::StringRef symbol) {
    return hidden(new llvm::GlobalVariable(module, llvm::Type::getInt8Ty(context), true,
                                           llvm::GlobalValue::ExternalLinkage, nullptr, symbol));
  }
  llvm::Constant *kernelArray(llvm::ArrayRef<std::string> symbols) {
    std::vector<llvm::Constant *> addresses;
    for (const std::string &symbol : symbols)
      addresses.push_back(function(symbol));
    return pointerArray(addresses);
  }
  llvm::Constant *objectArray(llvm::ArrayRef<std::string> symbols) {
    std::vector<llvm::Constant *> addresses;
    for (const std::string &symbol : symbols)
      addresses.push_back(object(symbol));
    return pointerArray(addresses);
  }
  /// An array of equal records, null if there is none.
  llvm::Constant *recordArray(llvm::ArrayRef<llvm::Constant *> records, llvm::StringRef name) {
    if (records.empty())
      return null();
    auto *type = llvm::ArrayType::get(records[0]->getType(), records.size());
    return global(llvm::ConstantArray::get(type, records), name);
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
  llvm::Constant *hidden(llvm::GlobalValue *value) {
    value->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return value;
  }
  llvm::Constant *pointerArray(llvm::ArrayRef<llvm::Constant *> addresses) {
    auto *type = llvm::ArrayType::get(pointer, addresses.size());
    return global(llvm::ConstantArray::get(type, addresses), "kernels");
  }

  llvm::LLVMContext &context;
  llvm::Module &module;
  llvm::PointerType *pointer;
  llvm::IntegerType *i32, *i64;
};

/// One sinter_kernel_usage a kernel of the program, in its order.
llvm::Constant *usageArray(ImageBuilder &b, const CudaCode &code, const rt::Program &program) {
  if (code.usage.empty())
    return b.null();
  std::vector<llvm::Constant *> records;
  for (const rt::Kernel &kernel : program.kernels) {
    auto found = llvm::find_if(
        code.usage, [&](const CudaKernelUsage &usage) { return usage.symbol == kernel.symbol; });
    CudaKernelUsage usage = found == code.usage.end() ? CudaKernelUsage() : *found;
    records.push_back(
        b.record({b.number32(uint64_t(usage.registers)), b.number32(uint64_t(usage.sharedBytes)),
                  b.number32(uint64_t(usage.stackBytes)), b.number32(uint64_t(usage.spillStores)),
                  b.number32(uint64_t(usage.spillLoads))}));
  }
  return b.recordArray(records, "usage");
}

/// One sinter_kernel_traffic a kernel, or null.
llvm::Constant *trafficArray(ImageBuilder &b, const ArtifactOptions &options) {
  std::vector<llvm::Constant *> records;
  if (options.traffic)
    for (const sinter_kernel_traffic &kernel : options.traffic->kernels)
      records.push_back(b.record({b.number64(kernel.launches), b.number64(kernel.fetched_bytes),
                                  b.number64(kernel.distinct_bytes)}));
  return b.recordArray(records, "traffic");
}

/// The sinter_device_code records: cubins, then PTX; or emulated kernels.
std::vector<llvm::Constant *> codeRecords(ImageBuilder &b, const ArtifactOptions &options,
                                          const ImageParts &parts) {
  std::vector<llvm::Constant *> records;
  auto add = [&](llvm::StringRef architecture, uint32_t kind, int toolkit, llvm::StringRef bytes,
                 llvm::Constant *kernels, llvm::Constant *usage) {
    records.push_back(
        b.record({b.text(architecture), b.number32(kind), b.number32(uint64_t(toolkit)),
                  bytes.empty() ? b.null() : b.bytes(bytes, "code"), b.number64(bytes.size()),
                  kernels, usage}));
  };
  for (const CudaCode &code : parts.cuda)
    if (!code.cubin.empty())
      add(code.architecture, SINTER_CODE_CUBIN, code.toolkit, code.cubin, b.null(),
          usageArray(b, code, parts.program));
  for (const CudaCode &code : parts.cuda)
    add(code.architecture, SINTER_CODE_PTX, 0, code.ptx, b.null(), b.null());
  if (options.target == "emu")
    add("emu", SINTER_CODE_EMULATED, 0, "", b.objectArray(parts.emulated), b.null());
  return records;
}

uint32_t vendorOf(llvm::StringRef vendor) {
  return vendor == "onednn" ? SINTER_VENDOR_ONEDNN
         : vendor == "none" ? SINTER_VENDOR_NONE
                            : SINTER_VENDOR_NVIDIA;
}

/// The embedded weights, or null and 0.
llvm::FailureOr<std::pair<llvm::Constant *, uint64_t>> weightsOf(ImageBuilder &b,
                                                                 const ArtifactOptions &options) {
  if (options.weights.empty())
    return std::pair(b.null(), uint64_t(0));
  auto file = llvm::MemoryBuffer::getFile(options.weights.string(), false, false);
  if (!file) {
    llvm::errs() << "sinter: cannot read the weights " << options.weights.string() << ": "
                 << file.getError().message() << '\n';
    return llvm::failure();
  }
  return std::pair(b.bytes((*file)->getBuffer(), "weights"), uint64_t((*file)->getBufferSize()));
}

} // namespace

llvm::FailureOr<llvm::SmallVector<char, 0>> emitImage(const ArtifactOptions &options,
                                                      const ImageParts &parts) {
  llvm::LLVMContext context;
  llvm::Module module("image", context);
  ImageBuilder b(context, module);
  std::vector<llvm::Constant *> variants;
  for (auto [isa, names] : llvm::zip(parts.isas, parts.symbols))
    variants.push_back(b.record(
        {b.text(isa->name), b.kernelArray(names), b.number32(names.size()), b.number32(0)}));
  std::vector<llvm::Constant *> codes = codeRecords(b, options, parts);
  auto weights = weightsOf(b, options);
  if (llvm::failed(weights))
    return llvm::failure();
  bool isExternal = options.weights.empty() && !options.weightsFile.empty();
  std::vector<std::byte> program = rt::serialize(parts.program);
  llvm::StringRef blob(reinterpret_cast<const char *>(program.data()), program.size());
  llvm::Constant *image = b.global(
      b.record({b.number32(SINTER_ABI_VERSION), b.text(options.name), b.bytes(blob, "program"),
                b.number64(program.size()), b.recordArray(variants, "variants"),
                b.number32(variants.size()), weights->first, b.number64(weights->second),
                isExternal ? b.text(options.weightsFile) : b.null(),
                b.number32(vendorOf(options.compile.vendor)), b.number32(codes.size()),
                b.recordArray(codes, "codes"),
                options.target == "cpu" ? b.null() : b.function("sinter_open_" + options.target),
                trafficArray(b, options), b.text(options.traffic ? options.traffic->sizes : "")}),
      "image");
  b.entryPoint(options.name + "_api", image);
  return emitObject(module, parts.isas.empty() ? allIsas()[0] : *parts.isas[0]);
}

} // namespace sinter::codegen
