"""How fast a run is: against the same programs in a bare loop in one process, both from the start of Python on.

The floor imports the framework and calls every program once on its inputs, which it finds ready on disk; it judges
nothing, survives nothing, writes nothing and has nothing kept that was compiled before. The suite is `conformance run`
with one worker, what it keeps from one run to the next, and everything it does. Ratios are medians of rounds in which
both have their turn, after one run that nobody measures.

    python benchmarks/run_speed.py --backend torch=PATH/TO/python --surface torch.nn --write docs/run_speed.md

With --start it is measured how long the first result takes, beside the import of the framework and the program itself.
With --workers N the rounds are of one worker and of N, each without anything that a framework has kept compiled, and
beside them of one floor and of N at once: as much as the machine does more in the same time, so much may be had.
"""

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import tables

from conformance.adapters import registry
from conformance.adapters.api.surface import Backend, Program, Surface
from conformance.cases.arrays import Array
from conformance.cases.case import LEVELS
from conformance.catalogue import loading
from conformance.execution.connection import ONE_THREAD_VARIABLES
from conformance.execution.run import Run
from conformance.execution.selection import Selection
from conformance.judging.ledger import Ledger
from reports.results import reader

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
COLUMNS = ("surface", "results", "floor s", "suite s", "suite ÷ floor", "results per second")
START = ("surface", "framework import s", "first result s", "its program s", "overhead s")
WORKERS = (
    *("surface", "results", "one worker s", "{} workers s", "speedup", "results per second"),
    *("one floor s", "{} floors s", "throughput ratio"),
)


@dataclass(frozen=True)
class Place:
    """What is measured, where, and how many times."""

    backend: Backend
    python: str
    level: str
    rounds: int
    operators: tuple[str, ...] = ()

    def results(self, folder: Path) -> Path:
        """Return the file in which a run leaves its results."""
        return folder / "results" / f"{self.backend.name}.jsonl"


@dataclass(frozen=True)
class Measured:
    """One surface: how many results, and the seconds of each round, as (floor, suite)."""

    surface: str
    results: int
    rounds: Sequence[tuple[float, float]]

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        whole = median(last for _, last in self.rounds)
        return (
            f"`{self.surface}`",
            f"{self.results:,}",
            f"{median(first for first, _ in self.rounds):.1f}",
            f"{whole:.1f}",
            f"**{median(last / first for first, last in self.rounds):.2f}**",
            f"{self.results / whole:,.0f}",
        )


@dataclass(frozen=True)
class Shared:
    """One surface: how many results, and seconds of each round: one worker, several, one floor, as many floors."""

    surface: str
    results: int
    jobs: int
    rounds: Sequence[tuple[float, float, float, float]]

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        one, many, floor, floors = (f"{median(column):.1f}" for column in zip(*self.rounds, strict=True))
        faster = median(one / many for one, many, _, _ in self.rounds)
        more = median(self.jobs * floor / floors for _, _, floor, floors in self.rounds)
        rate = self.results / median(many for _, many, _, _ in self.rounds)
        head = (f"`{self.surface}`", f"{self.results:,}", one, many, f"**{faster:.2f}**", f"{rate:,.0f}")
        return *head, floor, floors, f"**{more:.2f}**"


@dataclass(frozen=True)
class Started:
    """One surface: seconds of each round, as (framework's import, until the first result stood, its own program)."""

    surface: str
    rounds: Sequence[tuple[float, float, float]]

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        parts = [f"{median(column):.2f}" for column in zip(*self.rounds, strict=True)]
        beside = median(first - alone - program for alone, first, program in self.rounds)
        return f"`{self.surface}`", *parts, f"**{beside:.2f}**"


def packed(array: Array) -> tuple[str, tuple[int, ...], bytes]:
    """Return an array as every NumPy reads it: its dtype, shape and bytes; bfloat16 as a worker gets it, in words."""
    dtype = "uint16" if array.dtype.name == "bfloat16" else array.dtype.name
    return dtype, array.shape, array.tobytes()


def seconds(
    command: Sequence[str], *, red: bool = False, kept: Mapping[str, str] | None = None, alone: bool = False
) -> float:
    """Return how long a command takes, from its start to its end.

    red: whether exit status 1 is no fault of it; kept: variables of the environment; alone: whether it gets a session
    of its own, as a worker does: Linux shares processors out among those.
    """
    env = {**os.environ, **(kept or {})}
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, start_new_session=alone)  # noqa: S603
    if done.returncode not in {0, int(red)}:
        sys.exit(f"{command[0]} … left with {done.returncode}: {done.stderr[-2000:]}")
    return time.perf_counter() - start


def suite(place: Place, surface: str, out: Path, jobs: int = 1) -> list[str]:
    """Return the command of a run."""
    return [
        *(sys.executable, "-m", "conformance.cli", "run", "--backend", f"{place.backend.name}={place.python}"),
        *("--surface", surface, "--level", place.level, "--jobs", str(jobs), "--out", str(out)),
        *(word for operator in place.operators for word in ("--operator", operator)),
    ]


