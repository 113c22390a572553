// Packs that tests make: programs of the fake driver's kernels. Plain functions.
#pragma once

#include "Pack.h"

#include "core_support.h"

#include <numeric>

namespace sinter::gpucheck {

/// Entry "count": y i32[32] = 0, 1, … by `kernel`, which takes y.
inline std::vector<std::byte> countProgram(const char *kernel) {
  rt::test::Builder b;
  rt::Index length = b.c(32);
  rt::Entry entry;
  entry.name = "count";
  entry.outputs = {{"y", DType::I32, {length}}};
  entry.buffers = {b.buffer(rt::BufferKind::Output, DType::I32, {length}, 0, "y")};
  entry.commands = {b.launch(0, {0}, b.c(1), "net.count")};
  b.program.kernels = {{kernel, 32}};
  b.program.entries.push_back(entry);
  return rt::serialize(b.program);
}

/// Cases "right" and "wrong": the second expects 99 at element 5.
inline Pack countPack(const std::string &name, const char *kernel) {
  Pack pack;
  pack.name = name;
  pack.program = countProgram(kernel);
  pack.code = {{DeviceCode::Form::Ptx, "sm_80", 0,
                std::string(".version 7.8\n.target sm_80\n.visible .entry ") + kernel + "(\n"}};
  for (const char *title : {"right", "wrong"}) {
    rt::Array counted = rt::Array::empty(DType::I32, {32});
    std::iota(counted.values<int32_t>().begin(), counted.values<int32_t>().end(), 0);
    if (title[0] == 'w')
      counted.data<int32_t>()[5] = 99;
    Case c{title, "count", {}, {}};
    c.steps.push_back({{}, {{Expected::Of::Result, 0, "result 0", counted, {}}}});
    pack.cases.push_back(c);
  }
  return pack;
}

} // namespace sinter::gpucheck
