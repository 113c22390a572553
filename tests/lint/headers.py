#!/usr/bin/env python3
"""Every public header of the runtime and the DSL compiles alone under Clang 22 without a warning (GCC sees them in
the build); those of runtime/abi also as C99 with both compilers."""
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]


def commands(header, includes):
    flags = [*WARNINGS, *includes, "-include", str(header)]
    yield ["clang++-22", "-std=c++20", *flags, "-x", "c++", "/dev/null"]
    if "abi" in header.relative_to(ROOT).parts:
        for compiler in ("gcc", "clang-22"):
            yield [compiler, "-std=c99", *flags, "-x", "c", "/dev/null"]


def main():
    folders = [*ROOT.glob("runtime/*/include"), ROOT / "frontend/include"]
    includes = [f"-I{folder}" for folder in folders]
    headers = sorted(header for folder in folders for header in folder.rglob("*.h"))
    todo = [command for header in headers for command in commands(header, includes)]
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda command: subprocess.run(command, capture_output=True, text=True), todo))
    failed = 0
    for command, run in zip(todo, runs):
        if run.returncode:
            failed += 1
            print(f"{command[0]} {command[1]}:\n{run.stderr}", file=sys.stderr)
    print(f"headers: {len(headers)}, {len(todo)} compilations, {failed} failed")
    return 1 if failed or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
