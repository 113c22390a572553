// sinter compile: the files it makes, what they contain, and what it leaves behind when it fails.
#include "tool_support.h"

#include <csignal>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

namespace sinter::aot {
namespace {

/// Files grow to `bytes` and no further while this lives, in this process and those it starts, as
/// on a full disk.
class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before);
    rlimit limit{bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    handler = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
  }

private:
  rlimit before;
  void (*handler)(int);
};

std::vector<std::string> words(const std::string &text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

Outcome compile(const std::string &package, const std::string &output,
                std::vector<std::string> flags = {}) {
  flags.insert(flags.begin(), {"compile", package, "-o", output});
  return runSinter(flags);
}

/// Libraries that the loader will look for, of the file itself.
std::vector<std::string> neededLibraries(const std::string &path) {
  std::vector<std::string> needed;
  std::vector<std::string> text = words(run({"readelf", "-d", path}).output);
  for (size_t i = 3; i < text.size(); ++i) // "(NEEDED) Shared library: [libm.so.6]"
    if (text[i - 3] == "(NEEDED)")
      needed.push_back(text[i].substr(1, text[i].size() - 2));
  EXPECT_FALSE(needed.empty()) << path;
  return needed;
}

TEST(Artifact, OneSymbolIsVisibleAndNothingOfTheCompilerInside) {
  for (const char *path : {MLP, MLP_ONEDNN, DIGITS}) {
    std::vector<std::string> defined = words(run({"nm", "-D", "--defined-only", path}).output);
    ASSERT_EQ(defined.size(), 3u) << path;
    EXPECT_TRUE(defined[2].ends_with("_api")) << defined[2];
    std::string all = run({"nm", "-D", path}).output + run({"ldd", path}).output;
    for (const char *word : {"LLVM", "MLIR", "llvm", "mlir"})
      EXPECT_EQ(all.find(word), std::string::npos) << path << " has " << word;
  }
}

TEST(Artifact, WithoutAVendorItNeedsTheCxxLibraryAlone) {
  const std::vector<std::string> allowed = {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1",
                                            "libc.so.6", "ld-linux-x86-64.so.2"};
  for (const char *path : {MLP, DIGITS})
    for (const std::string &library : neededLibraries(path))
      EXPECT_NE(std::find(allowed.begin(), allowed.end(), library), allowed.end())
          << path << " needs " << library;
  uintmax_t bytes = fs::file_size(DIGITS);
  std::printf("[ figure   ] artifact_bytes %ju (digits, --vendor=none, without weights)\n", bytes);
  EXPECT_LT(bytes, 3u << 20);
}

TEST(Compile, MakesASharedObjectItsHeaderAndItsWeights) {
  Folder folder;
  std::string library = folder.file("libnet.so");
  Outcome outcome = compile(MLP_PACKAGE, library,
                            {"--header", folder.file("net.h"), "--weights-file", MLP_WEIGHTS,
                             "--vendor=none", "--isa=x86-64-v3"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
  expectOutput(outcome, {"libnet.so: 2 entries", "1 instruction set", "0 library calls", " s\n"});
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"libnet.so", "mlp.safetensors", "net.h"}));
  EXPECT_EQ(readText(folder.file("mlp.safetensors")), readText(MLP_WEIGHTS));
  expectOutput({0, readText(folder.file("net.h"))},
               {"net_api(void)", "NET_TRAIN_IN_LABEL = 1", "classify: x f32[n, 8]"});
  Outcome ran = runSinter({"run", library, "--entry=classify"});
  EXPECT_EQ(ran.exitCode, 0) << ran.output;
}

/// Links a program with `arguments` and runs it.
Outcome linkAndRun(const Folder &folder, const std::string &header, const std::string &name,
                   const std::vector<std::string> &arguments) {
  std::string object = folder.file("consumer.o"), program = folder.file("consumer");
  Outcome compiled =
      run({"cc", "-std=c99", "-Wall", "-Werror", "-fno-exceptions", "-I", ABI_INCLUDE,
           "-DNAME=" + name, "-DHEADER=\"" + header + "\"", "-c", CONSUMER, "-o", object});
  EXPECT_EQ(compiled.exitCode, 0) << compiled.output;
  std::vector<std::string> link = {"c++", "-o", program, object};
  link.insert(link.end(), arguments.begin(), arguments.end());
  Outcome linked = run(link);
  EXPECT_EQ(linked.exitCode, 0) << linked.output;
  return linked.exitCode == 0 ? run({program}) : linked;
}

