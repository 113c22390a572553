#include "Jit.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

namespace sinter::codegen {

llvm::Expected<LoadedObject> loadObject(llvm::ArrayRef<char> object,
                                        llvm::ArrayRef<std::string> symbols) {
  LoadedObject result;
  if (symbols.empty())
    return result;
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  // libm, for the functions that kernels leave to it.
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*jit)->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*process));
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()),
                                                     "kernels");
  if (auto error = (*jit)->addObjectFile(std::move(buffer)))
    return error;
  for (const std::string &symbol : symbols) {
    auto address = (*jit)->lookup(symbol);
    if (!address)
      return address.takeError();
    result.addresses.push_back(address->toPtr<void *>());
  }
  result.code = std::shared_ptr<void>(
      jit->release(), [](void *owner) { delete static_cast<llvm::orc::LLJIT *>(owner); });
  return result;
}

} // namespace sinter::codegen
