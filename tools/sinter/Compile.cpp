// sinter compile: a package becomes an artifact.
#include "Compile.h"

#include "Arrays.h"
#include "Cli.h"
#include "Count.h"
#include "Link.h"
#include "Package.h"
#include "Report.h"
#include "sinter/base/text.h"
#include "sinter/codegen/Artifact.h"
#include "sinter/core/file.h"
#include "sinter/core/isa.h"
#include "sinter/core/weights.h"

#include <algorithm>
#include <chrono>
#include <sys/stat.h>

namespace fs = std::filesystem;

namespace sinter::tools {
namespace {

struct Flags {
  std::string package, output, header, name, target = "cpu", vendor = "auto", weights = "external",
                                             weightsFile, ptxas;
  std::vector<std::string> isas, dumpIr, dims;
  bool printFusion = false, noFuse = false, anyOrder = false, count = false;
};

std::string isaList() {
  std::string list;
  for (std::string_view isa : rt::isaNames())
    list += (list.empty() ? "" : ",") + std::string(isa);
  return list;
}

/// What runs it, and by what code.
void addTargetFlags(CLI::App &app, Flags &flags) {
  app.add_option(
         "--target", flags.target,
         "What runs it: cpu; cuda:sm_90,sm_80, CUDA cards of these and later architectures, "
         "which need the driver alone; emu, the emulated card")
      ->check([](const std::string &target) -> std::string {
        bool isKnown = target == "cpu" || target == "emu" || target.starts_with("cuda:");
        return isKnown ? "" : "there are cpu, emu and cuda:<architectures>, as in cuda:sm_90,sm_80";
      })
      ->type_name("<target>");
  app.add_option("--ptxas", flags.ptxas,
                 "The CUDA toolkit's assembler, for kernels that need no compiler in the driver. "
                 "Default: in CUDA_HOME, PATH, /usr/local/cuda; without one there is PTX alone")
      ->type_name("<file>");
  app.add_option("--isa", flags.isas,
                 "Instruction sets to compile for; the best that the CPU has is chosen when the "
                 "artifact is loaded. Default: " +
                     isaList())
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("<list>");
  app.add_option(
         "--vendor", flags.vendor,
         "Library for matrix products and convolutions: onednn on the CPU, nvidia (cuBLASLt "
         "and cuDNN) on CUDA cards, or none, so that the artifact depends on the C++ library "
         "alone. Default, auto: onednn on the CPU, else none")
      ->check(CLI::IsMember({"auto", "onednn", "nvidia", "none"}));
}

void addFlags(CLI::App &app, Flags &flags) {
  app.add_option("package", flags.package, "The graph: MLIR bytecode, or its text")
      ->required()
      ->type_name("<g.mlirbc>");
  app.add_option("-o,--output", flags.output,
                 "What to make: lib.so holds the runtime and needs nothing of sinter; lib.o and "
                 "lib.a hold the model alone, and are linked with libsinter_artifact, _core, _io, "
                 "_base and "
                 "_no_vendor or _cpu_onednn with _vendor_support; for CUDA also _cuda")
      ->required()
      ->type_name("<file>");
  app.add_option("--header", flags.header, "Write the C header of the artifact here")
      ->type_name("<file>");
  app.add_option("--name", flags.name,
                 "C identifier; the artifact exports <name>_api. Default: that of the output, "
                 "libmnist.so gives mnist")
      ->type_name("<id>");
  addTargetFlags(app, flags);
  app.add_flag("--any-order", flags.anyOrder,
               "On cards: sums may come out in any order, by atomics, which is faster");
  app.add_flag("--count", flags.count,
               "On cards: call every entry once on the emulated card and keep what each kernel "
               "moved, for sinter inspect to tell. Generated kernels alone (--vendor=none)");
  app.add_option("--dim", flags.dims,
                 "--count: size of a symbolic dimension, <symbol>=<size>; default: the smallest "
                 "there is, but 1")
      ->allow_extra_args(false)
      ->type_name("<n=size>");
  app.add_option("--weights", flags.weights,
                 "embed: inside the artifact; external: a safetensors file beside it, mapped when "
                 "an instance is created")
      ->check(CLI::IsMember({"external", "embed"}));
  app.add_option("--weights-file", flags.weightsFile,
                 "Take the weights from here, not from the file that the package names")
      ->type_name("<f.safetensors>");
  app.add_option("--dump-ir", flags.dumpIr,
                 "Print the IR to stderr after these passes, e.g. after:sinter-gradient, or all")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("<list>");
  app.add_flag("--print-fusion", flags.printFusion,
               "Print every fused group and every refusal to fuse, with its reason, to stderr");
  app.add_flag("--no-fuse", flags.noFuse, "One kernel an op, to compare with");
  app.footer("Example:\n  sinter compile mnist.mlirbc -o libmnist.so --header=mnist.h "
             "--vendor=none\n  cc app.c -I<sinter>/include -L. -lmnist\n\n"
             "CXX names the compiler driver that links. The output appears whole or not at all.");
}

/// "mnist" of "out/libmnist.so".
std::string defaultName(const std::string &output) {
  std::string name = fs::path(output).stem().string();
  if (name.starts_with("lib") && name.size() > 3)
    name.erase(0, 3);
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return name;
}

Status checkName(const std::string &name) {
  bool good = !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0]));
  for (unsigned char c : name)
    good &= std::isalnum(c) || c == '_';
  return good ? Status()
              : makeError(Code::InvalidArgument, "'", name,
                          "' is no C identifier; give the artifact one with --name");
}

