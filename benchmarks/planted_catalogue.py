"""Which planted faults the catalogue finds, and how many of its cases that takes.

Each surface of the backend `planted`, in tests/planted_faults, holds one fault. All cases up to level standard of the
operators that it is in run on it. A case shows the fault where a run is red for it: it differs, crashes, hangs, or
answers a question otherwise than the surface without a fault.

    python benchmarks/planted_catalogue.py --measure        runs them, which takes minutes, and keeps what was found
    python benchmarks/planted_catalogue.py --write docs/explore_faults.md

--columns FILE adds columns to the table: {title: {fault: cell}}, in JSON, as `explore_faults.py --columns` makes them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).parent
PACKAGE = str(HERE.parent / "tests" / "planted_faults")
if PACKAGE not in sys.path:
    sys.path.insert(0, PACKAGE)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [PACKAGE, os.environ.get("PYTHONPATH")]))

from conformance_planted import FAULTS  # noqa: E402 - the path is set above

from conformance import catalogue  # noqa: E402

KEPT = HERE / "planted_catalogue.json"
LEVELS = ("smoke", "standard")
RED = {"fail", "crashed", "timed_out", "flaky"}
RUN = "run --backend planted --level standard --jobs 1 --timeout 10 --quiet"
Found = Mapping[str, Mapping[str, Sequence[int]]]
"""For each fault and level how many cases it takes to the first that shows it, 0 for none, and how many do."""
Columns = Mapping[str, Mapping[str, str]]
"""Further columns by their titles: for each fault a cell."""
DEPTHS = {1: "one parameter", 2: "two that must meet", 3: "three, or a rare value"}
HEAD = """\
# Planted faults, and what finds them

Made by `benchmarks/planted_catalogue.py`; do not edit it.

How good a search for bugs is can only be measured on bugs that are known. `tests/planted_faults` is a backend of its
own, NumPy with one fault in each surface; `planted.none` has none, and agrees on all of the catalogue. A test holds
that each fault shows in the smallest case that is known to show it, and not in its neighbour.

**smoke** and **standard**: how many cases of the level run, in the order of the catalogue, until the first that shows
the fault, and in brackets how many of them do. Level smoke has {smoke:,} cases, standard {standard:,}.
"""
DRAWN = """\
The last columns are of searches that draw their cases, by `benchmarks/explore_faults.py`: how many cases of all
operators were drawn until the first that showed the fault. **explored** is how `conformance explore` draws, **drawn by
themselves** the same space without a guide, **uniform** every parameter uniform in its range; see
[Exploring](explore.md). **steps too large**, where it stands: how many more parameters of the case that it was shrunk
to are not plain than of the smallest known by hand; below 0 it is smaller than that.
"""
"""What is said of the further columns."""


def measure(tell: Callable[[str], None]) -> dict[str, object]:
    """Return how many cases each level has, and what they find."""
    known = catalogue.load()
    order = {level: {case.id: place for place, case in enumerate(known.select(level), 1)} for level in LEVELS}
    found = {}
    for operators in sorted({fault.operators for fault in FAULTS.values()}):
        for name, shown in showing(operators).items():
            places = {level: [order[level][case] for case in shown if case in order[level]] for level in LEVELS}
            found[name] = {level: (min(places[level], default=0), len(places[level])) for level in LEVELS}
            tell(f"{name}: {found[name]}")
    return {"cases": {level: len(order[level]) for level in LEVELS}, "found": found}


def showing(operators: tuple[str, ...]) -> dict[str, list[str]]:
    """Return for each fault of some operators the ids of all cases that show it."""
    surfaces = {fault.surface: name for name, fault in FAULTS.items() if fault.operators == operators}
    words = [*options("--surface", surfaces), *options("--operator", operators)]
    shown: dict[str, list[str]] = {name: [] for name in surfaces.values()}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "conformance.cli", *RUN.split(), "--out", folder, *words]
        done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)  # noqa: S603 - this suite
        assert done.returncode in (0, 1), f"{operators}: exit status {done.returncode}"
        with (Path(folder) / "results" / "planted.jsonl").open(encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                if record["record"] == "result" and record["status"] in RED:
                    shown[surfaces[record["surface"]]].append(record["case"])
    return shown


def options(name: str, values: Iterable[str]) -> Iterator[str]:
    """Yield an option of the command line for each value."""
    for value in values:
        yield from (name, value)


def page(cases: Mapping[str, int], found: Found, more: Columns) -> str:
    """Return the page: what is found of each depth, and a row for each fault. more: see Columns."""
    parts = [HEAD.format(**cases), *([DRAWN] if more else []), depths(found), table(found, more)]
    return "\n".join(parts)


def depths(found: Found) -> str:
    """Return a table of how many faults are found, by what must meet for one to show."""
    rows = []
    for depth, said in DEPTHS.items():
        names = [fault.name for fault in FAULTS.values() if fault.depth == depth]
        counts = [sum(found[name][level][1] > 0 for name in names) for level in LEVELS]
        rows.append([said, str(len(names)), *map(str, counts)])
    rows.append(["all", *(str(sum(int(row[column]) for row in rows)) for column in (1, 2, 3))])
    return markdown(["what must meet", "faults", *(f"found by {level}" for level in LEVELS)], rows)


def table(found: Found, more: Columns) -> str:
    """Return a row for each fault, by operator."""
    rows = [
        [
            f"`{fault.name}`", ", ".join(f"`{name}`" for name in fault.operators), fault.sentence, fault.condition,
            *(cell(*found[fault.name][level]) for level in LEVELS),
            *(column.get(fault.name, "") for column in more.values()),
        ]
        for fault in sorted(FAULTS.values(), key=lambda fault: (fault.operators, fault.depth, fault.name))
    ]  # fmt: skip
    return markdown(["fault", "operator", "what is wrong", "shows where", *LEVELS, *more], rows)


def cell(first: int, shown: int) -> str:
    """Return how soon a level finds a fault."""
    return f"{first:,} ({shown:,})" if shown else "–"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Parse the command line; measure, or print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help=f"run all cases and keep what was found in {KEPT.name}")
    parser.add_argument("--columns", type=Path, metavar="FILE", help="further columns of the table, in JSON")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page here")
    arguments = parser.parse_args()
    if arguments.measure:
        KEPT.write_text(json.dumps(measure(lambda said: print(said, flush=True))) + "\n", "utf-8")
    kept = json.loads(KEPT.read_text("utf-8"))
    more = json.loads(arguments.columns.read_text("utf-8")) if arguments.columns else {}
    text = page(kept["cases"], kept["found"], more)
    arguments.write.write_text(text, "utf-8") if arguments.write else print(text)


if __name__ == "__main__":
    main()
