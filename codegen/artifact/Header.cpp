// The C header of an artifact.
#include "sinter/codegen/Artifact.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace sinter::codegen {
namespace {

std::string portText(const rt::Program &program, const rt::Port &port) {
  std::string text = std::string(name(port.dtype)) + "[";
  for (size_t i = 0; i < port.dims.size(); ++i) {
    const rt::Expr &dim = program.exprs[size_t(port.dims[i])];
    text += i ? ", " : "";
    if (dim.op == rt::Expr::Op::Const)
      text += std::to_string(dim.a);
    else
      text += dim.op == rt::Expr::Op::Symbol ? program.symbols[size_t(dim.a)].name : "?";
  }
  return text + "]";
}

/// "batch size" -> "BATCH_SIZE".
std::string macro(llvm::StringRef text) {
  std::string result = text.upper();
  for (char &c : result)
    if (!llvm::isAlnum(c))
      c = '_';
  return result;
}

} // namespace

std::string artifactHeader(const rt::Program &program, const std::string &name) {
  std::string text;
  llvm::raw_string_ostream out(text);
  std::string guard = macro(name) + "_H";
  out << "/* " << name << ": a model compiled by sinter. Entries:\n *\n";
  for (const rt::Entry &entry : program.entries) {
    out << " *   " << entry.name << ":";
    for (const rt::Port &port : entry.inputs)
      out << ' ' << port.name << ' ' << portText(program, port)
          << (&port == &entry.inputs.back() ? "" : ",");
    out << " ->";
    for (const rt::Port &port : entry.outputs)
      out << ' ' << port.name << ' ' << portText(program, port)
          << (&port == &entry.outputs.back() ? "" : ",");
    out << '\n';
  }
  for (const rt::Symbol &symbol : program.symbols)
    out << " *   " << symbol.name << ": at least " << symbol.lower
        << (symbol.upper < 0 ? std::string(", unbounded")
                             : ", at most " + std::to_string(symbol.upper))
        << '\n';
  out << " *\n"
         " * const sinter_artifact_api *api = "
      << name
      << "_api();\n"
         " * sinter_instance *instance;\n"
         " * if (api->create(api, NULL, &instance)) puts(api->last_error());\n"
         " *\n"
         " * See sinter/abi/artifact.h for what the table offers. */\n";
  out << "#ifndef " << guard << "\n#define " << guard
      << "\n\n#include \"sinter/abi/artifact.h\"\n\n"
      << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  out << "const sinter_artifact_api *" << name << "_api(void);\n\n";
  out << "/* Entries, and the positions of their inputs and outputs. */\nenum {\n";
  for (size_t e = 0; e < program.entries.size(); ++e) {
    const rt::Entry &entry = program.entries[e];
    std::string prefix = macro(name) + "_" + macro(entry.name);
    out << "  " << prefix << " = " << e << ",\n";
    for (auto [ports, kind] :
         {std::pair(&entry.inputs, "_IN_"), std::pair(&entry.outputs, "_OUT_")})
      for (size_t i = 0; i < ports->size(); ++i)
        out << "  " << prefix << kind << macro((*ports)[i].name) << " = " << i << ",\n";
  }
  out << "};\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
  return text;
}

} // namespace sinter::codegen