TEST(Compile, ObjectFilesAndArchivesLinkIntoAProgram) {
  for (const char *extension : {".o", ".a"}) {
    Folder folder;
    std::string output = folder.file(std::string("digits") + extension);
    std::string header = folder.file("digits.h");
    Outcome outcome = compile(DIGITS_PACKAGE, output,
                              {"--header", header, "--vendor=none", "--isa=x86-64-v3",
                               "--weights=embed", "--weights-file", DIGITS_WEIGHTS});
    ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
    Outcome ran =
        linkAndRun(folder, header, "digits",
                   {output, "-L" RUNTIME_FOLDER, "-lsinter_artifact", "-lsinter_no_vendor",
                    "-lsinter_core", "-lsinter_io", "-lsinter_base", "-pthread"});
    EXPECT_EQ(ran.exitCode, 0) << ran.output;
    expectOutput(ran, {"with probability", "all together 1.000"});
    std::string symbols = run({"nm", output}).output;
    for (const char *word : {"LLVM", "MLIR", "llvm", "mlir"})
      EXPECT_EQ(symbols.find(word), std::string::npos) << extension << " has " << word;
  }
}

TEST(Compile, MistakesAreNamedAndLeaveNothing) {
  Folder folder;
  std::string library = folder.file("libnet.so");
  auto refused = [&](const std::string &package, const std::string &output,
                     std::vector<std::string> flags, std::initializer_list<const char *> words) {
    expectRefused(compile(package, output, std::move(flags)), 1, words);
  };
  refused(MLP_PACKAGE, folder.file("net.dll"), {}, {"net.dll", ".so", ".a"});
  refused(MLP_PACKAGE, folder.file("1.so"), {}, {"'1'", "--name"});
  refused(MLP_PACKAGE, library, {"--isa=x86-64-v5"}, {"x86-64-v5", "x86-64-v4-bf16"});
  refused(MLP_PACKAGE, library, {"--isa=x86-64-v3,x86-64-v3"}, {"twice"});
  refused(MLP_PACKAGE, library, {}, {"mlp.safetensors", "No such file"});
  refused(SCALE_PACKAGE, library, {"--weights=embed"}, {"names no weights", "--weights-file"});
  refused(DIGITS_PACKAGE, library, {"--weights-file", MLP_WEIGHTS, "--isa=x86-64-v3"},
          {"conv0.weight", "missing"});
  refused(folder.file("none.mlirbc"), library, {}, {"none.mlirbc", "No such file"});
  std::vector<const char *> embed = {"--weights=embed", "--weights-file", MLP_WEIGHTS};
  auto refusedWith = [&](std::vector<std::string> flags,
                         std::initializer_list<const char *> words) {
    flags.insert(flags.end(), embed.begin(), embed.end());
    refused(MLP_PACKAGE, library, flags, words);
  };
  refusedWith({"--target=cuda:sm_12"}, {"no CUDA architecture 'sm_12'", "sm_80, sm_90"});
  refusedWith({"--target=cuda:sm_90,sm_90"}, {"sm_90", "twice"});
  refusedWith({"--target=cuda:sm_90", "--isa=x86-64-v3"}, {"--isa", "--target=cuda:sm_90"});
  refusedWith({"--target=cuda:sm_90", "--vendor=onednn"}, {"--vendor=onednn", "nvidia"});
  refusedWith({"--target=cuda:sm_90", "--ptxas=/nowhere/ptxas"}, {"/nowhere/ptxas"});
  refusedWith({"--ptxas=/nowhere/ptxas"}, {"--ptxas", "--target=cuda"});
  EXPECT_EQ(folder.names(), std::vector<std::string>());
  EXPECT_EQ(compile(MLP_PACKAGE, library, {"--target=tpu"}).exitCode, 2);
}

