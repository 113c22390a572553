#!/usr/bin/env python3
"""Counts what a test run left in a results folder and ends with `N passed, M failed, K skipped`.

Reads, below the folder:
  steps.tsv           status, name and detail of steps that are not test runners (builds, lint)
  <part>.ctest.xml    CTest's JUnit file
  <part>.gtest/*.xml  what the part's GoogleTest binaries wrote: their cases stand in for CTest's one entry a binary
  *.lit.xml           lit's JUnit file
Parts named after the folder failed as a whole: they count where no result tells of a failure. Failures and skips are
listed with their reasons. Exit status 1 when anything failed, or nothing ran.
"""
import re
import sys
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import NamedTuple


class Result(NamedTuple):
    status: str  # passed, failed, skipped
    name: str
    reason: str = ""


def summary(text, location=True):
    """The lines of a message in one, without its file:line if location is False."""
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return " ".join(line for line in lines if location or not re.match(r"^\S+:\d+$", line))[:160]


def lastLine(text):
    return next((line.strip() for line in reversed((text or "").splitlines()) if line.strip()), "")


def junitResult(case, name):
    """The outcome of a JUnit testcase as CTest, GoogleTest and lit write it."""
    output = lastLine(case.findtext("system-out"))
    for tag in ("failure", "error"):
        if (node := case.find(tag)) is not None:
            return Result("failed", name, summary(node.get("message")) or (node.text or "").partition("\n")[0] or output)
    node = case.find("skipped")
    if node is None:
        status = "passed" if case.get("status") in (None, "run") else "failed"
        return Result(status, name, "" if status == "passed" else output)
    reason = summary(node.get("message") or node.text, location=False)
    if case.get("status") != "notrun":
        return Result("skipped", name, reason or "no reason given")
    # CTest: only these two are the test's own wish; anything else not run (no executable, failed fixture) is a failure.
    if reason.startswith(("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION")):
        return Result("skipped", name, output or reason)
    return Result("failed", name, f"not run: {reason}")


def gtestResults(path, part):
    for case in xml.parse(path).getroot().iter("testcase"):
        name = f"{part}: {case.get('classname')}.{case.get('name')}"
        yield junitResult(case, name)


def ctestResults(path):
    part = path.name.removesuffix(".ctest.xml")
    cases = {}
    for file in sorted(path.with_name(f"{part}.gtest").glob("*.xml")):
        cases.setdefault(re.sub(r"_\d+$", "", file.stem), []).extend(gtestResults(file, part))
    for entry in xml.parse(path).getroot().iter("testcase"):
        result = junitResult(entry, f"{part}: {entry.get('name')}")
        inner = cases.pop(entry.get("name"), [])
        yield from inner
        # A crash or a leak fails the entry without failing a case.
        explained = any(case.status == "failed" for case in inner)
        if not inner or (result.status == "failed" and not explained):
            yield result
    for inner in cases.values():
        yield from inner


def litResults(path):
    for case in xml.parse(path).getroot().iter("testcase"):
        yield junitResult(case, f"lit: {case.get('classname').partition('.')[2]}/{case.get('name')}")


def stepResults(path):
    for line in path.read_text().splitlines():
        status, name, detail = line.split("\t")
        yield Result(status, name, detail)


def collect(folder):
    readers = (("steps.tsv", stepResults), ("*.ctest.xml", ctestResults), ("*.lit.xml", litResults))
    for pattern, read in readers:
        for path in sorted(folder.glob(pattern)):
            try:
                yield from read(path)
            except (xml.ParseError, ValueError) as error:
                yield Result("failed", path.name, f"unreadable results: {error}")


def main(folder, failedParts):
    results = list(collect(Path(folder)))
    if not any(result.status == "failed" for result in results):
        results += [Result("failed", part, "its runner failed: see above") for part in failedParts]
    for status, heading in (("skipped", "skipped:"), ("failed", "FAILED:")):
        if listed := [result for result in results if result.status == status]:
            print(heading)
            for result in listed:
                print(f"  {result.name}" + (f"  ({result.reason})" if result.reason else ""))
    count = {status: sum(r.status == status for r in results) for status in ("passed", "failed", "skipped")}
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**count))
    return 1 if count["failed"] or not results else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