Status checkIsas(std::vector<std::string> &isas) {
  std::vector<std::string> known(rt::isaNames().begin(), rt::isaNames().end());
  if (isas.empty())
    isas = known;
  for (size_t i = 0; i < isas.size(); ++i) {
    if (std::find(isas.begin(), isas.begin() + i, isas[i]) != isas.begin() + i)
      return makeError(Code::InvalidArgument, "--isa names ", isas[i], " twice");
    if (rt::isaRank(isas[i]) >= 0)
      continue;
    std::string_view near = nearestName(isas[i], known);
    return makeError(Code::InvalidArgument, "there is no instruction set '", isas[i], "'",
                     near.empty() ? "" : concat("; did you mean ", near, "?"), "; there are ",
                     isaList());
  }
  return {};
}

/// The files of a compilation, opened before the work starts and shown when all of it is done.
class Outputs {
public:
  Status add(const std::string &path) {
    auto file = rt::AtomicFile::create(path);
    if (!file.ok())
      return file.status();
    files.push_back(*std::move(file));
    return {};
  }
  Status write(size_t index, std::string_view bytes) { return files[index].write(bytes); }
  /// The first one last: when it is there, so are the others.
  Status commit() {
    for (size_t i = files.size(); i-- > 0;)
      SINTER_RETURN_IF_ERROR(files[i].commit());
    return {};
  }

private:
  std::vector<rt::AtomicFile> files;
};

class Compilation {
public:
  explicit Compilation(Flags flags) : flags(std::move(flags)) {}

  Status run() {
    SINTER_RETURN_IF_ERROR(prepare());
    Diagnostics diagnostics(package->context);
    SINTER_RETURN_IF_ERROR(count(diagnostics));
    auto objects = codegen::compileArtifact(*package->module, options);
    if (failed(objects))
      return Status(Code::InvalidArgument,
                    flags.package + ": " +
                        diagnostics.take("the compiler gave up without a "
                                         "reason, which is a defect of sinter"));
    compiled = std::move(*objects);
    SINTER_RETURN_IF_ERROR(checkWeights());
    auto linked = link(compiled.objects, {.kind = kind,
                                          .name = options.name,
                                          .soname = fs::path(flags.output).filename().string(),
                                          .extra = runtimeExtra()});
    if (!linked.ok())
      return linked.status();
    bytes = linked->size();
    return write(*linked);
  }

