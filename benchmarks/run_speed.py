"""Measure the speed of a run compared with a bare loop over the same programs in one process (the floor).

The floor imports the framework and calls every program once on inputs that are ready on disk. It does not judge
results, survive crashes or write files, and compilation caches of earlier runs are not available to it. The suite is a
complete `conformance run` with one worker and warm caches. Both times include the start of Python. Each round measures
both, after one run that is not measured, and ratios are medians over the rounds.

    python benchmarks/run_speed.py --backend torch=PATH/TO/python --surface torch.nn --write docs/run_speed.md

--start measures the time until the first result, and separately the import of the framework and the program itself.
--workers N measures runs with one worker and with N, without compilation caches of the framework. It also measures one
floor, and N floors at the same time: their ratio is the speedup that the machine allows.
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
from conformance.adapters.api import Backend, Program, Surface
from conformance.cases.arrays import Array
from conformance.catalogue import loading
from conformance.execution.connection import ONE_THREAD_VARIABLES
from conformance.execution.options import RunOptions
from conformance.execution.run import Run
from conformance.execution.selection import Selection
from conformance.judging.ledger import Ledger
from reports.results import reader
from reports.results.vocabulary import Level

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
class Setting:
    """The measured backend, its interpreter, the selected cases, and the number of rounds."""

    backend: Backend
    python: str
    level: str
    rounds: int
    operators: tuple[str, ...] = ()

    def results(self, folder: Path) -> Path:
        """Return the path of the results file of a run."""
        return folder / "results" / f"{self.backend.name}.jsonl"


@dataclass(frozen=True)
class Measured:
    """Measurements of one surface; rounds: seconds of each round, (floor, suite)."""

    surface: str
    results: int
    rounds: Sequence[tuple[float, float]]

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        suite_seconds = median(suite for _, suite in self.rounds)
        return (
            f"`{self.surface}`",
            f"{self.results:,}",
            f"{median(floor for floor, _ in self.rounds):.1f}",
            f"{suite_seconds:.1f}",
            f"**{median(suite / floor for floor, suite in self.rounds):.2f}**",
            f"{self.results / suite_seconds:,.0f}",
        )


@dataclass(frozen=True)
class MeasuredWorkers:
    """Measurements of one surface with several workers.

    rounds: seconds of each round, (one worker, several workers, one floor, as many floors).
    """

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
class MeasuredStart:
    """Measurements of the start on one surface.

    rounds: seconds of each round, (import of the framework, time until the first result, its program).
    """

    surface: str
    rounds: Sequence[tuple[float, float, float]]

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        parts = [f"{median(column):.2f}" for column in zip(*self.rounds, strict=True)]
        overhead = median(first - imported - program for imported, first, program in self.rounds)
        return f"`{self.surface}`", *parts, f"**{overhead:.2f}**"


def packed(array: Array) -> tuple[str, tuple[int, ...], bytes]:
    """Return dtype, shape and bytes of an array; bfloat16 as uint16, as in the worker protocol."""
    dtype = "uint16" if array.dtype.name == "bfloat16" else array.dtype.name
    return dtype, array.shape, array.tobytes()


def seconds(
    command: Sequence[str],
    *,
    may_fail: bool = False,
    variables: Mapping[str, str] | None = None,
    new_session: bool = False,
) -> float:
    """Return the time of a command in seconds, from its start to its end.

    may_fail: whether exit status 1 is accepted. variables: additional environment variables.
    new_session: whether to run it in a new session, as workers run. Linux shares processor time between sessions.
    """
    env = {**os.environ, **(variables or {})}
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, start_new_session=new_session)  # noqa: S603
    if done.returncode not in {0, int(may_fail)}:
        sys.exit(f"{command[0]} … ended with exit status {done.returncode}: {done.stderr[-2000:]}")
    return time.perf_counter() - start


def suite(setting: Setting, surface: str, out: Path, jobs: int = 1) -> list[str]:
    """Return the command line of a run."""
    return [
        *(sys.executable, "-m", "conformance.cli", "run", "--backend", f"{setting.backend.name}={setting.python}"),
        *("--surface", surface, "--level", setting.level, "--jobs", str(jobs), "--out", str(out)),
        *(word for operator in setting.operators for word in ("--operator", operator)),
    ]


def prepare_floor(setting: Setting, surface: Surface, folder: Path) -> tuple[Path, int]:
    """Write the programs of the floor; return their file, and the number of results of the suite.

    Programs that crashed or hung are left out, because the floor would not survive them.
    """
    (report,) = reader.load_report([setting.results(folder)]).backends
    survived = {result.case for result in report.results if result.outcome in {"returned", "rejected"}}
    backend, cases = setting.backend, loading.load_catalogue(level=setting.level)
    selection = Selection(setting.level, (surface.name,), setting.operators)
    run = Run(backend, cases, Ledger(), RunOptions(selection), python=sys.executable)
    jobs = [
        (task.program.text, [packed(array) for array in run.expected(task.case).inputs.values()])
        for task in run.tasks()
        if isinstance(task.program, Program) and task.case.id in survived
    ]
    path = folder / f"{surface.name}.pickle"
    path.write_bytes(pickle.dumps((f"{backend.threads}\n{backend.setup}", backend.reset, jobs)))
    return path, len(report.results)


def measure(setting: Setting, surface: Surface) -> Measured:
    """Measure the suite and the floor on one surface."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = suite(setting, surface.name, folder)
        seconds(command, may_fail=True)
        jobs, results = prepare_floor(setting, surface, folder)
        floor = [setting.python, "-c", FLOOR, str(jobs)]
        seconds([setting.python, "-c", f"{setting.backend.threads}\n{setting.backend.setup}"])
        pairs = []
        for _ in range(setting.rounds):
            variables = {**ONE_THREAD_VARIABLES, "XDG_CACHE_HOME": tempfile.mkdtemp(dir=name)}
            floor_seconds = seconds(floor, variables=variables, new_session=True)
            pairs.append((floor_seconds, seconds(command, may_fail=True)))
    return Measured(surface.name, results, pairs)


