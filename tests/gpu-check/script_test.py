#!/usr/bin/env python3
"""gpu_check.py with stand-ins for the runner, PyTorch and its peer: what the table and status say."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools/gpu-check/gpu_check.py"

# Passes cases a and b of each part; $STUB makes it fail, lose the device at a, crash in a, stop before any case, or find
# no device, from the start or behind a.
RUNNER = """#!/usr/bin/env python3
import json, os, sys
stub = os.environ.get("STUB", "")
flag = {word.split("=")[0]: word.split("=", 1)[-1] for word in sys.argv[1:]}
if stub == "none" or stub == "gone" and "--after" in flag:
    os._exit(4)
if stub == "damaged" and flag.get("--only") == "conformance/":
    sys.exit("gpu-check: conformance/add.pack: is cut short")
print("device: Stub card", flush=True)
failed = False
def write(**record):
    with open(flag["--results"], "a") as file:
        file.write(json.dumps(record) + "\\n")
if "--serve" in flag:
    print("ready", flush=True)
    for line in sys.stdin:
        print(0.5, flush=True)
elif "--measure" in flag:
    write(kind="bandwidth", gigabytesPerSecond=4000.0)
    write(kind="kernel", model="training/mnist_cnn", command="conv.relu", microseconds=8.0, bytes=64, share=0.5)
elif "--check-libraries" in flag:
    if stub == "late":
        sys.exit("gpu-check: the disk is full")
    write(kind="library", name="library/cuBLASLt", status="passed", message="")
    write(kind="library", name="library/cuDNN", status="skipped", message="cuDNN is not there")
else:
    part = flag["--only"]
    after = flag.get("--after", "")
    if flag.get("--shard", "0/1").startswith("0/"):
        for name in (part + "a", part + "b"):
            if after >= name:
                continue
            write(kind="begun", name=name)
            if stub == "crash" and name == "conformance/a":
                os.abort()
            lost = stub in ("lost", "gone") and name == "conformance/a"
            wrong = lost or stub == "wrong" and name == "conformance/b"
            write(kind="case", name=name, status="failed" if wrong else "passed", worst=0.1,
                  message="element [5]: got 1, expected 2")
            if lost:
                os._exit(3)
            failed = failed or wrong
sys.exit(1 if failed else 0)
"""
DEVICE = """#!/usr/bin/env python3
import json, os, sys
if os.environ.get("STUB") == "none":
    os._exit(4)
case = {"name": "Copies/0", "result": "COMPLETED"}
with open(sys.argv[1].split("json:")[1], "w") as file:
    json.dump({"testsuites": [{"testsuite": [case]}]}, file)
sys.exit(os.environ.get("STUB") == "late")
"""
PEER = """import os, sys
print("ready stub", flush=True)
for line in sys.stdin:
    if os.environ.get("STUB") == "mute" and line.startswith("run"):
        sys.exit("out of memory")
    print(float(os.environ.get("DIFFERENCE", "0")) if line.startswith("difference") else 1.0, flush=True)
"""
TORCH = "__version__ = '2.11'\nclass cuda:\n    is_available = staticmethod(lambda: True)\n"


class Script(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(SCRIPT, self.folder)
        for name, text in {
            "gpu-check": RUNNER,
            "gpu-check-device": DEVICE,
            "torch_peer.py": PEER,
            "torch/__init__.py": TORCH,
        }.items():
            file = self.folder / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
            file.chmod(0o755)

    def run_script(self, *flags, **environment):
        command = [sys.executable, self.folder / "gpu_check.py", *flags, "--workers=2"]
        command.append(f"--results={self.folder / 'results.json'}")
        environment = {**os.environ, "PYTHONPATH": str(self.folder), **environment}
        return subprocess.run(command, text=True, capture_output=True, env=environment, check=False)

    def test_all_passed(self):
        done = self.run_script()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[-1], "12 passed, 0 failed, 1 skipped")
        self.assertIn("ratio mnist_cnn_eager 2.00", lines)
        self.assertIn("ratio transformer_graph 2.00", lines)
        self.assertIn("skipped library/cuDNN: cuDNN is not there", lines)
        self.assertIn("copy bandwidth: 4000 GB/s", lines)
        self.assertIn("        8.0 us   50.0%  conv.relu", lines)
        self.assertIn("device: Stub card", lines)
        content = json.loads((self.folder / "results.json").read_text())
        self.assertEqual(content["passed"], 12)
        self.assertEqual(len([r for r in content["records"] if r["kind"] == "ratio"]), 6)

    def test_a_failure_is_shown_and_told_by_the_status(self):
        done = self.run_script("--no-peer", STUB="wrong")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("FAILED conformance/b\n  element [5]: got 1, expected 2", done.stdout)
        self.assertIn("skipped ratios: no PyTorch for this GPU (--no-peer)", done.stdout)
        self.assertNotIn("ratio mnist", done.stdout)

    def test_what_stands_behind_a_lost_device_runs_all_the_same(self):
        done = self.run_script("--no-peer", STUB="lost")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("conformance          1       1        0", done.stdout)

    def test_a_crash_fails_the_case_it_was_in_and_that_one_alone(self):
        done = self.run_script("--no-peer", STUB="crash")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("FAILED conformance/a\n  it ended with status -6", done.stdout)
        self.assertIn("conformance          1       1        0", done.stdout)

    def test_cases_that_could_not_run_are_a_failure_with_the_reason(self):
        done = self.run_script("--no-peer", STUB="damaged")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("status 1: gpu-check: conformance/add.pack: is cut short", done.stdout)

    def test_a_status_that_no_case_explains_is_a_failure(self):
        done = self.run_script("--no-peer", STUB="late")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("FAILED device suite\n  it ended with status 1 behind", done.stdout)
        self.assertIn("FAILED libraries\n  it ended with status 1: gpu-check: the disk is full", done.stdout)

    def test_a_card_that_is_gone_loses_no_results(self):
        done = self.run_script("--no-peer", STUB="gone")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("it ended with status 4", done.stdout)
        content = json.loads((self.folder / "results.json").read_text())
        self.assertIn("training/b", [record.get("name") for record in content["records"]])

    def test_a_peer_that_dies_between_turns_costs_its_ratios_only(self):
        done = self.run_script(STUB="mute")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("ended with status 1", done.stdout)
        self.assertIn("copy bandwidth: 4000 GB/s", done.stdout)

    def test_a_peer_that_computes_something_else_fails(self):
        done = self.run_script(DIFFERENCE="0.5")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("losses differ by 5.0e-01, allowed 1e-03", done.stdout)

    def test_no_pytorch_is_said_and_no_failure(self):
        (self.folder / "torch/__init__.py").write_text("raise ImportError('no torch here')\n")
        done = self.run_script()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("skipped ratios: no PyTorch for this GPU", done.stdout)
        self.assertIn("no torch here", done.stdout)

    def test_no_device_ends_it(self):
        self.assertEqual(self.run_script(STUB="none").returncode, 4)

    def test_the_dry_run_has_cases_only(self):
        done = self.run_script("--device=emu", "--emulated=nowhere")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(done.stdout.rstrip().endswith("4 passed, 0 failed, 0 skipped"))


if __name__ == "__main__":
    unittest.main()
