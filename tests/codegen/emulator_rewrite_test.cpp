// What has no emulation is an error that names it; what has computes as the PTX ISA says.
#include "emulator_support.h"

#include <bit>
#include <cmath>

namespace sinter::codegen::test {
namespace {

std::string body(const std::string &text, const std::string &more = "") {
  return "define ptx_kernel void @k(ptr addrspace(1) %out) {\n" + text + "  ret void\n}\n" + more;
}

TEST(EmulatorRewrite, WhatHasNoEmulationIsNamed) {
  EXPECT_CONTAINS(
      emulationError(body("  call void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32 64)\n",
                          "declare void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32 immarg)\n")),
      "kernel 'k' at test.cu:1: intrinsic 'llvm.nvvm.setmaxnreg.inc.sync.aligned.u32' has no "
      "emulation");
  EXPECT_CONTAINS(
      emulationError(body("  %t = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctaid.x()\n",
                          "declare i32 @llvm.nvvm.read.ptx.sreg.cluster.ctaid.x()\n")),
      "intrinsic 'llvm.nvvm.read.ptx.sreg.cluster.ctaid.x' has no emulation");
  EXPECT_CONTAINS(emulationError(body("  %x = call float @__nv_expf(float 1.0)\n",
                                      "declare float @__nv_expf(float)\n")),
                  "calls '__nv_expf', which the module does not define; link it in");
  EXPECT_CONTAINS(emulationError(body("  call void asm sideeffect \"bar.sync 0;\", \"\"()\n")),
                  "kernel 'k' at test.cu:1: inline assembly has no emulation");
  EXPECT_CONTAINS(
      emulationError(body("  %f = load ptr, ptr addrspace(1) %out\n  call void %f()\n")),
      "a call through a pointer has no emulation");
  EXPECT_CONTAINS(
      emulationError(body("  call void @f(i32 3)\n",
                          "define void @f(i32 %n) {\n  %z = icmp eq i32 %n, 0\n"
                          "  br i1 %z, label %end, label %on\non:\n  %m = sub i32 %n, 1\n"
                          "  call void @f(i32 %m)\n  br label %end\nend:\n  ret void\n}\n")),
      "calls 'f' recursively");
  EXPECT_CONTAINS(emulationError("define void @f() {\n  ret void\n}\n"),
                  "has no function of calling convention ptx_kernel");
  EXPECT_CONTAINS(emulationError(body("  store i32 0, ptr addrspace(1) @gone\n",
                                      "@gone = external addrspace(1) global i32\n")),
                  "uses the variable 'gone' of address space 1, which the module does not define");
}

/// `text` computes the float %r; returned.
float compute(const std::string &text, const std::string &more = "") {
  Kernels kernels(body(text + "  store float %r, ptr addrspace(1) %out\n", more));
  Gpu gpu;
  void *out = gpu.allocate(4);
  EXPECT_EQ(gpu.run(kernels["k"], shapeOf(1, 1), out), "");
  return gpu.download<float>(out, 1)[0];
}

float call1(const std::string &name, float x) {
  std::string number = "0x" + [&] {
    char digits[17];
    std::snprintf(digits, sizeof(digits), "%016llX",
                  (unsigned long long)std::bit_cast<uint64_t>(double(x)));
    return std::string(digits);
  }();
  return compute("  %r = call float @llvm.nvvm." + name + "(float " + number + ")\n",
                 "declare float @llvm.nvvm." + name + "(float)\n");
}

TEST(EmulatorRewrite, ApproximateMathIsPrecise) {
  EXPECT_FLOAT_EQ(call1("ex2.approx.f32", 3.5f), std::exp2(3.5f));
  EXPECT_FLOAT_EQ(call1("ex2.approx.ftz.f32", -2), 0.25f);
  EXPECT_FLOAT_EQ(call1("lg2.approx.f", 10), std::log2(10.0f));
  EXPECT_FLOAT_EQ(call1("sin.approx.f", 1.25f), std::sin(1.25f));
  EXPECT_FLOAT_EQ(call1("cos.approx.ftz.f", 1.25f), std::cos(1.25f));
  EXPECT_FLOAT_EQ(call1("rsqrt.approx.f", 16), 0.25f);
  EXPECT_FLOAT_EQ(call1("rcp.approx.ftz.f", 8), 0.125f);
  EXPECT_FLOAT_EQ(call1("sqrt.approx.f", 2), std::sqrt(2.0f));
  EXPECT_FLOAT_EQ(call1("saturate.f", 7), 1);
  EXPECT_FLOAT_EQ(call1("round.f", 2.5f), 2);
}

TEST(EmulatorRewrite, MinimaAndNaN) {
  auto both = [](const std::string &name) {
    return compute("  %r = call float @llvm.nvvm." + name +
                       "(float 0x7FF8000000000000, float 2.0)\n",
                   "declare float @llvm.nvvm." + name + "(float, float)\n");
  };
  EXPECT_EQ(both("fmax.f"), 2);
  EXPECT_EQ(both("fmin.ftz.f"), 2);
  EXPECT_TRUE(std::isnan(both("fmax.nan.f")));
  EXPECT_EQ(compute("  %r = call float @llvm.nvvm.fma.rn.f(float 2.0, float 3.0, float 4.0)\n",
                    "declare float @llvm.nvvm.fma.rn.f(float, float, float)\n"),
            10);
}

int32_t integer(const std::string &call, const std::string &declaration) {
  return std::bit_cast<int32_t>(
      compute("  %i = call i32 " + call + "\n  %r = bitcast i32 %i to float\n",
              "declare i32 " + declaration + "\n"));
}

TEST(EmulatorRewrite, IntegerIntrinsics) {
  EXPECT_EQ(integer("@llvm.nvvm.mulhi.i(i32 -3, i32 2)", "@llvm.nvvm.mulhi.i(i32, i32)"), -1);
  EXPECT_EQ(integer("@llvm.nvvm.mulhi.ui(i32 -1, i32 2)", "@llvm.nvvm.mulhi.ui(i32, i32)"), 1);
  EXPECT_EQ(integer("@llvm.nvvm.sad.i(i32 -3, i32 4, i32 10)", "@llvm.nvvm.sad.i(i32, i32, i32)"),
            17);
  // Bytes of 0x44332211: the sign of byte 4 of b:a, byte 0, its sign, byte 5.
  EXPECT_EQ(uint32_t(integer("@llvm.nvvm.prmt(i32 1144201745, i32 -2004318072, i32 22540)",
                             "@llvm.nvvm.prmt(i32, i32, i32)")),
            0x88'00'11'ffu);
  EXPECT_EQ(integer("@llvm.nvvm.f2i.rz(float -2.75)", "@llvm.nvvm.f2i.rz(float)"), -2);
  EXPECT_EQ(integer("@llvm.nvvm.f2i.rm(float -2.25)", "@llvm.nvvm.f2i.rm(float)"), -3);
  EXPECT_EQ(integer("@llvm.nvvm.f2ui.rn(float -5.0)", "@llvm.nvvm.f2ui.rn(float)"), 0);
  EXPECT_EQ(integer("@llvm.nvvm.f2i.rn(float 4294967296.0)", "@llvm.nvvm.f2i.rn(float)"),
            INT32_MAX);
}

TEST(EmulatorRewrite, SmallFloatsNeedNoLibrary) {
  // 1 + 2^-9 + 2^-40 is above the middle of two bf16: rounding twice would miss it.
  EXPECT_EQ(
      compute("  %d = fadd double 1.0, 0.00390625\n  %e = fadd double %d, 0x3D70000000000000\n"
              "  %b = fptrunc double %e to bfloat\n  %r = fpext bfloat %b to float\n"),
      1.0078125f);
  EXPECT_EQ(
      compute("  %p = getelementptr float, ptr addrspace(1) %out, i64 0\n  store float 1.00390625, "
              "ptr addrspace(1) %p\n"
              "  %x = load volatile float, ptr addrspace(1) %p\n  %b = fptrunc float %x to bfloat\n"
              "  %c = fadd bfloat %b, 1.0\n  %r = fpext bfloat %c to float\n"),
      2.0f);
  EXPECT_EQ(
      compute("  %p = getelementptr float, ptr addrspace(1) %out, i64 0\n  store float 65504.0, "
              "ptr addrspace(1) %p\n"
              "  %x = load volatile float, ptr addrspace(1) %p\n  %d = fpext float %x to double\n"
              "  %h = fptrunc double %d to half\n  %r = fpext half %h to float\n"),
      65504.0f);
}

TEST(EmulatorRewrite, CopiesAreDoneWhereTheyStart) {
  const std::string more =
      "@tile = internal addrspace(3) global [8 x i32] undef, align 16\n"
      "declare void @llvm.nvvm.cp.async.ca.shared.global.16(ptr addrspace(3), ptr addrspace(1))\n"
      "declare void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3), ptr addrspace(1), "
      "i32)\n"
      "declare void @llvm.nvvm.cp.async.commit.group()\n"
      "declare void @llvm.nvvm.cp.async.wait.group(i32)\n";
  Kernels kernels(body(R"(
  %to = getelementptr i32, ptr addrspace(3) @tile, i64 4
  call void @llvm.nvvm.cp.async.ca.shared.global.16(ptr addrspace(3) @tile, ptr addrspace(1) %out)
  call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) %to, ptr addrspace(1) %out, i32 6)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  %p = getelementptr i32, ptr addrspace(1) %out, i64 4
  %a = load <4 x i32>, ptr addrspace(3) @tile
  %b = load <4 x i32>, ptr addrspace(3) %to
  store <4 x i32> %b, ptr addrspace(1) %out
  store <4 x i32> %a, ptr addrspace(1) %p
)",
                       more),
                  {.instrument = true});
  Gpu gpu({.threads = 1, .check = true});
  void *out = gpu.upload(std::vector<int32_t>{0x01010101, 0x02020202, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(gpu.run(kernels["k"], shapeOf(1, 1), out), "");
  EXPECT_EQ(gpu.download<int32_t>(out, 8),
            (std::vector<int32_t>{0x01010101, 0x0202, 0, 0, 0x01010101, 0x02020202, 3, 4}));
}

TEST(EmulatorRewrite, GenericPointersFindTheirMemory) {
  const std::string text = body(
      R"(
  %local = alloca i32, addrspace(5)
  %g = addrspacecast ptr addrspace(1) %out to ptr
  %s = addrspacecast ptr addrspace(3) @tile to ptr
  %l = addrspacecast ptr addrspace(5) %local to ptr
  %c = addrspacecast ptr addrspace(4) @constant to ptr
  %v = addrspacecast ptr addrspace(1) @variable to ptr
  %table = alloca [5 x ptr]
  br label %fill
fill:
  %t1 = getelementptr ptr, ptr %table, i64 1
  %t2 = getelementptr ptr, ptr %table, i64 2
  store volatile ptr %g, ptr %table
  store volatile ptr %s, ptr %t1
  store volatile ptr %l, ptr %t2
  %gp = load volatile ptr, ptr %table
  %sp = load volatile ptr, ptr %t1
  %lp = load volatile ptr, ptr %t2
  store i32 11, ptr %sp
  store i32 22, ptr %lp
  %x = load i32, ptr addrspace(3) @tile
  %y = load i32, ptr addrspace(5) %local
  %z = load i32, ptr %c
  %w = load i32, ptr %v
  %w1 = add i32 %w, 1
  store i32 %w1, ptr %v
  %isShared = call i1 @llvm.nvvm.isspacep.shared(ptr %sp)
  %isGlobal = call i1 @llvm.nvvm.isspacep.global(ptr %gp)
  %isLocal = call i1 @llvm.nvvm.isspacep.local(ptr %lp)
  %not = call i1 @llvm.nvvm.isspacep.shared(ptr %gp)
  %i1 = select i1 %isShared, i32 1, i32 0
  %i2 = select i1 %isGlobal, i32 2, i32 %i1
  %o = getelementptr i32, ptr %gp, i64 1
  %is = zext i1 %isLocal to i32
  %ns = zext i1 %not to i32
  %tag = sub i32 %is, %ns
  %sum = add i32 %x, %y
  store i32 %sum, ptr %gp
  store i32 %z, ptr %o
  %o2 = getelementptr i32, ptr %gp, i64 2
  store i32 %w, ptr %o2
  %o3 = getelementptr i32, ptr %gp, i64 3
  %all = add i32 %tag, %i2
  store i32 %all, ptr %o3
)",
      "@tile = internal addrspace(3) global [4 x i32] undef\n"
      "@constant = internal addrspace(4) constant i32 33\n"
      "@variable = internal addrspace(1) global i32 44\n"
      "declare i1 @llvm.nvvm.isspacep.shared(ptr)\ndeclare i1 @llvm.nvvm.isspacep.global(ptr)\n"
      "declare i1 @llvm.nvvm.isspacep.local(ptr)\n");
  for (bool watch : {false, true}) {
    Kernels kernels(text, {.instrument = watch});
    Gpu gpu({.threads = 1, .check = watch});
    void *out = gpu.allocate(16);
    for (int turn = 0; turn < 2; ++turn) { // the module's variable lives on
      EXPECT_EQ(gpu.run(kernels["k"], shapeOf(1, 1), out), "");
      EXPECT_EQ(gpu.download<int32_t>(out, 4), (std::vector<int32_t>{33, 33, 44 + turn, 3}));
    }
  }
}

TEST(EmulatorRewrite, StructuresArePassedByValue) {
  Kernels kernels(R"(
define ptx_kernel void @k(ptr addrspace(1) %out, ptr byval([3 x i32]) align 4 %three, i64 %wide, i8 %small) {
  %p = getelementptr i32, ptr %three, i64 2
  %v = load i32, ptr %p
  store i32 9, ptr %p
  %w = trunc i64 %wide to i32
  %s = sext i8 %small to i32
  %a = add i32 %v, %w
  %b = add i32 %a, %s
  store i32 %b, ptr addrspace(1) %out
  ret void
}
)");
  Gpu gpu;
  void *out = gpu.allocate(4);
  for (int turn = 0; turn < 2; ++turn) { // each thread has a copy of its own
    EXPECT_EQ(
        gpu.run(kernels["k"], shapeOf(2, 2), out, std::array{1, 2, 300}, int64_t(20), int8_t(-1)),
        "");
    EXPECT_EQ(gpu.download<int32_t>(out, 1)[0], 319);
  }
  EXPECT_EQ(kernels.description("k").params[1].bytes, 12u);
  EXPECT_FALSE(kernels.description("k").params[1].is_pointer);
}

} // namespace
} // namespace sinter::codegen::test
