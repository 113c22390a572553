#!/usr/bin/env python3
"""Training steps of sinter and PyTorch eager, side by side: the MNIST CNN, a small policy network.

usage: ./dev bench mnist [--rounds N] [--threads N] [--only CASE] [--profile]
       mnist.py --build DIR …, in a Python that has PyTorch

Both sides start from the same weights and take the same batches with the same optimizer settings;
their first losses must agree, or the run fails. Then they take turns, round by round, on the same
cores. A time is the median of the rounds; `ratio` is PyTorch eager's time by sinter's: above 1,
sinter is faster.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOSSES = 20
TOLERANCE = 1e-3  # relative; both sides compute in f32, in different orders
# Over how many steps each PyTorch must agree. The CNN in channels_last starts 3e-6 from PyTorch's
# own default layout, which training has made 2e-3 by step 12; sinter stays with the default's.
AGREEING = {"eager": LOSSES, "tuned": 5}
QUIET = 0.05  # share of the cores that others may take
REST = 0.02  # seconds between turns, longer than any side's idle threads spin

# name: (case, steps a turn, floating-point operations of a step's matrix products and convolutions)
CONVOLUTIONS = [2 * 64 * 28 * 28 * 32 * 9 * 1, 2 * 64 * 14 * 14 * 64 * 9 * 32]
CASES = {
    # Forward, and backward to the weights and (but for the first) to the input.
    "mnist_cnn_train": (
        "cnn",
        16,
        2 * CONVOLUTIONS[0] + 3 * CONVOLUTIONS[1] + 3 * 2 * 64 * 3136 * 10,
    ),
    "policy_mlp_step": ("policy", 1000, 2 * 32 * (2 * 8 * 64 + 3 * 64 * 64 + 3 * 64 * 4)),
}


class Cores:
    """What others take of the cores: where they are busy, OpenMP's threads wait for each other."""

    def __init__(self, cores):
        self.names = {f"cpu{core}" for core in cores}
        self.start = self.read()

    def read(self):
        busy = 0
        for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
            name, *ticks = line.split()
            if name in self.names:
                user, nice, system, _, _, irq, soft, steal = map(int, ticks[:8])
                busy += user + nice + system + irq + soft + steal
        return time.monotonic(), busy / os.sysconf("SC_CLK_TCK")

    def others(self):
        """Share of the cores since the start; the sides must have ended."""
        own = sum(os.times()[:4])
        wall, busy = (now - then for now, then in zip(self.read(), self.start))
        return max(0.0, busy - own) / (wall * len(self.names))


class Side:
    """A process that makes steps on request and sleeps meanwhile."""

    def __init__(self, name, command, variant=""):
        self.name, self.variant, self.times = name, variant, []
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.greeting = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"mnist.py: {self.name} ended with status {self.process.wait()}")
        return line.split()

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return [float(word) for word in self.answer()]

    def turn(self, steps):
        time.sleep(REST)
        return self.ask(f"run {steps}")[0] / steps

    def close(self):
        self.process.stdin.close()
        if status := self.process.wait():
            raise SystemExit(f"mnist.py: {self.name} ended with status {status}")


def compareLosses(name, sides):
    """Ends the run if sinter's and PyTorch's losses differ by more than TOLERANCE."""
    reference = sides[0].ask(f"losses {LOSSES}")
    text = f"losses of steps 0 to {LOSSES - 1}: {reference[0]:.4f} to {reference[-1]:.4f};"
    for side in sides[1:]:
        count, worst = AGREEING[side.variant], 0.0
        for step, (ours, theirs) in enumerate(
            zip(reference, side.ask(f"losses {LOSSES}"), strict=True)
        ):
            difference = abs(ours - theirs) / abs(theirs)
            if step < count and not difference <= TOLERANCE:
                raise SystemExit(
                    f"mnist.py: {name}, step {step}: "
                    f"the loss is {ours} in sinter, {theirs} in {side.name}"
                )
            worst = max(worst, difference) if step < count else worst
        text += f" {side.name} differs by {worst:.1e} in {count} steps;"
    return f"{text} allowed {TOLERANCE:.0e}"


