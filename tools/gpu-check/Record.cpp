#include "Record.h"

#include "cpu/Lowering.h"
#include "emulator/Emulate.h"

#include "sinter/codegen/Cuda.h"
#include "sinter/core/file.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/SourceMgr.h"

#include <filesystem>

using namespace mlir;

namespace sinter::gpucheck {

/// The kernels' LLVM IR as host code, the way the emulated device's loader makes it.
static LogicalResult emulate(StringRef ir, Location loc, Recording &recording) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic mistake;
  std::unique_ptr<llvm::Module> kernels = llvm::parseAssemblyString(ir, mistake, context);
  if (!kernels)
    return emitError(loc, "the kernels' IR cannot be read back: ") << mistake.getMessage();
  auto emulated = codegen::emulate(*kernels, {});
  if (!emulated)
    return emitError(loc, llvm::toString(emulated.takeError()));
  auto object = codegen::emitObject(*kernels, *codegen::findIsa(codegen::hostIsa()));
  if (failed(object))
    return emitError(loc, "no machine code for the emulated kernels");
  recording.emulated = std::move(*object);
  return success();
}

FailureOr<Recording> record(ModuleOp module, const std::string &name, bool assemble) {
  Location loc = module.getLoc();
  codegen::CudaOptions options;
  options.architectures = {"sm_80", "sm_90"};
  options.assemble = assemble;
  FailureOr<codegen::CudaImage> image = codegen::compileCuda(module, options);
  if (failed(image))
    return failure();
  Recording recording;
  recording.pack.name = name;
  recording.pack.program = rt::serialize(image->program);
  if (image->program.kernels.empty())
    return recording;
  for (codegen::CudaCode &code : image->code) {
    using Form = DeviceCode::Form;
    recording.pack.code.push_back({Form::Ptx, code.architecture, 0, std::move(code.ptx)});
    if (!code.cubin.empty())
      recording.pack.code.push_back(
          {Form::Cubin, code.architecture, code.toolkit, std::move(code.cubin)});
  }
  if (failed(emulate(image->code.back().ir, loc, recording)))
    return failure();
  return recording;
}

Status write(const Recording &recording, const std::string &folder) {
  std::string pack = folder + "/packs/" + recording.pack.name + ".pack";
  std::string object = folder + "/emulated/" + recording.pack.name + ".o";
  for (const std::string &file : {pack, object}) {
    std::error_code error;
    std::filesystem::path parent = std::filesystem::path(file).parent_path();
    if (std::filesystem::create_directories(parent, error); error)
      return rt::ioError("make the folder", parent.string(), error.value());
  }
  SINTER_RETURN_IF_ERROR(writePack(pack, recording.pack));
  if (recording.emulated.empty())
    return {};
  return rt::writeFile(object, std::string(recording.emulated.begin(), recording.emulated.end()));
}

} // namespace sinter::gpucheck
