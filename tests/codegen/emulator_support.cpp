#include "emulator_support.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/Utils/Debugify.h"

namespace sinter::codegen::test {

const char *const kDeclarations = R"(
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare i32 @llvm.nvvm.read.ptx.sreg.warpid()
declare void @llvm.nvvm.barrier0()
declare void @llvm.nvvm.bar.warp.sync(i32)
declare float @llvm.nvvm.shfl.sync.down.f32(i32, float, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.up.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare {i32, i1} @llvm.nvvm.shfl.sync.down.i32p(i32, i32, i32, i32)
)";

/// Lines for all instructions; Debugify numbers them.
static void addLines(llvm::Module &module) {
  module.setSourceFileName("test.cu");
  module.setModuleIdentifier("test.cu");
  llvm::applyDebugifyMetadata(module, module.functions(), "", nullptr);
}

static std::unique_ptr<llvm::Module> parse(const std::string &text, llvm::LLVMContext &context) {
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(kDeclarations + text, diagnostic, context);
  if (!module) {
    std::string message;
    llvm::raw_string_ostream stream(message);
    diagnostic.print("test", stream);
    ADD_FAILURE() << message;
    return nullptr;
  }
  addLines(*module);
  return module;
}

/// Nothing but libm may be missing.
static void expectSelfContained(const llvm::Module &module) {
  static const char *const libm[] = {"fmod", "fmodf"};
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic()) {
      EXPECT_TRUE(llvm::is_contained(libm, function.getName())) << function.getName().str();
    }
}

Kernels::Kernels(const std::string &text, EmulationOptions options) { load(text, options); }

void Kernels::load(const std::string &text, EmulationOptions options) {
  static const bool initialised =
      !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
  ASSERT_TRUE(initialised);
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = parse(text, *context);
  ASSERT_TRUE(module);
  auto names = emulate(*module, options);
  ASSERT_TRUE(bool(names)) << llvm::toString(names.takeError());
  expectSelfContained(*module);
  auto jit = llvm::orc::LLJITBuilder().create();
  ASSERT_TRUE(bool(jit)) << llvm::toString(jit.takeError());
  llvm::Error error =
      (*jit)->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context)));
  ASSERT_FALSE(bool(error));
  for (const std::string &name : *names) {
    auto address = (*jit)->lookup(name);
    ASSERT_TRUE(bool(address)) << llvm::toString(address.takeError());
    kernels.push_back(address->toPtr<const sinter_emu_kernel *>());
  }
  code = std::shared_ptr<void>(jit->release(),
                               [](void *owner) { delete static_cast<llvm::orc::LLJIT *>(owner); });
}

const sinter_emu_kernel &Kernels::description(const std::string &name) const {
  static const sinter_emu_kernel none = {};
  for (const sinter_emu_kernel *kernel : kernels)
    if (name == kernel->name)
      return *kernel;
  ADD_FAILURE() << "no kernel " << name;
  return none;
}

rt::DeviceKernel Kernels::operator[](const std::string &name) const {
  const sinter_emu_kernel &kernel = description(name);
  return {const_cast<sinter_emu_kernel *>(&kernel), kernel.name ? kernel.name : ""};
}

std::string emulationError(const std::string &text) {
  llvm::LLVMContext context;
  auto module = parse(text, context);
  if (!module)
    return "";
  auto names = emulate(*module, {});
  return names ? "" : llvm::toString(names.takeError());
}

Gpu::Gpu(rt::EmuOptions options) {
  auto created = rt::EmuDevice::create(std::move(options));
  EXPECT_TRUE(created.ok()) << created.status().message();
  device = *std::move(created);
}

void *Gpu::allocate(size_t bytes, const char *name) {
  auto memory = device->allocate(bytes, {name, ""});
  EXPECT_TRUE(memory.ok()) << memory.status().message();
  return memory.ok() ? *memory : nullptr;
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

} // namespace sinter::codegen::test
