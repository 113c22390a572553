#!/usr/bin/env python3
"""Counts what a test run left in a results folder and ends with `N passed, M failed, K skipped`.

Reads, below the folder:
  steps.tsv           status, name and detail of steps that are not test runners (builds, lint)
  <part>.ctest.xml    CTest's JUnit file
  <part>.gtest/*.xml  what the part's GoogleTest binaries wrote: their cases stand in for CTest's one entry a binary
  *.lit.xml           lit's JUnit file
Failures and skips are listed with their reasons. Exit status 1 when anything failed, or nothing ran.
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


def firstLine(text):
    return next((line.strip() for line in (text or "").splitlines() if line.strip()), "")


def junitResult(case, name):
    """The outcome of a JUnit testcase as CTest, GoogleTest and lit write it."""
    for tag in ("failure", "error"):
        if (node := case.find(tag)) is not None:
            return Result("failed", name, firstLine(node.get("message")) or firstLine(node.text))
    node = case.find("skipped")
    if node is not None or case.get("status") in ("notrun", "disabled") or case.get("result") == "skipped":
        reason = "" if node is None else firstLine(node.get("message")) or firstLine(node.text)
        if not reason or reason.startswith("SKIP_"):  # CTest names the property that said so, the output why
            reason = firstLine(case.findtext("system-out")) or reason
        return Result("skipped", name, reason or "no reason given")
    if case.get("status") == "fail":
        return Result("failed", name, firstLine(case.findtext("system-out")))
    return Result("passed", name)


def skipReason(node):
    """GoogleTest's message starts with file:line; the reason is what follows."""
    lines = [line.strip() for line in (node.text or node.get("message") or "").splitlines() if line.strip()]
    return " ".join(line for line in lines if not re.match(r"^\S+:\d+$", line))


def gtestResults(path, part):
    for case in xml.parse(path).getroot().iter("testcase"):
        name = f"{part}: {case.get('classname')}.{case.get('name')}"
        result = junitResult(case, name)
        if result.status == "skipped" and (node := case.find("skipped")) is not None:
            result = result._replace(reason=skipReason(node) or result.reason)
        yield result


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
        yield junitResult(case, f"lit: {case.get('classname')}/{case.get('name')}")


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


def main(folder):
    results = list(collect(Path(folder)))
    for status, heading in (("skipped", "skipped:"), ("failed", "FAILED:")):
        if listed := [result for result in results if result.status == status]:
            print(heading)
            for result in listed:
                print(f"  {result.name}" + (f"  ({result.reason})" if result.reason else ""))
    count = {status: sum(r.status == status for r in results) for status in ("passed", "failed", "skipped")}
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**count))
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