  std::string summary() const {
    const rt::Program &program = compiled.program;
    return concat(flags.output, ": ", counted(int64_t(program.entries.size()), "entry"), ", ",
                  counted(int64_t(program.kernels.size()), "kernel"), " for ", platforms(), ", ",
                  counted(int64_t(program.libraryCalls.size()), "library call"), ", ",
                  formatBytes(int64_t(bytes)));
  }

private:
  /// "3 instruction sets", "sm_90, sm_80 (PTX alone: there is no ptxas)".
  std::string platforms() const {
    if (options.target == "cpu")
      return counted(int64_t(options.isas.size()), "instruction set");
    if (options.target == "emu")
      return "the emulated card";
    std::string text;
    bool assembled = true;
    for (const codegen::CudaCode &code : compiled.cuda) {
      text += (text.empty() ? "" : ", ") + code.architecture;
      assembled &= !code.cubin.empty();
    }
    return text + (assembled ? "" : " (PTX alone: there is no ptxas)");
  }

  RuntimeExtra runtimeExtra() const {
    return options.target == "cuda"             ? RuntimeExtra::Cuda
           : options.target == "emu"            ? RuntimeExtra::Emulator
           : options.compile.vendor == "onednn" ? RuntimeExtra::OneDnn
                                                : RuntimeExtra::None;
  }

  /// "cpu", "emu", "cuda:sm_90,sm_80".
  Status setTarget() {
    std::string_view target = flags.target;
    options.target = target.substr(0, target.find(':'));
    if (target.starts_with("cuda:"))
      for (std::string_view rest = target.substr(5);;) {
        size_t comma = std::min(rest.find(','), rest.size());
        std::string name(rest.substr(0, comma));
        if (std::ranges::find(options.architectures, name) != options.architectures.end())
          return makeError(Code::InvalidArgument, "--target names ", name, " twice");
        options.architectures.push_back(std::move(name));
        if (comma == rest.size())
          break;
        rest.remove_prefix(comma + 1);
      }
    if (options.target != "cpu" && !flags.isas.empty())
      return makeError(Code::InvalidArgument,
                       "--isa chooses the CPU's instruction sets, which --target=", target,
                       " does not use; leave it out");
    if (options.target != "cuda" && !flags.ptxas.empty())
      return makeError(Code::InvalidArgument, "--ptxas is for --target=cuda:…, not ", target);
    options.ptxas = flags.ptxas;
    return setVendor();
  }

  Status setVendor() {
    const char *own = options.target == "cpu" ? "onednn" : options.target == "cuda" ? "nvidia" : "";
    if (flags.vendor == "auto")
      options.compile.vendor = options.target == "cpu" ? "onednn" : "none";
    else if (flags.vendor == "none" || flags.vendor == own)
      options.compile.vendor = flags.vendor;
    else
      return makeError(Code::InvalidArgument, "--vendor=", flags.vendor,
                       " does not run on --target=", flags.target, "; leave it out, or say none",
                       *own ? concat(" or ", own) : std::string());
    return {};
  }

  Status checkCount() {
    auto parsed = parseSizes(flags.dims);
    SINTER_RETURN_IF_ERROR(parsed.status());
    sizes = *std::move(parsed);
    if (!flags.count)
      return flags.dims.empty() ? Status()
                                : makeError(Code::InvalidArgument, "--dim is for --count");
    if (options.target == "cpu")
      return makeError(Code::InvalidArgument, "--count is for --target=cuda:… and emu, not cpu");
    if (options.compile.vendor != "none")
      return makeError(Code::InvalidArgument, "--count counts generated kernels, not those of ",
                       options.compile.vendor, "; leave --vendor out");
    return {};
  }

  Status count(Diagnostics &diagnostics) {
    if (!flags.count)
      return {};
    mlir::OwningOpRef<mlir::ModuleOp> copy = package->module->clone();
    auto traffic = countTraffic(*copy, options.compile, sizes);
    if (!traffic.ok())
      return Status(traffic.status().code(),
                    concat(flags.package, ": ", diagnostics.take(traffic.status().message())));
    options.traffic = *std::move(traffic);
    return {};
  }