def ready(place: Place, surface: Surface, folder: Path) -> tuple[Path, int]:
    """Write what the floor runs, every program that came back from its process; return it, and how many results."""
    (found,) = reader.load_report([place.results(folder)]).backends
    came_back = {result.case for result in found.results if result.outcome in {"returned", "rejected"}}
    backend, cases = place.backend, loading.load_catalogue(level=place.level)
    run = Run(backend, cases, Ledger(), Selection(place.level, (surface.name,), place.operators), python=sys.executable)
    jobs = [
        (task.program.text, [packed(array) for array in run.expected(task.case).inputs.values()])
        for task in run.tasks()
        if isinstance(task.program, Program) and task.case.id in came_back
    ]
    path = folder / f"{surface.name}.pickle"
    path.write_bytes(pickle.dumps((f"{backend.threads}\n{backend.setup}", backend.reset, jobs)))
    return path, len(found.results)


def measure(place: Place, surface: Surface) -> Measured:
    """Measure one surface of a backend against the floor."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = suite(place, surface.name, folder)
        seconds(command, red=True)
        jobs, results = ready(place, surface, folder)
        floor = [place.python, "-c", FLOOR, str(jobs)]
        seconds([place.python, "-c", f"{place.backend.threads}\n{place.backend.setup}"])
        pairs = []
        for _ in range(place.rounds):
            bare = seconds(
                floor, kept={**ONE_THREAD_VARIABLES, "XDG_CACHE_HOME": tempfile.mkdtemp(dir=name)}, alone=True
            )
            pairs.append((bare, seconds(command, red=True)))
    return Measured(surface.name, results, pairs)


def at_once(command: Sequence[str], empty: Sequence[Mapping[str, str]]) -> float:
    """Return how long so many processes of a command take side by side, each with variables of its own."""
    with ThreadPoolExecutor(len(empty)) as pool:
        start = time.perf_counter()
        list(pool.map(lambda own: seconds(command, kept={**ONE_THREAD_VARIABLES, **own}, alone=True), empty))
        return time.perf_counter() - start


def measure_workers(place: Place, jobs: int, surface: Surface) -> Shared:
    """Measure one surface of a backend with one worker and with several."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commands = [suite(place, surface.name, folder, number) for number in (1, jobs)]
        seconds(commands[0], red=True)
        programs, results = ready(place, surface, folder)
        floor = [place.python, "-c", FLOOR, str(programs)]
        rounds = []
        for _ in range(place.rounds):
            nothing = [{"XDG_CACHE_HOME": tempfile.mkdtemp(dir=name)} for _ in range(3 + jobs)]
            one, many = (
                seconds(command, red=True, kept=empty) for command, empty in zip(commands, nothing[:2], strict=True)
            )
            rounds.append((one, many, at_once(floor, nothing[2:3]), at_once(floor, nothing[3:])))
    return Shared(surface.name, results, jobs, rounds)


def measure_start(place: Place, surface: Surface) -> Started:
    """Measure how long the first result takes, and the import of the framework alone."""
    leave = "import os; os._exit(0)"  # as a worker does: what the framework takes to end is no part of its import
    alone = [place.python, "-c", f"{place.backend.threads}\n{place.backend.setup}\n{leave}"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = suite(place, surface.name, folder)
        seconds(command, red=True)
        rounds = [
            (seconds(alone, kept=ONE_THREAD_VARIABLES, alone=True), *first(command, place.results(folder)))
            for _ in range(place.rounds)
        ]
    return Started(surface.name, rounds)


def first(command: Sequence[str], path: Path) -> tuple[float, float]:
    """Return how long it takes from the start of a run until its first result stands, and what its program took."""
    path.unlink()
    start = time.perf_counter()
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        while run.poll() is None:
            lines = path.read_bytes().splitlines() if path.exists() else []
            results = (json.loads(line) for line in lines if line.startswith(b'{"record": "result"'))
            ran = next((result for result in results if result["outcome"] != "unsupported"), None)
            if ran:
                return time.perf_counter() - start, ran["seconds"]
            time.sleep(0.002)
    finally:
        run.terminate()
        run.wait()
    sys.exit("the run ended without a result")


def main() -> None:
    """Measure what is asked for, and print the table."""
    parser = tables.arguments(__doc__)
    parser.add_argument("--backend", required=True, metavar="NAME[=PYTHON]", help="the backend, and its interpreter")
    parser.add_argument("--surface", action="append", help="only this surface, again for another; else all")
    parser.add_argument("--operator", action="append", default=[], help="only this operator, again for another")
    parser.add_argument("--level", choices=LEVELS, default="standard")
    parser.add_argument("--rounds", type=int, default=3, help="how many times each is measured")
    parser.add_argument("--workers", type=int, metavar="N", help="measure N workers against one, in place of the floor")
    parser.add_argument("--start", action="store_true", help="measure the start, up to the first result")
    asked = parser.parse_args()
    name, _, python = asked.backend.partition("=")
    backend = registry.get_backend(name)
    surfaces = [one for one in backend.surfaces if not asked.surface or one.name in asked.surface]
    place = Place(backend, python or sys.executable, asked.level, asked.rounds, tuple(asked.operator))
    columns, one = COLUMNS, partial(measure, place)
    if asked.workers:
        columns = tuple(column.format(asked.workers) for column in WORKERS)
        one = partial(measure_workers, place, asked.workers)
    if asked.start:
        columns, one = START, partial(measure_start, place)
    which = ", ".join(asked.operator) or "all operators"
    title = f"`{name}`, level {asked.level}, {which}, {asked.rounds} rounds, {tables.here()}"
    tables.tell(title, columns, [one(surface).cells for surface in surfaces], asked.write)


if __name__ == "__main__":
    main()
