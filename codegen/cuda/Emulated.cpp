#include "Emulated.h"

#include "Nvptx.h"

#include "emulator/Emulate.h"
#include "jit/Jit.h"
#include "sinter/abi/emu.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace sinter::codegen {

FailureOr<SmallVector<char, 0>> emulatedObject(ModuleOp kernels, const Isa &isa, bool instrument) {
  llvm::LLVMContext context;
  // Any architecture has the instructions; the newest is the one that is looked at most.
  std::unique_ptr<llvm::Module> module =
      cuda::translate(kernels, context, cuda::allArchitectures().back());
  if (!module)
    return failure();
  EmulationOptions options;
  options.instrument = instrument;
  llvm::Expected<EmulatedKernels> emulated = emulate(*module, options);
  if (!emulated)
    return kernels.emitError(llvm::toString(emulated.takeError()));
  auto object = emitObject(*module, isa);
  if (failed(object))
    return kernels.emitError("no machine code for the emulated kernels");
  return object;
}

LogicalResult loadEmulated(ModuleOp kernels, const Isa &isa, bool instrument, JitImage &image) {
  auto object = emulatedObject(kernels, isa, instrument);
  if (failed(object))
    return failure();
  std::vector<std::string> symbols;
  for (const rt::Kernel &kernel : image.program->kernels)
    symbols.push_back(SINTER_EMU_PREFIX + kernel.symbol);
  auto loaded = loadObject(*object, symbols);
  if (!loaded)
    return kernels.emitError("emulated kernels could not be loaded: ")
           << llvm::toString(loaded.takeError());
  for (auto [address, kernel] : llvm::zip_equal(loaded->addresses, image.program->kernels))
    image.deviceKernels.push_back({address, kernel.symbol});
  image.code = std::move(loaded->code);
  return success();
}

} // namespace sinter::codegen
