// The program gpu-check on the fake driver: what passes, what fails, and what it says.
#include "made_packs.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sinter::gpucheck {
namespace {

struct Outcome {
  int status;
  std::string output; ///< stderr too
  bool says(const char *text) const { return output.find(text) != output.npos; }
};

class Runner : public testing::Test {
protected:
  Runner() { std::filesystem::create_directories(folder); }
  ~Runner() override { std::filesystem::remove_all(folder); }

  void write(const Pack &pack) { ASSERT_OK(writePack(folder + "/" + pack.name + ".pack", pack)); }
  Outcome run(const std::string &flags, const char *driver = SINTER_FAKE_CUDA) {
    std::string command = std::string(SINTER_GPU_CHECK) + " --cuda-driver=" + driver +
                          " --packs=" + folder + " " + flags + " 2>&1";
    Outcome result{-1, ""};
    FILE *pipe = popen(command.c_str(), "r");
    char buffer[4096];
    while (size_t got = std::fread(buffer, 1, sizeof buffer, pipe))
      result.output.append(buffer, got);
    result.status = WEXITSTATUS(pclose(pipe));
    return result;
  }
  std::string folder = testing::TempDir() + "gpu_check_runner_" + std::to_string(::getpid());
};

TEST_F(Runner, PassesAndFails) {
  write(countPack("count", "number_i32"));
  Outcome right = run("--only=right");
  EXPECT_EQ(right.status, 0) << right.output;
  EXPECT_TRUE(right.says("1 passed, 0 failed")) << right.output;
  std::string results = folder + "/results.jsonl";
  Outcome both = run("--results=" + results);
  EXPECT_EQ(both.status, 1) << both.output;
  EXPECT_TRUE(both.says("1 passed, 1 failed")) << both.output;
  EXPECT_TRUE(both.says("FAILED count: wrong\n  result 0, element [5] of i32[32]: got 5, expected "
                        "99, must be equal"))
      << both.output;
  FILE *file = std::fopen(results.c_str(), "r");
  ASSERT_TRUE(file);
  char text[1024] = {};
  EXPECT_TRUE(std::fread(text, 1, sizeof text - 1, file));
  std::fclose(file);
  EXPECT_TRUE(std::string(text).starts_with(
      "{\"kind\": \"begun\", \"name\": \"count: right\"}\n"
      R"({"kind": "case", "name": "count: right", "status": "passed", "worst": 0})"))
      << text;
}

TEST_F(Runner, ShardsHaveEachPackOnce) {
  write(countPack("a", "number_i32"));
  write(countPack("b", "number_i32"));
  write(countPack("longest", "number_i32"));
  EXPECT_EQ(run("--list --shard=0/2").output,
            "a: right\na: wrong\nlongest: right\nlongest: wrong\n");
  EXPECT_EQ(run("--list --shard=1/2").output, "b: right\nb: wrong\n");
  EXPECT_EQ(run("--list --after='b: wrong'").output, "longest: right\nlongest: wrong\n");
  EXPECT_EQ(run("--list --every=4").output, "a: right\nlongest: right\n");
}

TEST_F(Runner, NoDeviceIsOneMessage) {
  write(countPack("count", "number_i32"));
  Outcome none = run("", "/nowhere/libcuda.so");
  EXPECT_EQ(none.status, 4) << none.output;
  EXPECT_TRUE(none.says("gpu-check: the NVIDIA driver library is not there")) << none.output;
  EXPECT_EQ(std::count(none.output.begin(), none.output.end(), '\n'), 1) << none.output;
}

TEST_F(Runner, KernelsThatDoNotLoadFailTheirCases) {
  write(countPack("count", "no_such_kernel"));
  Outcome missing = run("");
  EXPECT_EQ(missing.status, 1) << missing.output;
  EXPECT_TRUE(missing.says("no_such_kernel")) << missing.output;
  EXPECT_TRUE(missing.says("0 passed, 2 failed")) << missing.output;
  Pack broken = countPack("count", "number_i32");
  broken.code[0].bytes += "!\n";
  write(broken);
  Outcome ptx = run("");
  EXPECT_EQ(ptx.status, 1) << ptx.output;
  EXPECT_TRUE(ptx.says("syntax error")) << ptx.output;
}

TEST_F(Runner, ALostDeviceEndsTheRun) {
  Pack faulty = countPack("a", "number_i32");
  write(faulty);
  write(countPack("b", "number_i32"));
  setenv("FAKE_CUDA", "fault_launch=0", 1);
  Outcome lost = run("");
  unsetenv("FAKE_CUDA");
  EXPECT_EQ(lost.status, 3) << lost.output;
  EXPECT_TRUE(lost.says("the device is lost")) << lost.output;
  EXPECT_TRUE(lost.says("net.count")) << lost.output; // the command's name
  EXPECT_TRUE(lost.says("0 passed, 1 failed")) << lost.output;
  Outcome rest = run("--after='a: right' --only=right");
  EXPECT_EQ(rest.status, 0) << rest.output;
}

TEST_F(Runner, KernelsAreTimed) {
  write(countPack("count", "number_i32"));
  std::filesystem::create_directories(folder + "/training");
  write(countPack("training/count", "number_i32"));
  setenv("FAKE_CUDA", "memory=8589934592", 1);
  Outcome measured = run("--measure");
  unsetenv("FAKE_CUDA");
  EXPECT_EQ(measured.status, 0) << measured.output;
  EXPECT_TRUE(measured.says("training/count: kernels of a step")) << measured.output;
  EXPECT_TRUE(measured.says("net.count")) << measured.output;
}

TEST_F(Runner, MistakesOfTheCommandLine) {
  Outcome empty = run("");
  EXPECT_EQ(empty.status, 2) << empty.output;
  EXPECT_TRUE(empty.says("no packs for shard 0/1 in")) << empty.output;
  write(countPack("count", "number_i32"));
  EXPECT_EQ(run("--device=tpu").status, 2);
  EXPECT_EQ(run("--shard=2/2").status, 2);
  EXPECT_EQ(run("--every=0").status, 2);
  EXPECT_EQ(run("--only=nothing").status, 2);
  EXPECT_EQ(run("--after=nothing").status, 2);
  EXPECT_EQ(run("--device=emu --measure").status, 2);
}

} // namespace
} // namespace sinter::gpucheck
