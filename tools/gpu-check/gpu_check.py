#!/usr/bin/env python3
"""Checks sinter's CUDA kernels on this machine's GPU and compares their speed with PyTorch's.

usage: ./run.sh [--results FILE] [--workers N] [--python FILE] [--no-peer] [--only TEXT]
       ./run.sh --device=emu --emulated DIR [--every N] [--steps N]     a dry run, without a GPU

Everything lies beside this file but the GPU's driver and, for the comparison, a Python with
PyTorch. The table comes last; the results file has all that was found, failures with index,
values and bound. Exit status: 0 all passed, 1 something failed, 4 there is no device.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOST, NO_DEVICE = 3, 4  # exit statuses of gpu-check
RESTARTS = 20  # of a worker whose device was lost
SHOWN = 20  # failures and kernels in the table; the results file has all
ROUNDS = 7
# model: steps a turn, largest relative difference of PyTorch's losses. The transformer's dropout
# draws other masks than PyTorch's, so that its losses are only near each other.
PEERS = {"mnist_cnn": (100, 1e-3), "mnist_cnn_large": (10, 1e-3), "transformer": (100, 0.02)}
VARIANTS = ("eager", "graph")


class Check:
    def __init__(self, args, folder):
        self.args, self.folder, self.records, self.device = args, folder, [], ""
        self.runner = [str(HERE / "gpu-check"), f"--device={args.device}"]
        if args.emulated:
            self.runner.append(f"--emulated={args.emulated}")
        if args.device != "emu":
            self.runner.append(f"--cuda-libraries={libraryFolders(args.python)}")

    def add(self, kind, **fields):
        self.records.append({"kind": kind, **fields})

    def of(self, *kinds):
        return [record for record in self.records if record["kind"] in kinds]

    def run(self, name, flags, quiet=False):
        """Runs gpu-check; its records, its exit status and what it said last."""
        results = self.folder / f"{name}.jsonl"
        before = results.read_text().count("\n") if results.exists() else 0
        command = [*self.runner, *flags, f"--results={results}"]
        done = subprocess.run(command, text=True, capture_output=True, check=False)
        if not quiet or done.returncode:
            print(done.stdout + done.stderr, end="", flush=True)
        lines = results.read_text().splitlines()[before:] if results.exists() else []
        records = [json.loads(line) for line in lines]
        if not self.device and done.stdout.startswith("device: "):
            self.device = done.stdout.splitlines()[0].removeprefix("device: ")
        said = (done.stderr.strip().splitlines() or ["and said nothing"])[-1]
        return records, done.returncode, said

    def cases(self, name, flags):
        """Cases, however often the device is lost or the program crashes on the way."""
        records, after = [], []
        for _ in range(RESTARTS):
            found, status, said = self.run(name, [*flags, *after], quiet=True)
            judged = [record for record in found if record["kind"] == "case"]
            records += judged
            if status == NO_DEVICE and not records and not self.records:
                raise SystemExit(NO_DEVICE)
            if status != LOST and unexplained(status, judged):
                inCase = found and found[-1]["kind"] == "begun"
                where = found[-1]["name"] if inCase else f"gpu-check, {name}"
                records.append(failure(where, f"it ended with status {status}: {said}"))
            if (status != LOST and status >= 0) or not found:
                return records
            after = [f"--after={found[-1]['name']}"]
        return [*records, failure(f"gpu-check, {name}", f"the device was lost {RESTARTS} times")]

    def conformance(self):
        """The cases of all ops, by several processes: the driver compiles for one at a time."""
        only = self.args.only or "conformance/"
        flags = [f"--only={only}", f"--every={self.args.every}"]
        count = 1 if self.args.only else self.args.workers
        if self.args.device == "emu":
            flags.append("--threads=1")
        if self.args.steps:
            flags.append(f"--steps={self.args.steps}")
        with ThreadPoolExecutor(count) as pool:
            work = [
                pool.submit(self.cases, f"worker {i}", [*flags, f"--shard={i}/{count}"])
                for i in range(count)
            ]
            for each in work:
                self.records += each.result()

    def trainings(self):
        flags = ["--only=training/"]
        if self.args.steps:
            flags.append(f"--steps={self.args.steps}")
        self.records += self.cases("training", flags)

    def deviceSuite(self):
        """What every device must do, as GoogleTest cases."""
        results = self.folder / "device.json"
        command = [str(HERE / "gpu-check-device"), f"--gtest_output=json:{results}"]
        done = subprocess.run(command, text=True, capture_output=True, check=False)
        if not results.exists():
            print(done.stdout + done.stderr, end="", flush=True)
            if done.returncode == NO_DEVICE:
                raise SystemExit(NO_DEVICE)
            message = f"it ended with status {done.returncode} before it had results"
            self.records.append(failure("device suite", message))
            return
        for suite in json.loads(results.read_text())["testsuites"]:
            for case in suite["testsuite"]:
                wrong = "\n  ".join(each["failure"] for each in case.get("failures", []))
                status = "skipped" if case["result"] == "SKIPPED" else "failed" if wrong else "passed"
                self.add("case", name=f"device/{case['name']}", status=status, message=wrong)
        own = [record for record in self.of("case") if record["name"].startswith("device/")]
        if unexplained(done.returncode, own):
            message = f"it ended with status {done.returncode} behind its last case"
            self.records.append(failure("device suite", message))

    def libraries(self):
        records, status, said = self.run("libraries", ["--check-libraries"])
        self.records += records
        if unexplained(status, records) or not records:
            self.records.append(failure("libraries", f"it ended with status {status}: {said}"))

    def measure(self):
        records, status, said = self.run("measure", ["--measure"], quiet=True)
        self.records += records
        if status:
            self.records.append(failure("measure", f"it ended with status {status}: {said}"))

    def peers(self):
        if self.args.no_peer:
            self.add("peer", name="PyTorch", status="skipped", message="--no-peer")
            return
        python = self.args.python
        probe = [python, "-c", "import torch; print(torch.__version__, torch.cuda.is_available())"]
        done = subprocess.run(probe, text=True, capture_output=True, check=False)
        if done.returncode or not done.stdout.strip().endswith("True"):
            why = (done.stderr.strip().splitlines() or [f"no GPU for it: {done.stdout.strip()}"])[-1]
            self.add("peer", name="PyTorch", status="skipped", message=f"{python}: {why}")
            return
        self.add("peer", name=f"PyTorch {done.stdout.split()[0]}", status="passed", message="")
        for model, (steps, tolerance) in PEERS.items():
            try:
                self.compare(model, steps, tolerance)
            except PeerError as error:
                self.records.append(failure(f"peer/{model}", str(error)))

    def compare(self, model, steps, tolerance):
        """Turns of sinter and of each PyTorch; a ratio is PyTorch's median time by sinter's."""
        sides = {}
        try:
            sides["sinter"] = Side([*self.runner, f"--serve=training/{model}"])
            peer = [self.args.python, str(HERE / "torch_peer.py"), f"--model={model}"]
            for variant in VARIANTS:
                side = Side([*peer, f"--exchange={HERE / 'exchange'}", f"--variant={variant}"])
                sides[f"PyTorch {variant}"] = side
                difference = side.ask("difference")
                status = "passed" if difference <= tolerance else "failed"
                message = f"losses differ by {difference:.1e}, allowed {tolerance:.0e}"
                self.add("case", name=f"peer/{model}/{variant}", status=status, message=message)
            self.race(model, steps, sides)
            for side in sides.values():
                side.close()
        finally:
            for side in sides.values():
                side.process.kill()

    def race(self, model, steps, sides):
        times = {name: [] for name in sides}
        for number in range(ROUNDS + 1):
            for name in list(sides)[:: 1 if number % 2 else -1]:
                seconds = sides[name].ask(f"run {steps}") / steps
                if number:  # the first turn warms up
                    times[name].append(seconds)
        medians = {name: statistics.median(values) for name, values in times.items()}
        for name, seconds in medians.items():
            self.add("turns", model=model, side=name, microseconds=1e6 * seconds)
            if name != "sinter":
                ratio = seconds / medians["sinter"]
                self.add("ratio", name=f"{model}_{name.split()[1]}", value=ratio)


class PeerError(Exception):
    pass


class Side:
    """A process that makes steps on request."""

    def __init__(self, command):
        self.command = command
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        while not self.line().startswith("ready"):
            pass

    def line(self):
        text = self.process.stdout.readline()
        if not text:
            raise PeerError(f"{' '.join(self.command)} ended with status {self.process.wait()}")
        return text

    def ask(self, request):
        try:
            self.process.stdin.write(request + "\n")
            self.process.stdin.flush()
        except OSError:  # it has ended, which the next line tells
            pass
        answer = self.line()
        try:
            return float(answer)
        except ValueError:
            told = f"answered '{answer.strip()}' to '{request}'"
            raise PeerError(f"{' '.join(self.command)} {told}, no number") from None

    def close(self):
        self.process.stdin.close()
        if status := self.process.wait():
            raise PeerError(f"{' '.join(self.command)} ended with status {status}")


def unexplained(status, records):
    """Whether a program ended in another way than by what its records tell."""
    return status not in (0, 1) or status == 1 and not any(r["status"] == "failed" for r in records)


def failure(name, message):
    return {"kind": "case", "name": name, "status": "failed", "message": message}


def libraryFolders(python):
    """Where pip puts NVIDIA's libraries: the site-packages of the Python that has PyTorch."""
    code = (
        "import sys, sysconfig\n"
        "paths = {sysconfig.get_path('purelib'), *(p for p in sys.path if p.endswith('-packages'))}\n"
        "print(':'.join(sorted(paths)))"
    )
    done = subprocess.run([python, "-c", code], text=True, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"gpu_check.py: --python={python} does not run: {done.stderr.strip()}")
    return done.stdout.strip()


