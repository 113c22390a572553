#!/usr/bin/env python3
"""Plants one violation of every lint check in a throw-away tree, and a clean tree beside it."""
import subprocess
import tempfile
import unittest
from pathlib import Path

import lint

HEADER = "// What it is for.\n#ifndef X_H\n#define X_H\n#endif\n"
CLEAN = {
    ".clang-format": "BasedOnStyle: LLVM\n",
    "runtime/x.h": HEADER,
    "runtime/x.cpp": '#include "x.h"\nint f() { return 1; }\n',
    "ir/ops/Elementwise.td": "def Sinter_ReluOp : Op;\ndef Sinter_GroupOp : Op;\n",
    "passes/Fuse.cpp": "bool f(Operation *op) { return isa<GroupOp>(op) || isa<arith::ReluOp>(op); }\n",
    "tests/lint/concrete-op-allowlist.txt": "passes/F* GroupOp  # it makes them\n",
    "tests/lint/forbidden-words.txt": "\\bTODO\\b\tdo it\n",
    "README.md": "[the runtime](runtime/x.h)\n",
    "dev": "#!/usr/bin/env bash\necho hello\n",
}
LONG = "int f() {\n" + "  g();\n" * 60 + "}\n"
# check, file, contents that violate it, what the message says
PLANTED = [
    ("formatting", "runtime/x.cpp", "int   f( ) {return 1;}\n", "clang-format"),
    ("fileLength", "runtime/x.cpp", "int x;\n" * 601, "601 lines"),
    ("functionLength", "runtime/x.cpp", LONG, "62 lines"),
    ("layering", "runtime/x.h", HEADER + '#include "llvm/ADT/STLExtras.h"\n', "llvm/ADT/STLExtras.h"),
    ("layering", "frontend/include/sinter/y.h", HEADER + '#include "mlir/IR/Value.h"\n', "mlir/IR/Value.h"),
    ("layering", "runtime/x.h", HEADER + '#include "sinter/ir/Dialect.h"\n', "nothing of the compiler"),
    ("concreteOps", "passes/Other.cpp", "auto y = dyn_cast<ir::ReluOp>(op);\n", "names ReluOp"),
    ("concreteOps", "passes/Fuse.cpp", "int f();\n", "not needed"),
    ("concreteOps", "tests/lint/concrete-op-allowlist.txt", "passes/Fuse.cpp GroupOp\n", "reason"),
    ("wording", "runtime/x.cpp", "int f(); // TODO\n", "do it"),
    ("headers", "runtime/x.h", "#ifndef X_H\n#define X_H\n#endif\n", "opens with a comment"),
    ("headers", "runtime/x.h", "// What it is for.\nint f();\n", "guard"),
    ("whitespace", "README.md", "word \n", "trailing"),
    ("whitespace", "README.md", "word", "newline"),
    ("links", "README.md", "[gone](docs/gone.md)\n", "docs/gone.md"),
]


class LintTest(unittest.TestCase):
    def findings(self, check, files):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                file = Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            subprocess.run(["git", "init", "-q", folder], check=True)
            return list(getattr(lint, check)(lint.Tree(folder)))

    def testCleanTreePasses(self):
        for check in lint.CHECKS:
            with self.subTest(check.__name__):
                self.assertEqual(self.findings(check.__name__, CLEAN), [])

    def testEachViolationIsFound(self):
        for check, path, text, message in PLANTED:
            with self.subTest(check, path=path):
                found = self.findings(check, {**CLEAN, path: text})
                self.assertTrue(any(message in finding.message for finding in found), found)

    def testShellScriptsAreChecked(self):
        if not lint.shutil.which("shellcheck"):
            self.skipTest("shellcheck is not installed")
        self.assertTrue(self.findings("shell", {"dev": "#!/usr/bin/env bash\ncd $1\n"}))

    def testEveryCheckIsPlanted(self):
        planted = {check for check, *_ in PLANTED} | {"shell"}
        self.assertEqual(planted, {check.__name__ for check in lint.CHECKS})


if __name__ == "__main__":
    unittest.main()
