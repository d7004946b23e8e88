"""Measure the time for checking the state of a worker process after a program that changed nothing.

The check is that of every case, conformance/execution/worker_state/. The items are also measured one by one. The
unit of the ratio is the time for an empty loop of 100 rounds in the same process.

    python benchmarks/state_check.py --write docs/run_speed.md
"""

import gc
import os
import sys
import tempfile
import timeit
from collections.abc import Callable

os.environ["TMPDIR"] = tempfile.mkdtemp()  # a worker has its own

# First, because the modules that are loaded before it are part of the state. In a worker, there are no others.
from conformance.execution.worker_state.floating_point import FloatingPointState
from conformance.execution.worker_state.process_state import PROCESS_STATE, ProcessState
from conformance.execution.worker_state.streams import ERRORS_DESCRIPTOR, set_streams
from conformance.execution.worker_state.threads import RunningThreads

# isort: split
import tables

# Short rounds, of which some have no other load. The state that takes long to read is read after every 16th program.
ROUNDS, REPETITIONS = 32, 1_000
COLUMNS = ("part of the check", "microseconds", "ratio to 100 empty loops")
LOOP_ROUNDS = 100


def microseconds(function: Callable[[], object]) -> float:
    """Return the smallest time for one call."""
    # timeit stops the garbage collector, which would be a change of the state.
    return 1e6 * min(timeit.repeat(function, gc.enable, number=ROUNDS, repeat=REPETITIONS)) / ROUNDS


def empty_loop() -> None:
    """Do nothing in LOOP_ROUNDS rounds."""
    for _ in range(LOOP_ROUNDS):
        pass


def main() -> None:
    """Measure, print the table, and write it if requested."""
    arguments = tables.arguments(__doc__).parse_args()
    output = sys.stdout
    os.dup2(2, ERRORS_DESCRIPTOR, inheritable=False)
    set_streams(None)
    unit = microseconds(empty_loop)
    # One after the other, because a new state reads the functions of the modules again.
    measured = {"whole check": microseconds(ProcessState().restore)}
    measured["check of a backend of the suite"] = microseconds(ProcessState(trusted=True).restore)
    parts = {
        "floating-point state": FloatingPointState().restore,
        "threads": RunningThreads().new_thread,
        **{item.name: item.read for item in PROCESS_STATE},
    }
    measured |= {name: microseconds(function) for name, function in parts.items()}
    os.rmdir(os.environ["TMPDIR"])
    sys.stdout = output
    rows = [(name, f"{time:.2f}", f"{time / unit:.2f}") for name, time in measured.items()]
    tables.write_table(f"State check, {tables.environment()}", COLUMNS, rows, arguments.write)


if __name__ == "__main__":
    main()