def section(name):
    """The part of the table a case belongs to."""
    return name.split("/")[0] if "/" in name else name


def table(check, seconds):
    """Prints what was found; failures come before the numbers, counts last."""
    judged = check.of("case", "library")
    for record in judged:
        if record["status"] == "skipped":
            print(f"skipped {record['name']}: {record.get('message') or 'no reason given'}")
    for record in check.of("peer"):
        if record["status"] == "skipped":
            print(f"skipped ratios: no PyTorch for this GPU ({record['message']})")
    failed = [record for record in judged if record["status"] == "failed"]
    printFailures(failed)
    print(f"\ndevice: {check.device or 'none'}")
    printTimes(check)
    print("\n                passed  failed  skipped")
    for name in dict.fromkeys(section(record["name"]) for record in judged):
        counts = countOf([record for record in judged if section(record["name"]) == name])
        print(f"{name:14} {counts[0]:7} {counts[1]:7} {counts[2]:8}")
    for record in check.of("ratio"):
        print(f"ratio {record['name']} {record['value']:.2f}")
    counts = countOf(judged)
    print(f"{seconds:.0f} s")
    print(f"{counts[0]} passed, {counts[1]} failed, {counts[2]} skipped")
    return counts


def printFailures(failed):
    """One for each message: a pack that does not load fails all its cases alike."""
    alike = {}
    for record in failed:
        alike.setdefault(record["message"], []).append(record["name"])
    for message, names in list(alike.items())[:SHOWN]:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        print(f"FAILED {names[0]}{more}\n  {message}")
    if len(alike) > SHOWN:
        print(f"… and {len(alike) - SHOWN} other messages: see the results file")


