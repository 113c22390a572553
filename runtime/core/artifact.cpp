#include "artifact.h"

#include "sinter/base/text.h"
#include "sinter/core/isa.h"

#include <dlfcn.h>

namespace sinter::rt {

Artifact::Artifact(const sinter_artifact_image *image) : sinter_artifact_api(artifactFunctions()) {
  this->image = image;
  if (image->abi_version != SINTER_ABI_VERSION) // the rest may mean something else; `open` tells
    return;
  for (const sinter_kernel_variant &variant : variants())
    names.push_back(variant.isa);
  for (const sinter_device_code &code : std::span(image->codes, image->code_count))
    names.push_back(concat(code.architecture, code.kind == SINTER_CODE_CUBIN ? " cubin"
                                              : code.kind == SINTER_CODE_PTX ? " PTX"
                                                                             : ""));
}

Status Artifact::open() {
  std::call_once(once, [this] { parsed = parse(); });
  return parsed;
}

Status Artifact::parse() {
  if (image->abi_version != SINTER_ABI_VERSION)
    return makeError(Code::Unsupported, "artifact '", image->name,
                     "' was compiled for ABI version ", image->abi_version,
                     ", the runtime it is linked with has version ", SINTER_ABI_VERSION,
                     "; compile and link it with one release of sinter");
  StatusOr<Program> read =
      deserialize(reinterpret_cast<const std::byte *>(image->program), image->program_size);
  if (!read.ok())
    return makeError(read.status().code(), "artifact '", image->name,
                     "': ", read.status().message());
  auto owned = std::make_shared<const Program>(*std::move(read));
  program = owned;
  for (const Entry &entry : program->entries)
    ports.push_back({describe(entry.inputs), describe(entry.outputs)});
  for (const Variable &variable : program->variables)
    variables.push_back({variable.name.c_str(), variable.dims.data(), int32_t(variable.dims.size()),
                         int32_t(variable.dtype), variable.trainable});
  return {};
}

std::vector<Artifact::Port> Artifact::describe(const std::vector<rt::Port> &from) {
  std::vector<Port> described(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    Port &port = described[i];
    for (Index index : from[i].dims) {
      const Expr &expr = program->exprs[index];
      if (expr.op == Expr::Op::Const) {
        port.storage.push_back({expr.a, nullptr, expr.a, expr.a});
      } else if (expr.op == Expr::Op::Symbol) {
        const Symbol &symbol = program->symbols[expr.a];
        port.storage.push_back({-1, symbol.name.c_str(), symbol.lower, symbol.upper});
      } else {
        formulas.push_back(formatExpr(*program, index));
        port.storage.push_back({-1, formulas.back().c_str(), 0, -1});
      }
    }
    port.name = from[i].name.c_str();
    port.dims = port.storage.data();
    port.rank = int32_t(port.storage.size());
    port.dtype = int32_t(from[i].dtype);
  }
  return described;
}

StatusOr<const sinter_kernel_variant *> Artifact::chooseVariant(const char *isa) const {
  if (isForDevice() && isa)
    return makeError(Code::InvalidArgument, "artifact '", image->name,
                     "' runs on a device and has no variant '", isa, "'; leave it out");
  const sinter_kernel_variant *best = nullptr;
  if (isForDevice())
    return best;
  std::string present, lacking;
  for (const sinter_kernel_variant &variant : variants()) {
    present += (present.empty() ? "" : ", ") + std::string(variant.isa);
    if (isa && std::string_view(isa) != variant.isa)
      continue;
    std::string missing = missingForIsa(variant.isa);
    if (!missing.empty())
      lacking += concat(lacking.empty() ? "" : "; ", variant.isa, " needs ", missing);
    else if (!best || isaRank(variant.isa) > isaRank(best->isa))
      best = &variant;
  }
  if (best)
    return best;
  if (isa && lacking.empty())
    return makeError(Code::NotFound, "artifact '", image->name, "' has no variant '", isa,
                     "', only ", present);
  return makeError(
      Code::Unsupported, "artifact '", image->name, "' does not run on this CPU: ", lacking,
      ", which this CPU lacks; compile it for ", bestIsa().empty() ? "another target" : bestIsa());
}

std::string Artifact::folder() const {
  Dl_info info{};
  std::string path = dladdr(image, &info) && info.dli_fname ? info.dli_fname : "";
  return path.substr(0, path.rfind('/') + 1);
}

} // namespace sinter::rt

const sinter_artifact_api *sinter_artifact_open(const sinter_artifact_image *image) {
  using sinter::rt::Artifact;
  // One runtime may serve several artifacts; each keeps its table for good.
  static std::mutex mutex;
  static std::deque<Artifact> opened;
  std::lock_guard lock(mutex);
  for (Artifact &artifact : opened)
    if (artifact.image == image)
      return &artifact;
  return &opened.emplace_back(image);
}
