#!/usr/bin/env python3
"""What ./dev test counts: results as CTest, GoogleTest and lit write them, among them those easily taken for passes."""
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/dev"))
import report

CTEST = """<testsuite>
<testcase name="cases" status="fail"><failure message=""/><system-out>1 FAILED TEST</system-out></testcase>
<testcase name="crash" status="fail"><failure message=""/><system-out>[ RUN ] A.Death\n</system-out></testcase>
<testcase name="leak" status="fail"><failure message=""/><system-out>ERROR: LeakSanitizer\n</system-out></testcase>
<testcase name="choosy" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out>no AVX-512\n</system-out></testcase>
<testcase name="gone" status="notrun"><skipped message="Unable to find executable"/></testcase>
<testcase name="plain" status="run"><system-out/></testcase>
</testsuite>"""
CASES = """<testsuites><testsuite name="A">
<testcase name="Pass" status="run" result="completed" classname="A"/>
<testcase name="Fail" status="run" result="completed" classname="A"><failure message="x.cpp:4&#x0A;why"/></testcase>
<testcase name="Skip" status="run" result="skipped" classname="A"><skipped message="x.cpp:5&#x0A;needs AVX"/></testcase>
</testsuite></testsuites>"""
LEAK = '<testsuites><testcase name="Pass" status="run" classname="L"/></testsuites>'
LIT = """<testsuites><testsuite>
<testcase classname="sinter.passes" name="f.mlir"><failure>Exit Code: 1\nmore</failure></testcase>
<testcase classname="sinter.passes" name="s.mlir"><skipped message="Missing required feature(s): gpu"/></testcase>
</testsuite></testsuites>"""


class ReportTest(unittest.TestCase):
    def collect(self, files, failedParts=()):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                code = report.main(folder, list(failedParts))
            return code, output.getvalue(), set(report.collect(Path(folder)))

    def testEveryOutcome(self):
        code, output, results = self.collect({
            "unit.ctest.xml": CTEST, "unit.gtest/cases.xml": CASES, "unit.gtest/leak.xml": LEAK, "tests.lit.xml": LIT,
            "steps.tsv": "passed\tbuild release\t\n"})
        self.assertEqual({(r.status, r.name, r.reason) for r in results}, {
            ("passed", "build release", ""), ("passed", "unit: plain", ""), ("passed", "unit: A.Pass", ""),
            ("failed", "unit: A.Fail", "x.cpp:4 why"), ("skipped", "unit: A.Skip", "needs AVX"),
            ("failed", "unit: crash", "[ RUN ] A.Death"), ("passed", "unit: L.Pass", ""),
            ("failed", "unit: leak", "ERROR: LeakSanitizer"), ("skipped", "unit: choosy", "no AVX-512"),
            ("failed", "unit: gone", "not run: Unable to find executable"),
            ("failed", "lit: passes/f.mlir", "Exit Code: 1"),
            ("skipped", "lit: passes/s.mlir", "Missing required feature(s): gpu")})
        self.assertEqual(output.splitlines()[-1], "4 passed, 5 failed, 3 skipped")
        self.assertEqual(code, 1)

    def testPassing(self):
        code, output, _ = self.collect({"steps.tsv": "passed\tlint\t\n"})
        self.assertEqual((code, output), (0, "1 passed, 0 failed, 0 skipped\n"))

    def testNothingRanFails(self):
        self.assertEqual(self.collect({})[0], 1)

    def testRunnerThatLeftNoResultsFails(self):
        code, output, _ = self.collect({"steps.tsv": "passed\tlint\t\n"}, ["lit"])
        self.assertEqual((code, output.splitlines()[-1]), (1, "1 passed, 1 failed, 0 skipped"))

    def testCutOffFileFails(self):
        self.assertEqual(self.collect({"unit.ctest.xml": "<testsuite><testcase"})[0], 1)


if __name__ == "__main__":
    unittest.main()