def countOf(records):
    return [
        sum(record["status"] == status for record in records)
        for status in ("passed", "failed", "skipped")
    ]


def printTimes(check):
    for record in check.of("bandwidth"):
        print(f"copy bandwidth: {record['gigabytesPerSecond']:.0f} GB/s")
    kernels = check.of("kernel")
    for model in dict.fromkeys(record["model"] for record in kernels):
        own = [record for record in kernels if record["model"] == model]
        together = sum(record["microseconds"] for record in own)
        print(f"\n{model}: {len(own)} kernels, {together:.0f} us; share of the copy bandwidth")
        for record in own[:SHOWN]:
            share = "   none" if not record["bytes"] else f"{100 * record['share']:6.1f}%"
            print(f"  {record['microseconds']:9.1f} us {share}  {record['command']}")
        if len(own) > SHOWN:
            print(f"  … and {len(own) - SHOWN} faster ones")
    for record in check.of("turns"):
        print(f"{record['model']}: {record['side']:14} {record['microseconds']:10.1f} us a step")


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--device",
        choices=("cuda", "emu"),
        default="cuda",
        help="cuda: the first card that CUDA_VISIBLE_DEVICES leaves; emu: the emulated one",
    )
    parser.add_argument("--emulated", help="emu: folder of emulated kernels")
    parser.add_argument("--results", type=Path, default=Path("gpu-check-results.json"))
    parser.add_argument("--workers", type=int, default=min(8, os.cpu_count() or 1))
    parser.add_argument("--every", type=int, default=1, help="every N-th conformance case only")
    parser.add_argument("--steps", type=int, help="at most N steps of each training")
    parser.add_argument("--only", help="only the cases whose name contains this, and no times")
    parser.add_argument("--no-peer", action="store_true", help="no comparison with PyTorch")
    parser.add_argument("--python", default=sys.executable, help="a Python that has PyTorch")
    return parser.parse_args()


def main():
    args, start = arguments(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        check = Check(args, Path(folder))
        parts = [check.conformance]
        if not args.only:
            parts.insert(0, check.trainings)
        if not args.only and args.device != "emu":
            parts = [check.deviceSuite, *parts, check.libraries, check.measure, check.peers]
        for part in parts:
            began = time.monotonic()
            print(f"{part.__name__} …", flush=True)
            part()
            print(f"  {time.monotonic() - began:.0f} s", flush=True)
    seconds = time.monotonic() - start
    counts = table(check, seconds)
    version = (HERE / "VERSION").read_text().strip() if (HERE / "VERSION").exists() else ""
    content = {
        "sinter": version,
        "device": check.device,
        "seconds": seconds,
        "every": args.every,
        "passed": counts[0],
        "failed": counts[1],
        "skipped": counts[2],
        "records": check.records,
    }
    args.results.write_text(json.dumps(content, indent=1) + "\n")
    print(f"results: {args.results}", file=sys.stderr)
    return 1 if counts[1] or not counts[0] else 0


if __name__ == "__main__":
    sys.exit(main())