def in_parallel(command: Sequence[str], environments: Sequence[Mapping[str, str]]) -> float:
    """Return the time of parallel processes of one command; environments: the variables of each process."""
    with ThreadPoolExecutor(len(environments)) as pool:
        start = time.perf_counter()
        each = ({**ONE_THREAD_VARIABLES, **variables} for variables in environments)
        list(pool.map(lambda variables: seconds(command, variables=variables, new_session=True), each))
        return time.perf_counter() - start


def measure_workers(setting: Setting, jobs: int, surface: Surface) -> MeasuredWorkers:
    """Measure one surface with one worker and with several."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commands = [suite(setting, surface.name, folder, number) for number in (1, jobs)]
        seconds(commands[0], may_fail=True)
        programs, results = prepare_floor(setting, surface, folder)
        floor = [setting.python, "-c", FLOOR, str(programs)]
        rounds = []
        for _ in range(setting.rounds):
            # Each process gets an empty cache folder, so no framework finds compiled programs.
            empty = [{"XDG_CACHE_HOME": tempfile.mkdtemp(dir=name)} for _ in range(3 + jobs)]
            one, many = (
                seconds(command, may_fail=True, variables=variables)
                for command, variables in zip(commands, empty[:2], strict=True)
            )
            rounds.append((one, many, in_parallel(floor, empty[2:3]), in_parallel(floor, empty[3:])))
    return MeasuredWorkers(surface.name, results, jobs, rounds)


def measure_start(setting: Setting, surface: Surface) -> MeasuredStart:
    """Measure the time until the first result, and the import of the framework."""
    leave = "import os; os._exit(0)"  # as a worker does: the shutdown of the framework does not count as import
    import_only = [setting.python, "-c", f"{setting.backend.threads}\n{setting.backend.setup}\n{leave}"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = suite(setting, surface.name, folder)
        seconds(command, may_fail=True)
        rounds = [
            (
                seconds(import_only, variables=ONE_THREAD_VARIABLES, new_session=True),
                *first_result(command, setting.results(folder)),
            )
            for _ in range(setting.rounds)
        ]
    return MeasuredStart(surface.name, rounds)


def first_result(command: Sequence[str], path: Path) -> tuple[float, float]:
    """Return the time from the start of a run to its first written result, and the time of its program, in seconds."""
    path.unlink()
    start = time.perf_counter()
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        while run.poll() is None:
            lines = path.read_bytes().splitlines() if path.exists() else []
            results = (json.loads(line) for line in lines if line.startswith(b'{"record": "result"'))
            result = next((result for result in results if result["outcome"] != "unsupported"), None)
            if result:
                return time.perf_counter() - start, result["seconds"]
            time.sleep(0.002)
    finally:
        run.terminate()
        run.wait()
    sys.exit("the run ended without a result")


def main() -> None:
    """Parse the command line, measure, and print the table."""
    parser = tables.arguments(__doc__)
    parser.add_argument("--backend", required=True, metavar="NAME[=PYTHON]", help="the backend and its interpreter")
    parser.add_argument("--surface", action="append", help="only this surface; may be repeated")
    parser.add_argument("--operator", action="append", default=[], help="only this operator; may be repeated")
    parser.add_argument("--level", choices=[str(level) for level in Level], default="standard")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds")
    parser.add_argument("--workers", type=int, metavar="N", help="compare N workers with one")
    parser.add_argument("--start", action="store_true", help="measure the time until the first result")
    arguments = parser.parse_args()
    name, _, python = arguments.backend.partition("=")
    backend = registry.get_backend(name)
    surfaces = [one for one in backend.surfaces if not arguments.surface or one.name in arguments.surface]
    setting = Setting(backend, python or sys.executable, arguments.level, arguments.rounds, tuple(arguments.operator))
    columns, one = COLUMNS, partial(measure, setting)
    if arguments.workers:
        columns = tuple(column.format(arguments.workers) for column in WORKERS)
        one = partial(measure_workers, setting, arguments.workers)
    if arguments.start:
        columns, one = START, partial(measure_start, setting)
    which = ", ".join(arguments.operator) or "all operators"
    title = f"`{name}`, level {arguments.level}, {which}, {arguments.rounds} rounds, {tables.environment()}"
    tables.write_table(title, columns, [one(surface).cells for surface in surfaces], arguments.write)


if __name__ == "__main__":
    main()