def measure(args, name, exchange):
    case, steps, flops = CASES[name]
    threads = f"--threads={args.threads}"
    sides = [
        Side(
            "sinter",
            [
                args.build / "bin/bench_mnist",
                f"--case={case}",
                f"--exchange={exchange}",
                f"--sinter-threads={args.threads}",
            ],
        )
    ]
    peer = [
        sys.executable,
        HERE / "peers/mnist_torch.py",
        f"--case={case}",
        f"--exchange={exchange}",
        threads,
    ]
    sides += [
        Side(f"PyTorch {variant}", [*peer, f"--variant={variant}"], variant)
        for variant in ("eager", "tuned")
    ]
    print(
        f"\n{name} (PyTorch {sides[1].greeting[1]}, {args.threads} threads, "
        f"{args.rounds} rounds of {steps} steps)"
    )
    print(compareLosses(name, sides))
    for side in sides:
        side.turn(steps)
    for number in range(args.rounds):
        for side in sides if number % 2 == 0 else reversed(sides):
            side.times.append(side.turn(steps))
    peak = sides[1].ask("peak")[0]
    for side in sides:
        median = statistics.median(side.times)
        rate = flops / median / 1e9
        print(
            f"  {side.name:14} {1e6 * median:10.1f} us a step ({1e6 * min(side.times):.1f} to "
            f"{1e6 * max(side.times):.1f}), {rate:6.1f} GFLOP/s, "
            f"{100 * rate / peak:5.1f} % of a large product's {peak:.0f}"
        )
        side.close()
    ours, eager, tuned = (statistics.median(side.times) for side in sides)
    print(f"  against tuned PyTorch: {tuned / ours:.2f}")
    return eager / ours


def profile(args, exchange):
    """Where both sides' time goes in the CNN's steps."""
    steps = 50
    ours = [
        args.build / "bin/bench_mnist",
        "--case=cnn",
        f"--exchange={exchange}",
        f"--sinter-threads={args.threads}",
        "--sinter-profile",
    ]
    subprocess.run(ours, input=f"run {steps}\n", text=True, check=True, stdout=subprocess.DEVNULL)
    for variant in ("eager", "tuned"):
        print(f"PyTorch {variant}, {steps} steps", flush=True)
        subprocess.run(
            [
                sys.executable,
                HERE / "peers/mnist_torch.py",
                "--case=cnn",
                f"--exchange={exchange}",
                f"--threads={args.threads}",
                f"--variant={variant}",
                f"--profile={steps}",
            ],
            check=True,
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--build", type=Path, required=True, help="the build directory with bin/bench_mnist"
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=sorted(CASES), help="one case instead of all")
    parser.add_argument(
        "--profile",
        action="store_true",
        help="each side's own profile of the CNN instead of ratios",
    )
    args = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))[: args.threads]
    if len(cores) < args.threads:
        raise SystemExit(
            f"mnist.py: {args.threads} threads want as many cores, there are {len(cores)}"
        )
    os.sched_setaffinity(0, cores)  # the sides inherit it
    with tempfile.TemporaryDirectory() as exchange:
        if args.profile:
            profile(args, exchange)
            return
        model = [
            line.split(":")[1].strip()
            for line in open("/proc/cpuinfo", encoding="utf-8")
            if "model name" in line
        ]
        print(f"{model[0] if model else platform.machine()}, cores {cores}")
        watch = Cores(cores)
        ratios = {
            name: measure(args, name, exchange) for name in CASES if args.only in (None, name)
        }
    others = watch.others()
    print(
        f"\nother processes took {100 * others:.0f} % of the cores"
        + (": too much to trust the ratios" if others > QUIET else "")
    )
    for name, ratio in ratios.items():
        print(f"ratio {name} {ratio:.2f}")


if __name__ == "__main__":
    main()
