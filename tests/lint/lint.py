#!/usr/bin/env python3
"""The rules of CONTRIBUTING.md that a program can check, over all files git knows or would add.

usage: lint.py [--fix] [--root DIR]
Findings are printed as file:line: message; exit status 1 when there is one. --fix lets clang-format rewrite files.
Each check is a function from a Tree to findings; lint_test.py plants one violation of each.
"""
import argparse
import fnmatch
import os
import re
import shutil
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60
CPP = (".h", ".c", ".cc", ".cpp", ".cu")
SOURCES = CPP + (".td", ".py", ".sh", ".cmake")
TEXT = SOURCES + (".md", ".mlir", ".json", ".txt", "dev", ".clang-format", ".clang-tidy", "run")
HERE = "tests/lint/"


class Finding(NamedTuple):
    path: str
    line: int
    message: str


class Tree:
    """The files under root that git tracks or would track, and their lines."""

    def __init__(self, root):
        self.root = Path(root)

    @cached_property
    def paths(self):
        listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                 cwd=self.root, check=True, capture_output=True, text=True).stdout
        return sorted({p for p in listing.split("\0") if p and (self.root / p).is_file()})

    def select(self, suffixes, *folders):
        return [p for p in self.paths if p.endswith(suffixes) and (not folders or p.startswith(folders))]

    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def lines(self, path):
        return enumerate(self.text(path).splitlines(), 1)


def formatting(tree, fix=False):
    tool = shutil.which("clang-format-22")
    if not tool:
        yield Finding("", 0, "clang-format-22 is not installed: ./dev setup")
        return
    files = tree.select(CPP)
    if not files:
        return
    mode = ["-i"] if fix else ["--dry-run", "-Werror", "--ferror-limit=1"]
    run = subprocess.run([tool, *mode, *files], cwd=tree.root, capture_output=True, text=True)
    for match in re.finditer(r"^(\S+?):(\d+):\d+: error: (.*)$", run.stderr, re.M):
        yield Finding(match[1], int(match[2]), "not clang-format's: ./dev lint --fix")


def fileLength(tree):
    for path in tree.select(SOURCES):
        if (count := sum(1 for _ in tree.lines(path))) > MAX_FILE_LINES:
            yield Finding(path, count, f"{count} lines; files stay under {MAX_FILE_LINES}: split by family")


def functionLength(tree):
    """Relies on the format: a definition at namespace level opens and closes in column 0."""
    holders = re.compile(r"^(namespace|class|struct|enum|union|extern|template|static const|constexpr|const|inline constexpr)\b")
    for path in tree.select((".c", ".cc", ".cpp", ".cu")):
        start, opener = 0, ""
        for number, line in tree.lines(path):
            if re.match(r"^[A-Za-z~\[]", line) and not line.startswith(("#", "//")):
                start, opener = number, line
            if line.startswith("};"):  # a table or a type
                opener = ""
            if line.startswith("}") and opener and not holders.match(opener) and "(" in opener:
                if (count := number - start + 1) > MAX_FUNCTION_LINES:
                    yield Finding(path, start, f"function of {count} lines; they stay under {MAX_FUNCTION_LINES}")
                opener = ""


def layering(tree):
    """The runtime and the public DSL headers never see LLVM, nor Abseil or another library's types."""
    include = re.compile(r'^\s*#\s*include\s*[<"]((?:llvm|mlir|clang|absl)[/-][^>"]*)')
    below = re.compile(r'^\s*#\s*include\s*[<"]sinter/(ir|passes|codegen|frontend)/')
    for path in tree.select(CPP, "runtime/", "frontend/include/"):
        for number, line in tree.lines(path):
            if match := include.match(line):
                yield Finding(path, number, f"includes {match[1]}: no compiler below this line")
            elif path.startswith("runtime/") and below.match(line):
                yield Finding(path, number, "the runtime includes nothing of the compiler")


