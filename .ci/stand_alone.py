"""Prove that what `conformance translate` prints works as it stands: run it with the interpreter of a backend.

Each program of a small sample runs in a process of its own, which imports nothing of the suite; its output must have
the dtype and the values that the reference gives.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from conformance import catalogue, describe, registry
from conformance.adapter import Program
from conformance.code import array_text
from conformance.expected import expected
from conformance.judge import Outcome, judge
from conformance.translate import translate

SAMPLE = ("max_pool/2d-float64", "conv/1d-bias", "avg_pool/2d-asymmetric-padding-counted", "max_pool/book-loops")


def main() -> None:
    """Run the sample on every surface of the backend that is named on the command line."""
    backend = registry.backend(sys.argv[1])
    cases = catalogue.load().by_id
    bad = 0
    for surface in backend.surfaces:
        for name in SAMPLE:
            program = translate(cases[name], surface)
            if not isinstance(program, Program):
                continue
            wanted = expected(cases[name])
            inputs = "".join(f"{key} = {array_text(array)}\n" for key, array in wanted.inputs.items())
            tell = f"y = run({', '.join(wanted.inputs)})\nimport json\nprint(json.dumps([y.dtype.name, y.tolist()]))\n"
            text = f"{describe.whole(backend, program)}\nimport numpy as np\n{inputs}{tell}"
            done = subprocess.run([sys.executable, "-"], input=text, capture_output=True, text=True, check=False)
            agrees = False
            if done.returncode == 0:
                dtype, values = json.loads(done.stdout.splitlines()[-1])
                agrees = judge(Outcome("returned", (np.array(values, dtype),)), wanted.target).verdict == "agree"
            print(f"{'ok ' if agrees else 'BAD'} {name} on {surface.name}")
            if not agrees:
                print(done.stdout[-500:], done.stderr[-1500:])
                bad += 1
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
