#!/usr/bin/env python3
"""Mistakes that the C++ compiler must refuse, each with the words that tell the user what to do.

usage: no_compile.py COMPILER [flags…]      (flags: -std and the include folders)
Every case is compiled alone; a correct program beside them must compile, so that a case can't fail for another reason.
"""
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PRELUDE = """#include "sinter/sinter.h"
#include <optional>
namespace sn = sinter;
using sn::Tensor;
struct Block : sn::Module<Block> {
  using Module::Module;
  sn::Linear linear{{this, "linear"}, 2, 2};
  Tensor forward(Tensor x) { return linear(x); }
};
"""
FINE = "void f(sn::Session &s, Tensor x) { Block b{s}; sn::ModuleList<Block> l{{s, \"l\"}, 2, [](sn::Slot at, int64_t) " \
       "{ return Block(at); }}; std::optional<Block> o; o.emplace(s); b.linear.weight.assign(x); (void)b(x); }"
USER_LINE = f"case.cpp:{PRELUDE.count(chr(10)) + 1}:"  # where the code of a case stands
# name, code, what some line of the errors must say beside the user's line
CASES = [
    ("branch", "int f(Tensor x) { if (x > 0) return 1; return 0; }", ["sn::where", "cond"]),
    ("while", "void f(Tensor x) { while (!x) {} }", ["sn::where"]),
    ("and", "bool f(Tensor x) { return x > 0 && x < 1; }", ["& | ~"]),
    ("copy", "void f(Block &b) { Block other = b; }", ["ModuleList", "clone"]),
    ("move", "void f(Block &b) { Block other = std::move(b); }", ["ModuleList", "clone"]),
    ("vector", "void f(std::vector<Block> &v, Block &b) { v.push_back(b); }", ["ModuleList"]),
    ("assign", "void f(Block &b, Tensor x) { b.linear.weight = x; }", ["assign"]),
    ("parameter", "sn::Parameter f(Block &b) { return b.linear.weight; }", ["tie()"]),
    ("argument", "struct S { Tensor x; }; void f(sn::Session &s) { sn::jit(s, [](std::string) { return Tensor(); })(std::string()); }",
     ["template <class T> struct"]),
]


def compileText(arguments, text):
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "case.cpp")
        source.write_text(PRELUDE + text + "\n")
        return subprocess.run([*arguments, "-fsyntax-only", str(source)], capture_output=True, text=True)


def main(arguments):
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda text: compileText(arguments, text), [FINE, *(code for _, code, _ in CASES)]))
    failures = 0
    if runs[0].returncode:
        failures += 1
        print(f"the correct program does not compile:\n{runs[0].stderr}")
    for (name, _, words), run in zip(CASES, runs[1:]):
        missing = [word for word in [USER_LINE, *words] if word not in run.stderr]
        if run.returncode == 0 or missing:
            failures += 1
            print(f"{name}: " + (f"the errors do not say {missing}:\n{run.stderr}" if run.returncode else "it compiled"))
    print(f"no_compile: {len(CASES)} cases, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
