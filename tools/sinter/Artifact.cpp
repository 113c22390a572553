#include "Artifact.h"

#include "sinter/base/text.h"
#include "sinter/core/file.h"

#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <vector>

namespace sinter::tools {
namespace {

constexpr std::string_view kSuffix = "_api";

/// The tables of a 64-bit little-endian ELF file, each read only as far as the file goes.
class Elf {
public:
  Elf(const std::byte *bytes, size_t size) : bytes(bytes), size(size) {}

  std::optional<Elf64_Ehdr> header() const {
    auto found = records<Elf64_Ehdr>(0, 1);
    if (found.empty() || std::memcmp(found[0].e_ident, ELFMAG, SELFMAG) != 0 ||
        found[0].e_ident[EI_CLASS] != ELFCLASS64)
      return std::nullopt;
    return found[0];
  }

  /// Names of the functions that the file defines for others.
  std::vector<std::string> exportedFunctions() const {
    std::vector<std::string> names;
    auto head = header();
    if (!head)
      return names;
    std::vector<Elf64_Shdr> sections = records<Elf64_Shdr>(head->e_shoff, head->e_shnum);
    for (const Elf64_Shdr &section : sections) {
      if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size())
        continue;
      const Elf64_Shdr &strings = sections[section.sh_link];
      size_t count = section.sh_size / sizeof(Elf64_Sym);
      for (const Elf64_Sym &symbol : records<Elf64_Sym>(section.sh_offset, count))
        if (symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
          names.push_back(text(strings.sh_offset + symbol.st_name));
    }
    return names;
  }

private:
  template <class T> std::vector<T> records(size_t offset, size_t count) const {
    if (offset > size || count > (size - offset) / sizeof(T))
      return {};
    std::vector<T> result(count);
    if (count)
      std::memcpy(result.data(), bytes + offset, count * sizeof(T));
    return result;
  }
  std::string text(size_t offset) const {
    if (offset >= size)
      return "";
    const char *first = reinterpret_cast<const char *>(bytes + offset);
    return std::string(first, ::strnlen(first, size - offset));
  }

  const std::byte *bytes;
  size_t size;
};

StatusOr<std::string> findEntryPoint(const std::string &path) {
  auto file = rt::MappedFile::open(path);
  if (!file.ok())
    return file.status();
  Elf elf((*file)->data(), (*file)->size());
  auto header = elf.header();
  if (!header)
    return makeError(Code::InvalidArgument, path,
                     " is no shared object; a package becomes one with sinter compile ", path,
                     " -o lib.so");
  if (header->e_type != ET_DYN)
    return makeError(Code::InvalidArgument, path,
                     " is not linked; make the artifact with -o lib.so to load it");
  std::vector<std::string> found;
  for (std::string &name : elf.exportedFunctions())
    if (name.ends_with(kSuffix) && name.size() > kSuffix.size())
      found.push_back(std::move(name));
  if (found.size() == 1)
    return found[0];
  return makeError(Code::InvalidArgument, path, " is no artifact: it exports ",
                   found.empty() ? "no" : "more than one",
                   " function <name>_api; make one with sinter compile");
}

} // namespace

bool isElf(const std::string &path) {
  char magic[SELFMAG] = {};
  std::ifstream(path, std::ios::binary).read(magic, SELFMAG);
  return std::memcmp(magic, ELFMAG, SELFMAG) == 0;
}

StatusOr<const sinter_artifact_api *> loadArtifact(const std::string &path) {
  auto symbol = findEntryPoint(path);
  if (!symbol.ok())
    return symbol.status();
  // dlopen looks a bare name up in the system's folders.
  void *library = ::dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError(Code::FailedPrecondition, "cannot load ", ::dlerror(),
                     "; install the library it names");
  auto open = reinterpret_cast<const sinter_artifact_api *(*)()>(::dlsym(library, symbol->c_str()));
  const sinter_artifact_api *api = open ? open() : nullptr;
  if (!api)
    return makeError(Code::Corrupt, path, ": ", *symbol, " gives no table; compile it anew");
  if (api->abi_version != SINTER_ABI_VERSION || api->size < sizeof(sinter_artifact_api))
    return makeError(Code::Unsupported, path, " has ABI version ", api->abi_version,
                     ", this sinter has ", SINTER_ABI_VERSION,
                     "; use the sinter it was made with, or compile it anew");
  return api;
}

StatusOr<rt::Program> programOf(const sinter_artifact_api *api) {
  auto *bytes = reinterpret_cast<const std::byte *>(api->image->program);
  return rt::deserialize(bytes, api->image->program_size);
}

StatusOr<Instance> createInstance(const sinter_artifact_api *api, const sinter_options &options) {
  sinter_instance *instance = nullptr;
  if (int code = api->create(api, &options, &instance))
    return lastError(api, code);
  return Instance(instance, {api});
}

Status lastError(const sinter_artifact_api *api, int code) {
  return Status(Code(code), api->last_error());
}

} // namespace sinter::tools
