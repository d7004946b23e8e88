"""How fast a run is: against the same programs in a bare loop in one process, both from the start of Python on.

The floor imports the framework and calls every program once on its inputs, which it finds ready on disk; it judges
nothing, survives nothing and writes nothing. The suite is `conformance run` with one worker and everything it does.
Ratios are medians of rounds in which both have their turn, after one run of each that nobody measures.

    python benchmarks/run_speed.py --backend torch=PATH/TO/python --surface torch.nn --write docs/run_speed.md
"""

import argparse
import os
import pickle
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import median

from conformance import catalogue, registry
from conformance.adapter import Backend, Program, Surface
from conformance.cases import LEVELS
from conformance.ledger import Ledger
from conformance.link import ONE_THREAD
from conformance.runner import Run, Selection
from conformance.values import Array
from reports import reading

FLOOR = """\
import pickle, sys
import numpy as np
with open(sys.argv[1], "rb") as file:
    setup, reset, jobs = pickle.load(file)
names, known = {}, {}
exec(setup, names)
for text, packed in jobs:
    inputs = [np.frombuffer(data, dtype).reshape(shape).copy() for dtype, shape, data in packed]
    if text not in known:
        own = dict(names)
        exec(compile(text, "<program>", "exec"), own)
        known[text] = own["run"]
    try:
        known[text](*inputs)
    except Exception:
        pass
    exec(reset, names)
"""
COLUMNS = ("surface", "results", "floor s", "suite s", "suite ÷ floor", "results a second")


@dataclass(frozen=True)
class Measured:
    """One surface: how many results, and the seconds of each round without the suite and with it."""

    surface: str
    results: int
    floor: Sequence[float]
    suite: Sequence[float]

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        ratio = median(suite / floor for suite, floor in zip(self.suite, self.floor, strict=True))
        whole = median(self.suite)
        return (
            f"`{self.surface}`",
            f"{self.results:,}",
            f"{median(self.floor):.1f}",
            f"{whole:.1f}",
            f"**{ratio:.2f}**",
            f"{self.results / whole:,.0f}",
        )


def packed(array: Array) -> tuple[str, tuple[int, ...], bytes]:
    """Return an array as every NumPy reads it: its dtype, shape and bytes; bfloat16 as a worker gets it, in words."""
    dtype = "uint16" if array.dtype.name == "bfloat16" else array.dtype.name
    return dtype, array.shape, array.tobytes()


def seconds(command: Sequence[str], *, red: bool = False, **environment: str) -> float:
    """Return how long a command takes, from its start to its end. red: whether exit status 1 is no fault of it."""
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})  # noqa: S603
    if done.returncode not in {0, int(red)}:
        sys.exit(f"{command[0]} … left with {done.returncode}: {done.stderr[-2000:]}")
    return time.perf_counter() - start


def suite(python: str, backend: str, surface: str, level: str, out: Path) -> list[str]:
    """Return the command of a run."""
    return [
        *(sys.executable, "-m", "conformance.cli", "run", "--backend", f"{backend}={python}"),
        *("--surface", surface, "--level", level, "--jobs", "1", "--out", str(out)),
    ]


def ready(backend: Backend, surface: Surface, level: str, results: Path, folder: Path) -> tuple[Path, int]:
    """Write what the floor runs, every program that came back from its process; return it, and how many results."""
    (found,) = reading.load([results]).backends
    came_back = {result.case for result in found.results if result.outcome in {"returned", "rejected"}}
    run = Run(backend, catalogue.load(level=level), Ledger(), Selection(level, (surface.name,)), python=sys.executable)
    jobs = [
        (task.program.text, [packed(array) for array in run.expected(task.case).inputs.values()])
        for task in run.tasks()
        if isinstance(task.program, Program) and task.case.id in came_back
    ]
    path = folder / f"{surface.name}.pickle"
    path.write_bytes(pickle.dumps((f"{backend.threads}\n{backend.setup}", backend.reset, jobs)))
    return path, len(found.results)


def measure(backend: Backend, python: str, surface: Surface, level: str, rounds: int) -> Measured:
    """Measure one surface of a backend."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = suite(python, backend.name, surface.name, level, folder)
        seconds(command, red=True)
        jobs, results = ready(backend, surface, level, folder / "results" / f"{backend.name}.jsonl", folder)
        floor = [python, "-c", FLOOR, str(jobs)]
        seconds(floor, **ONE_THREAD)
        pairs = [(seconds(floor, **ONE_THREAD), seconds(command, red=True)) for _ in range(rounds)]
    return Measured(surface.name, results, [pair[0] for pair in pairs], [pair[1] for pair in pairs])


def main() -> None:
    """Measure what is asked for, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", required=True, metavar="NAME[=PYTHON]", help="the backend, and its interpreter")
    parser.add_argument("--surface", action="append", help="only this surface, again for another; else all")
    parser.add_argument("--level", choices=LEVELS, default="standard")
    parser.add_argument("--rounds", type=int, default=3, help="how many times each is measured")
    parser.add_argument("--write", type=Path, metavar="FILE", help="add the table to this file")
    asked = parser.parse_args()
    name, _, python = asked.backend.partition("=")
    backend = registry.backend(name)
    surfaces = [one for one in backend.surfaces if not asked.surface or one.name in asked.surface]
    rows = [measure(backend, python or sys.executable, one, asked.level, asked.rounds).cells for one in surfaces]
    lines = [COLUMNS, tuple("---" if number == 0 else "--:" for number in range(len(COLUMNS))), *rows]
    day = datetime.now(timezone.utc).date()
    said = (
        f"`{name}`, level {asked.level}, {asked.rounds} rounds, {day}, {os.cpu_count()} cores, {platform.processor()}"
    )
    table = f"## {said.rstrip(', ')}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)
    print(table)
    if asked.write:
        with asked.write.open("a", encoding="utf-8") as file:
            file.write(f"\n{table}")


if __name__ == "__main__":
    main()