def concreteOps(tree):
    """Passes and code generation ask interfaces; the ops they may name stand in concrete-op-allowlist.txt."""
    defined = set()
    for path in tree.select((".td",), "ir/"):
        defined |= set(re.findall(r"^\s*def\s+(?:[A-Za-z]+_)?(\w+Op)\b", tree.text(path), re.M))
    if not defined:
        return
    allowed, used = {}, set()
    listing = HERE + "concrete-op-allowlist.txt"
    for number, line in tree.lines(listing) if (tree.root / listing).exists() else ():
        entry = line.split("#")[0].split()
        if entry:
            allowed[tuple(entry)] = number
            if "#" not in line:
                yield Finding(listing, number, "an entry gives its reason after a #")
    name = re.compile(r"(?<![\w:])(?:(?:::)?sinter::)?(?:ir::)?(%s)\b(?!::)" % "|".join(sorted(defined)))
    for path in tree.select(CPP, "passes/", "codegen/"):
        lines = {}
        for number, line in tree.lines(path):
            for op in name.findall(line.split("//")[0]):
                lines.setdefault(op, number)
        for op, number in lines.items():
            fitting = {entry for entry in allowed if entry[1] == op and fnmatch.fnmatch(path, entry[0])}
            used |= fitting
            if not fitting:
                yield Finding(path, number, f"names {op}: ask an interface, or argue for it in {listing}")
    for entry in sorted(set(allowed) - used):
        yield Finding(listing, allowed[entry], f"'{' '.join(entry)}' is not needed: remove it")


def wording(tree):
    """forbidden-words.txt: a regular expression a line, a tab, and what to do instead."""
    listing = HERE + "forbidden-words.txt"
    if not (tree.root / listing).exists():
        return
    rules = []
    for _, line in tree.lines(listing):
        if line and not line.startswith("#"):
            pattern, advice = line.split("\t")
            rules.append((re.compile(pattern), advice))
    for path in tree.select(TEXT):
        if path.startswith(HERE) or path == "LICENSE":
            continue
        for number, line in tree.lines(path):
            for pattern, advice in rules:
                if match := pattern.search(line):
                    yield Finding(path, number, f"'{match[0]}': {advice}")


def headers(tree):
    """A header opens with what it is for, and has a guard."""
    for path in tree.select((".h",)):
        text = tree.text(path)
        if not text.startswith(("//", "/*")):
            yield Finding(path, 1, "a header opens with a comment: its purpose, ownership, threads")
        guard = re.search(r"^#ifndef (\w+)\n#define \1$", text, re.M)
        if not guard and not re.search(r"^#pragma once$", text, re.M):
            yield Finding(path, 1, "no include guard")


def whitespace(tree):
    for path in tree.select(TEXT):
        text = tree.text(path)
        if text and not text.endswith("\n"):
            yield Finding(path, text.count("\n") + 1, "no newline at the end")
        for number, line in tree.lines(path):
            if line != line.rstrip() and not path.endswith(".mlir"):
                yield Finding(path, number, "trailing white space")


def links(tree):
    """Relative links of Markdown files lead somewhere."""
    for path in tree.select((".md",)):
        for number, line in tree.lines(path):
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", line):
                if "://" not in target and not (tree.root / path).parent.joinpath(target).exists():
                    yield Finding(path, number, f"link to {target}, which is not there")


def shell(tree):
    files = [p for p in tree.paths if p.endswith(".sh") or p in ("dev", ".ci/run")]
    if not files or not shutil.which("shellcheck"):
        return
    run = subprocess.run(["shellcheck", "-x", "-f", "gcc", *files], cwd=tree.root, capture_output=True, text=True)
    for match in re.finditer(r"^(\S+?):(\d+):\d+: \w+: (.*)$", run.stdout, re.M):
        yield Finding(match[1], int(match[2]), match[3])


CHECKS = (formatting, fileLength, functionLength, layering, concreteOps, wording, headers, whitespace, links, shell)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--root", default=Path(__file__).resolve().parents[2])
    options = parser.parse_args(arguments)
    tree, total = Tree(options.root), 0
    if options.fix:
        list(formatting(tree, fix=True))
    for check in CHECKS:
        for finding in check(tree):
            print(f"{finding.path}:{finding.line}: {finding.message} [{check.__name__}]")
            total += 1
    print(f"lint: {len(tree.paths)} files, {total} findings")
    return 1 if total else 0


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    sys.exit(main(sys.argv[1:]))
