"""Measure the CPU time for reading a results file, in multiples of `json.loads` of the same lines.

The built-in backend runs level standard. Its records are repeated, with other case ids, until the file has 29 MB. The
ways of reading alternate in one process, and the table has the median of the rounds. CPU time depends less than elapsed
time on other processes, and ratios within one run depend less on the machine.

    python benchmarks/results_reading.py --write docs/run_speed.md
"""

import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import tables

from reports.results import RecordChecks, load_report, read_records

FILE_MEGABYTES = 29
ROUNDS = 5
COLUMNS = ("", "CPU s", "MB per CPU s", "÷ `json.loads`")


def main() -> None:
    """Parse the command line, measure, and print the table."""
    parser = tables.arguments(__doc__)
    parser.add_argument("--megabytes", type=int, default=FILE_MEGABYTES, help="size of the results file")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="number of times that the file is read in each way")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        path = write_results(Path(name), arguments.megabytes * 1_000_000)
        size = path.stat().st_size / 1e6
        seconds = median_seconds(path, arguments.rounds)
    base = seconds[next(iter(WAYS))]
    rows = [(way, f"{taken:.2f}", f"{size / taken:,.0f}", f"**{taken / base:.2f}**") for way, taken in seconds.items()]
    title = f"Reading a results file of {size:.0f} MB, {arguments.rounds} rounds, {tables.environment()}"
    tables.write_table(title, COLUMNS, rows, arguments.write)


def parse_json(path: Path) -> None:
    """Parse each line to dictionaries and lists, without any check."""
    with path.open("rb") as stream:
        for line in stream:
            json.loads(line)


def read_typed_records(path: Path) -> None:
    """Parse each line to a typed record, and check it against the records before it. The record is dropped then."""
    with path.open("rb") as stream:
        for _ in read_records(path, stream, RecordChecks()):
            pass


def load_whole_report(path: Path) -> None:
    """Read the file into a report, as the commands that print results do."""
    load_report([path])


WAYS: Mapping[str, Callable[[Path], None]] = {
    "`json.loads` of each line": parse_json,
    "typed records, `read_records`": read_typed_records,
    "whole report, `load_report`": load_whole_report,
}
"""Ways of reading a file by their names in the table. The others are compared with the first."""


def median_seconds(path: Path, rounds: int) -> dict[str, float]:
    """Return the median CPU time of each way in seconds. The ways alternate: a slower phase affects all of them."""
    taken: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way, read in WAYS.items():
            start = time.process_time()
            read(path)
            taken[way].append(time.process_time() - start)
    return {way: median(times) for way, times in taken.items()}


def write_results(folder: Path, size: int) -> Path:
    """Run the built-in backend, and write its records again and again until the file has this size in bytes."""
    command = [sys.executable, "-m", "conformance.cli", "run", "--backend", "numpy", "--level", "standard", "--quiet"]
    subprocess.run([*command, "--out", str(folder)], check=True)  # noqa: S603  # this interpreter
    original = folder / "results" / "numpy.jsonl"
    header, *records, footer = map(json.loads, original.read_text("utf-8").splitlines())
    statuses: Counter[str] = Counter()
    path = folder / "repeated.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        stream.write(f"{json.dumps(header)}\n")
        for record in _repeated(records):
            if stream.tell() >= size and record["record"] == "case":  # only complete results precede a case
                break
            stream.write(f"{json.dumps(record)}\n")
            statuses.update([record["status"]] if record["record"] == "result" else [])
        stream.write(f"{json.dumps(footer | {'results': statuses.total(), 'by_status': statuses})}\n")
    return path


def _repeated(records: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield copies of the records without end, each with other case ids. Programs are declared once."""
    for number in itertools.count(1):
        for record in records:
            if "case" in record:
                yield record | {"case": f"{record['case']}-copy-{number}"}
            elif number == 1:
                yield record


if __name__ == "__main__":
    main()
