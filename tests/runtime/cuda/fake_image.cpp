// Images of the fake driver are texts:
//   "FAKECUBIN sm_90\n.entry add_f32\n"       runs on 9.x
//   "FAKEFATBIN sm_70 sm_90\n.entry add_f32"  on any of these major versions
//   ".version 7.8\n.target sm_80\n.entry …"   PTX; a '!' at a line's end is a syntax error
//   a real cubin, whose architecture is not looked at: its caller has chosen it by that
// Entries name kernels of fake_state.cpp, or those that a test added; others are not found.
#include "fake_state.h"
#include "sinter/cuda/image.h"

#include <algorithm>
#include <cstdlib>
#include <elf.h>

namespace sinter::rt::cuda {
namespace {

void addEntry(const std::string &name, CuModuleObject &module) {
  if (const FakeKernel *kernel = findKernel(name))
    module.functions[name] = {kernel, uint32_t((48 << 10) - kernel->staticShared), module.loaded};
}

void addEntries(std::string_view text, CuModuleObject &module) {
  constexpr std::string_view directive = ".entry ";
  for (size_t at = text.find(directive); at != text.npos; at = text.find(directive, at)) {
    at += directive.size();
    std::string name(text.substr(at, text.find_first_of("( \n", at) - at));
    addEntry(name, module);
  }
}

/// A cubin has the code of kernel k in a section ".text.k".
void addSections(const char *elf, CuModuleObject &module) {
  constexpr std::string_view prefix = ".text.";
  auto *header = reinterpret_cast<const Elf64_Ehdr *>(elf);
  auto *sections = reinterpret_cast<const Elf64_Shdr *>(elf + header->e_shoff);
  const char *names = elf + sections[header->e_shstrndx].sh_offset;
  for (int i = 0; i < header->e_shnum; ++i)
    if (std::string_view name = names + sections[i].sh_name; name.starts_with(prefix))
      addEntry(std::string(name.substr(prefix.size())), module);
}

bool namesArchitecture(std::string_view text, int capability) {
  std::string_view line = text.substr(0, text.find('\n'));
  for (size_t at = line.find("sm_"); at != line.npos; at = line.find("sm_", at + 1)) {
    int made = std::atoi(line.data() + at + 3);
    if (made / 10 == capability / 10 && made <= capability)
      return true;
  }
  return false;
}

} // namespace

CuResult loadImage(const char *image, int capability, int version, CuModuleObject &module,
                   std::string &log) {
  std::string_view text(image);
  if (text.starts_with("FAKECUBIN ") || text.starts_with("FAKEFATBIN ")) {
    if (!namesArchitecture(text, capability))
      return CuResult::NoBinaryForGpu;
  } else if (text.starts_with(ELFMAG)) {
    addSections(image, module);
    return CuResult::Success;
  } else if (int isa = ptxVersion(text)) {
    if (cudaOfPtx(isa) == 0 || cudaOfPtx(isa) > version)
      return CuResult::UnsupportedPtxVersion;
    if (size_t at = text.find("!\n"); at != text.npos) {
      auto line = 1 + std::count(text.begin(), text.begin() + ptrdiff_t(at), '\n');
      log = "ptxas application ptx input, line " + std::to_string(line) +
            "; fatal   : Parsing error near '!': syntax error\nptxas fatal   : aborted\n";
      return CuResult::InvalidPtx;
    }
  } else {
    return CuResult::InvalidImage;
  }
  addEntries(text, module);
  return CuResult::Success;
}

} // namespace sinter::rt::cuda
