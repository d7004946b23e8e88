"""Run of a fake backend in a separate process that tests kill: `python interrupted_run.py FOLDER [resume]`.

The programs write their process ids to FOLDER/pids. One is slow, one crashes, one is wrong, one hangs.
"""

import os
import sys
from pathlib import Path

from conformance.adapters.api import Surface
from conformance.execution.job import Limits
from conformance.execution.options import RunOptions
from conformance.execution.run import Run
from conformance.judging.ledger import Ledger
from tests.support.fake_backends import ALWAYS_WRONG, backend, declares, load, right_maximum, surface

X = "x: {values: arange, shape: [1, 1, 4, 4]}"
CASES = tuple(f"id: a{number}, {X}, window: {1 + number % 3}" for number in range(5))
PLACE = "DISTURBED_FOLDER"
NOTE = "open(os.environ['DISTURBED_FOLDER'] + '/pids', 'a').write(f'{os.getpid()}\\n')"
LIMIT = 3.0


def noting():
    """Return a correct surface that writes its process id and sleeps for 0.02 s."""
    lines = (NOTE, "time.sleep(0.02)")
    return Surface(
        "s.right", {"max_pool": lambda step: (*lines, *right_maximum(step))}, declarations=declares("window")
    )


def prepared(folder):
    """Return the run."""
    slow = "if x.shape[2] == 4 and {window} == 3:\n    time.sleep(60)"
    hangs = Surface("s.hangs", {"max_pool": lambda step: tuple(slow.format(window=step.window[0]).splitlines())})
    os.environ[PLACE] = str(folder)
    surfaces = noting(), surface("s.wrong", ALWAYS_WRONG), surface("s.crashes", "os.abort()"), hangs
    catalogue = load(folder, *CASES)
    options = RunOptions(limits=Limits(case_seconds=LIMIT), jobs=2)
    return Run(backend(*surfaces), catalogue, Ledger(), options, python=sys.executable)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    prepared(place).execute(place / "fake.jsonl", resume="resume" in sys.argv[2:])
