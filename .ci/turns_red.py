"""Verify that the main job detects errors on a real framework: run with the interpreter of the torch environment.

An unchanged run passes. A case with a wrong expected number, an adapter that pads on the wrong side, and an empty
selection fail.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CASES = Path("cases/pooling/max_pool.yaml")
PINNED = "max_pool/book-loops"
ASYMMETRIC = "max_pool/2d-asymmetric-padding"

# Runs the command line after exchanging before and after in the adapter's padding.
WRONG_SIDE = """
import sys
from conformance.adapters.torch import padding
from conformance.cli import main

right = padding.flat_pads
padding.flat_pads = lambda step: right(step.with_parameters(pads=tuple(pair[::-1] for pair in step.padding)))
main(sys.argv[1:])
"""


def status(*arguments: str, program: tuple[str, ...] = ("-m", "conformance.cli")) -> int:
    """Run the command line with a temporary output folder, and return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, *program, "run", "--backend", "torch", "--no-cache", "--out", folder, *arguments]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ})  # noqa: S603
    if "Traceback" in done.stderr:  # an unexpected exception also exits with 1
        sys.exit(done.stderr)
    return done.returncode


def copied(last: int) -> int:
    """Run one case from a copy of its file with the last expected number replaced; return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, CASES.name)
        text = CASES.read_text("utf-8").replace("[[[[4, 5], [7, 8]]]]", f"[[[[4, 5], [7, {last}]]]]", 1)
        copy.write_text(text, "utf-8")
        return status("--cases", str(copy), "--case", PINNED)


def main() -> None:
    """Check the exit status of each run."""
    runs = {
        "unchanged": (0, status("--case", ASYMMETRIC)),
        "a case in a copy of its file": (0, copied(8)),
        # The case file itself is wrong, because the reference contradicts it.
        "a case edited to expect a wrong number": (2, copied(9)),
        "an adapter edited to pad on the wrong side": (1, status("--case", ASYMMETRIC, program=("-c", WRONG_SIDE))),
        "an empty selection": (3, status("--case", "no/such-case")),
    }
    for name, (expected, got) in runs.items():
        print(f"{'ok ' if expected == got else 'BAD'} {name}: exit status {got}, expected {expected}")
    sys.exit(any(expected != got for expected, got in runs.values()))


if __name__ == "__main__":
    main()
