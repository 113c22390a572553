"""Fails when an op of the dialect is missing from the round-trip tests.

usage: llvm-tblgen --dump-json … SinterOps.td | every_op.py <folder of roundtrip-*.mlir>
"""
import json
import re
import sys
from pathlib import Path

records = json.load(sys.stdin)
ops = {records[name]["opName"] for name in records["!instanceof"]["Sinter_Op"]}
tested = set()
for path in Path(sys.argv[1]).glob("roundtrip-*.mlir"):
    tested |= set(re.findall(r"CHECK.*\bsinter\.(\w+)", path.read_text(encoding="utf-8")))
missing = sorted(ops - tested)
print(f"{len(ops)} ops, {len(missing)} without a round-trip test: {' '.join(missing)}")
sys.exit(bool(missing) or not ops)