TEST(Compile, BrokenPackagesNameTheLine) {
  Folder folder;
  std::string package = folder.file("broken.mlir");
  std::ofstream(package) << "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                            "  %0 = sinter.add %x, %x : tensor<5xf32>\n"
                            "  return %0 : tensor<5xf32>\n}\n";
  Outcome outcome = compile(package, folder.file("lib.so"));
  EXPECT_EQ(outcome.exitCode, 1);
  expectOutput(outcome, {"broken.mlir is no package", "broken.mlir:2"});
  std::ofstream(package) << readText(SCALE_PACKAGE).substr(0, 200);
  expectRefused(compile(package, folder.file("lib.so")), 1, {"broken.mlir is no package"});
  std::ofstream(package) << "// nothing\n";
  expectRefused(compile(package, folder.file("lib.so")), 1, {"holds no function", "Package::add"});
  EXPECT_EQ(folder.names(), std::vector<std::string>{"broken.mlir"});
}

TEST(Compile, UnwritableOutputsAreRefusedBeforeTheWork) {
  Folder folder;
  for (std::string path : {std::string("/nonexistent/lib.so"), std::string("/proc/lib.so")})
    expectRefused(compile(SCALE_PACKAGE, path), 1, {path.c_str(), "cannot write"});
  expectRefused(compile(SCALE_PACKAGE, folder.file("lib.so"), {"--header=/nonexistent/x.h"}), 1,
                {"/nonexistent/x.h"});
  fs::create_directory(folder.file("dir.so"));
  expectRefused(compile(SCALE_PACKAGE, folder.file("dir.so"), {"--name=x"}), 1, {"dir.so"});
  EXPECT_EQ(folder.names(), std::vector<std::string>{"dir.so"});
}

TEST(Compile, AFullDiskKeepsTheOldFiles) {
  Folder folder;
  std::vector<std::string> kept;
  for (const char *extension : {".so", ".o", ".a"}) {
    std::string path = folder.file(std::string("old") + extension);
    std::ofstream(path) << "old";
    kept.push_back(fs::path(path).filename());
    FileSizeLimit limit(512);
    expectRefused(compile(SCALE_PACKAGE, path, {"--vendor=none"}), 1,
                  {"cannot write", "File too large", "ulimit -f"});
    EXPECT_EQ(readText(path), "old");
  }
  {
    FileSizeLimit limit(9000); // enough for the object files, not for what is linked of them
    expectRefused(compile(SCALE_PACKAGE, folder.file("old.so"), {"--vendor=none"}), 1,
                  {"cannot write", "File too large", "ulimit -f"});
  }
  std::sort(kept.begin(), kept.end());
  EXPECT_EQ(folder.names(), kept);
  fs::create_symlink("/dev/full", folder.file("full.so"));
  expectRefused(compile(SCALE_PACKAGE, folder.file("full.so"), {"--isa=x86-64-v3"}), 1,
                {"full.so", "No space left"});
}

TEST(Compile, AMissingLinkerIsNamed) {
  Folder folder;
  auto withEnvironment = [&](const std::string &setting) {
    return run({"/usr/bin/env", setting, SINTER_TOOL, "compile", SCALE_PACKAGE, "-o",
                folder.file("libscale.so"), "--isa=x86-64-v3"});
  };
  expectRefused(withEnvironment("PATH=/nonexistent"), 1, {"no C++ compiler", "CXX", "apt-get"});
  expectRefused(withEnvironment("CXX=/nonexistent/c++"), 1, {"/nonexistent/c++", "CXX"});
  EXPECT_EQ(folder.names(), std::vector<std::string>());
}

TEST(Compile, DumpsAndReportsGoToStderr) {
  Folder folder;
  Outcome outcome =
      compile(SCALE_PACKAGE, folder.file("scale.a"),
              {"--isa=x86-64-v3", "--dump-ir=after:sinter-gradient", "--print-fusion"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  expectOutput(outcome, {"sinter-gradient", "sinter.add", "scale.a: 1 entry"});
}

} // namespace
} // namespace sinter::aot