  /// Everything that can fail before the minutes of work.
  Status prepare() {
    auto made = outputKind(flags.output);
    if (!made.ok())
      return made.status();
    kind = *made;
    options.name = flags.name.empty() ? defaultName(flags.output) : flags.name;
    SINTER_RETURN_IF_ERROR(checkName(options.name));
    SINTER_RETURN_IF_ERROR(setTarget());
    if (options.target == "cpu") {
      SINTER_RETURN_IF_ERROR(checkIsas(flags.isas));
      options.isas = flags.isas;
    }
    options.compile.fuse = !flags.noFuse;
    options.compile.deterministic = !flags.anyOrder;
    options.compile.dumpIr = flags.dumpIr;
    options.compile.printFusion = flags.printFusion;
    SINTER_RETURN_IF_ERROR(checkCount());
    auto read = Package::read(flags.package);
    if (!read.ok())
      return read.status();
    package = *std::move(read);
    SINTER_RETURN_IF_ERROR(placeWeights());
    SINTER_RETURN_IF_ERROR(outputs.add(flags.output));
    if (!flags.header.empty())
      SINTER_RETURN_IF_ERROR(outputs.add(flags.header));
    if (!weightsCopy.empty())
      SINTER_RETURN_IF_ERROR(outputs.add(weightsCopy));
    return {};
  }

  /// Finds the weights and decides where they go.
  Status placeWeights() {
    fs::path source = flags.weightsFile.empty() ? package->weights : fs::path(flags.weightsFile);
    bool embed = flags.weights == "embed";
    if (source.empty())
      return embed ? makeError(Code::InvalidArgument, flags.package,
                               " names no weights to embed; give them with --weights-file")
                   : Status();
    auto read = rt::readSafetensors(source.string());
    if (!read.ok())
      return read.status();
    weights = *std::move(read);
    weightsSource = source.string();
    if (embed) {
      options.weights = source;
      return {};
    }
    options.weightsFile = source.filename().string();
    fs::path beside = fs::path(flags.output).parent_path() / options.weightsFile;
    std::error_code ignored;
    if (!fs::equivalent(source, beside, ignored))
      weightsCopy = beside.string();
    return {};
  }

  Status checkWeights() {
    if (weightsSource.empty())
      return {};
    return rt::fitWeights(compiled.program.variables, weights, weightsSource).status();
  }

  Status write(const std::string &linked) {
    size_t next = 0;
    SINTER_RETURN_IF_ERROR(outputs.write(next++, linked));
    if (!flags.header.empty())
      SINTER_RETURN_IF_ERROR(
          outputs.write(next++, codegen::artifactHeader(compiled.program, options.name)));
    if (!weightsCopy.empty()) {
      auto file = rt::MappedFile::open(weightsSource);
      if (!file.ok())
        return file.status();
      SINTER_RETURN_IF_ERROR(
          outputs.write(next, {reinterpret_cast<const char *>((*file)->data()), (*file)->size()}));
    }
    SINTER_RETURN_IF_ERROR(outputs.commit());
    if (kind == OutputKind::Shared)
      makeExecutable();
    return {};
  }

  /// As linkers leave shared objects: ldd warns of others.
  void makeExecutable() const {
    mode_t mask = ::umask(0);
    ::umask(mask);
    ::chmod(flags.output.c_str(), 0777 & ~mask);
  }

  Flags flags;
  OutputKind kind = OutputKind::Shared;
  codegen::ArtifactOptions options;
  std::unique_ptr<Package> package;
  std::map<std::string, int64_t> sizes; ///< of dimensions, for --count
  rt::Safetensors weights;
  std::string weightsSource; ///< empty: none
  std::string weightsCopy;   ///< where they are copied; empty: they stay
  Outputs outputs;
  codegen::ArtifactObjects compiled;
  size_t bytes = 0;
};

} // namespace

int compileMain(int argc, char **argv) {
  CLI::App app("Compiles a package, written by the DSL's Package, to an artifact with a C ABI that "
               "needs no compiler.",
               "sinter compile");
  Flags flags;
  addFlags(app, flags);
  if (auto status = parse(app, argc, argv))
    return *status;
  auto start = std::chrono::steady_clock::now();
  Compilation compilation(std::move(flags));
  if (Status status = compilation.run(); !status.ok())
    return fail(status);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%s, %.1f s\n", compilation.summary().c_str(), seconds.count());
  return kSuccess;
}

} // namespace sinter::tools
