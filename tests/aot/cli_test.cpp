// The command line of sinter: what it prints, and each mistake by its message.
#include "tool_support.h"

#include "sinter/core/array.h"
#include "sinter/core/npy.h"
#include "sinter/core/safetensors.h"

namespace sinter::aot {
namespace {

void writeNpy(const std::string &path, const rt::Array &array) {
  ASSERT_TRUE(
      rt::writeNpy(path, {"", array.dtype(), array.dims(),
                          static_cast<const std::byte *>(array.data()), size_t(array.bytes())})
          .ok());
}

std::vector<float> readNpy(const std::string &path) {
  auto npy = rt::readNpy(path);
  EXPECT_TRUE(npy.ok()) << npy.status().message();
  if (!npy.ok())
    return {};
  std::vector<float> values(npy->view.bytes / sizeof(float));
  std::memcpy(values.data(), npy->view.data, npy->view.bytes);
  return values;
}

TEST(Cli, HelpTellsCommandsAndFlags) {
  Outcome help = runSinter({"--help"});
  EXPECT_EQ(help.exitCode, 0);
  expectOutput(help, {"compile", "run", "inspect", "new", "check", "Exit status"});
  EXPECT_EQ(runSinter({}).exitCode, 2);
  expectOutput(runSinter({"--version"}), {"sinter 0."});
  Outcome compile = runSinter({"compile", "--help"});
  EXPECT_EQ(compile.exitCode, 0);
  expectOutput(compile, {"--vendor", "--isa", "--weights", "Example", "--print-fusion"});
  expectOutput(runSinter({"run", "--help"}), {"--iterations", "--threads", "npy", "Example"});
}

TEST(Cli, UnknownWordsNameTheNearest) {
  expectRefused(runSinter({"compil"}), 2, {"no command 'compil'", "did you mean 'compile'"});
  expectRefused(runSinter({"run", "--thread=2"}), 2,
                {"no option '--thread'", "did you mean '--threads'", "sinter run --help"});
  expectRefused(runSinter({"compile", "--vendro", "none"}), 2,
                {"no option '--vendro'", "did you mean '--vendor'"});
  expectRefused(runSinter({"inspect", "--comands", SCALE}), 2, {"did you mean '--commands'"});
  expectRefused(runSinter({"run"}), 2, {"artifact"});
  expectRefused(runSinter({"run", SCALE, "--iterations=0"}), 2, {"--iterations"});
}

TEST(Cli, InspectShowsAnArtifact) {
  Outcome outcome = runSinter({"inspect", MLP});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  expectOutput(outcome, {"artifact mlp", "x86-64-v3", "x86-64-v4-bf16", "n: 1 to 64",
                         "classify(x f32[n, 8]) -> probability f32[n, 4]",
                         "train(x f32[12, 8], label i64[12]) -> loss f32[]", "4 variables",
                         "hidden.weight f32[16, 8], trainable", "weights: embedded", "memory",
                         "kernel launch"});
  EXPECT_EQ(outcome.output.find("commands of"), std::string::npos);
  expectOutput(runSinter({"inspect", "--commands", MLP_ONEDNN}),
               {"vendor library: oneDNN", "weights: mlp.safetensors beside", "commands of train",
                "matmul", "kernel 0"});
}

TEST(Cli, InspectShowsAPackage) {
  Outcome outcome = runSinter({"inspect", "--commands", MLP_PACKAGE});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  expectOutput(outcome, {"package", "mlp.safetensors, which is missing", "classify(x f32[n, 8])",
                         "linear 2", "gradients 1", "commands of classify"});
}

TEST(Cli, InspectRefusesWhatIsNeither) {
  Folder folder;
  std::ofstream(folder.file("text.mlirbc")) << "hello";
  expectRefused(runSinter({"inspect", folder.file("text.mlirbc")}), 1,
                {"text.mlirbc is no package", "Package::write"});
  expectRefused(runSinter({"inspect", folder.file("none.so")}), 1, {"none.so", "No such file"});
  expectRefused(runSinter({"inspect", SINTER_TOOL}), 1, {"is no artifact"});
  expectRefused(runSinter({"run", MLP_PACKAGE}), 1, {"sinter compile"});
}

TEST(Cli, RunTakesAndGivesFiles) {
  Folder folder;
  rt::Array x = rt::Array::of<float>({1, 2, 3.5f});
  writeNpy(folder.file("x.npy"), x);
  // The artifact may stand last: a flag takes one file.
  Outcome outcome =
      runSinter({"run", "-o", folder.file("y.npy"), "-i", folder.file("x.npy"), SCALE});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  expectOutput(outcome, {"scale on x86-64-v3, threads 1: first call"});
  EXPECT_EQ(readNpy(folder.file("y.npy")), (std::vector<float>{2, 4, 7}));

  outcome = runSinter({"run", SCALE, "-i", "x=" + folder.file("x.npy"), "-o",
                       folder.file("all.safetensors"), "--iterations", "50", "--profile"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  expectOutput(outcome, {"of 50 more: p50", "p99"});
  auto all = rt::readSafetensors(folder.file("all.safetensors"));
  ASSERT_TRUE(all.ok());
  EXPECT_NE(all->find("y"), nullptr);
}

TEST(Cli, RunMakesInputsUpAndTrains) {
  Folder folder;
  std::string saved = folder.file("trained.safetensors");
  Outcome outcome =
      runSinter({"run", MLP, "--entry=train", "--iterations=20", "--save", saved, "--threads=2"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  expectOutput(outcome, {"train on", "threads 2", "loss f32[]"});
  auto one = runSinter({"run", MLP, "--entry=classify", "--dim", "n=3", "--weights", saved, "-o",
                        folder.file("y.npy")});
  EXPECT_EQ(one.exitCode, 0) << one.output;
  EXPECT_EQ(readNpy(folder.file("y.npy")).size(), 12u);
}

TEST(Cli, RunNamesMistakes) {
  Folder folder;
  std::string x = folder.file("x.npy"), wide = folder.file("wide.npy");
  writeNpy(x, rt::Array::of<float>({1, 2}));
  writeNpy(wide, rt::Array::zeros(DType::F32, {2, 9}));
  expectRefused(runSinter({"run", MLP}), 1, {"2 entries", "--entry", "classify, train"});
  expectRefused(runSinter({"run", MLP, "--entry=trian"}), 1, {"did you mean 'train'"});
  expectRefused(runSinter({"run", SCALE, "-i", "z=" + x}), 1, {"no input 'z'"});
  expectRefused(runSinter({"run", SCALE, "-i", x, "-i", x}), 1, {"1 input", "more are given"});
  expectRefused(runSinter({"run", SCALE, "-i", "x.png"}), 1, {"x.png", ".npy"});
  expectRefused(runSinter({"run", SCALE, "-i", folder.file("no.npy")}), 1, {"no.npy", "No such"});
  expectRefused(runSinter({"run", MLP, "--entry=classify", "-i", wide}), 1,
                {"f32[n, 8]", "f32[2, 9]"});
  expectRefused(runSinter({"run", MLP, "--entry=classify", "--dim=m=3"}), 1, {"no dimension 'm'"});
  expectRefused(runSinter({"run", MLP, "--entry=classify", "--dim=n=65"}), 1, {"65", "64"});
  Outcome unwritable = runSinter({"run", SCALE, "-o", "/nonexistent/y.npy"});
  EXPECT_EQ(unwritable.exitCode, 1);
  expectOutput(unwritable, {"sinter: cannot write /nonexistent/y.npy"});
  expectRefused(runSinter({"run", SCALE, "--isa=x86-64-v4"}), 1,
                {"no variant 'x86-64-v4'", "x86-64-v3"});
  expectRefused(runSinter({"run", MLP, "--entry=train", "--weights=/none.safetensors"}), 1,
                {"/none.safetensors"});
}

TEST(Cli, OtherReleasesAreNamed) {
  expectRefused(runSinter({"run", OLD}), 1, {"ABI version 77", "one release"});
  expectRefused(runSinter({"run", LATER}), 1, {"ABI version 78", "compile it anew"});
  expectRefused(runSinter({"inspect", LATER}), 1, {"ABI version 78"});
}

TEST(Cli, NewRefusesToOverwrite) {
  Folder folder;
  std::ofstream(folder.file("mine.txt")) << "precious";
  expectRefused(runSinter({"new", folder.path.string()}), 1, {"not an empty folder"});
  EXPECT_EQ(folder.names(), std::vector<std::string>{"mine.txt"});
  expectRefused(runSinter({"new", folder.file("mine.txt")}), 1, {"is there already"});
  expectRefused(runSinter({"new", "/proc/project"}), 1, {"/proc/project"});
  Outcome made = runSinter({"new", folder.file("my-project")});
  EXPECT_EQ(made.exitCode, 0) << made.output;
  expectOutput({0, readText(folder.file("my-project/CMakeLists.txt"))}, {"project(my_project "});
  expectOutput({0, readText(folder.file("my-project/README.md"))}, {"# my_project"});
}

TEST(Cli, RunAndInspectLoadNoCompiler) {
  Outcome libraries = run({"ldd", SINTER_TOOL});
  for (const char *word : {"LLVM", "MLIR", "dnnl"})
    EXPECT_EQ(libraries.output.find(word), std::string::npos) << libraries.output;
}

} // namespace
} // namespace sinter::aot
