"""What the HTML report of a large run costs: to make, in a file, to open and to filter in headless Chromium.

The results are those of the built-in backend at level standard, told of one surface after the other, each with its own
programs, until there are 50,000 of them; 500 are turned into differences. Needs playwright and chromium.

    python benchmarks/report_speed.py
"""

import argparse
import hashlib
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Page, sync_playwright

from conformance.adapters import registry
from conformance.adapters.api.surface import Program, Surface
from conformance.cases.case import Case
from conformance.catalogue import loading
from conformance.translation.lowering import translate

Record = dict[str, Any]
MAKE = """\
import resource, sys, time
start = time.perf_counter()
from reports.html import render_html
from reports.reading import load
page = render_html(load(sys.argv[2:]))
open(sys.argv[1], "w", encoding="utf-8").write(page)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
AIMS = {"file, MB": 15, "made in, s": 20, "memory, MB": 500, "first view, s": 1, "data there, s": 2, "filter, s": 0.2}
FILTERS = (
    "operator=max_pool", "surface={surface}", "status=fail", "dtype=float16", "kind=value", "text=padding%20stride",
    "parameter=stride&value=%5B2%2C2%5D", "operator=conv&dtype=float32&text=groups", "text=zzz", "",
    "sort=case", "sort=-share&text=padding", "sort=said",
)  # fmt: skip
# From the change of the address to the second frame after it: what was asked for is then on the screen.
FILTERED = """
(place) => new Promise((done) => {
  const start = performance.now();
  const shown = () => done(performance.now() - start);
  addEventListener("hashchange", () => requestAnimationFrame(() => requestAnimationFrame(shown)), { once: true });
  location.hash = place;
})
"""
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
ROUNDS = 3


def main() -> None:
    """Make results, a report of them, and measure both; exit status 1 where an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=int, default=50_000)
    parser.add_argument("--differences", type=int, default=500)
    parser.add_argument("--base", type=Path, help="results of the built-in backend, lest they be made anew")
    parser.add_argument("--keep", type=Path, help="where to leave the page")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = (given.base or base(folder)).read_text("utf-8").splitlines()
        maker = Maker([json.loads(line) for line in lines], given.results, given.differences)
        paths = list(maker.files(folder))
        assert (maker.made, maker.wrong) == (given.results, given.differences)
        page = given.keep or folder / "report.html"
        found = {**written(page, paths), **seen(page)}
    missed = [what for what, number in found.items() if number > AIMS[what]]
    for what, number in found.items():
        print(f"{what:<14} {number:8.2f}   aim {AIMS[what]}{'   MISSED' if what in missed else ''}")
    sys.exit(1 if missed else 0)


def base(folder: Path) -> Path:
    """Run the built-in backend at level standard."""
    command = [sys.executable, "-m", "conformance.cli", "run", "--backend", "numpy", "--level", "standard", "--quiet"]
    subprocess.run([*command, "--out", str(folder)], check=True)  # noqa: S603  # this interpreter
    return folder / "results" / "numpy.jsonl"


@dataclass
class Maker:
    """Makes results out of those of the built-in backend; counts those made and those of them that differ."""

    records: list[Record]
    results: int
    differences: int
    made: int = 0
    wrong: int = 0

    def files(self, folder: Path) -> Iterator[Path]:
        """Write results files, one a backend, until there are as many results as asked for."""
        known = loading.load_catalogue(level="standard").by_id
        for name in itertools.cycle(one for one in registry.backend_names() if one != "numpy"):
            if self.made >= self.results:
                return
            label = f"{name}@{self.made}"
            yield _file(folder / f"{label}.jsonl", self._backend(label, registry.get_backend(name).surfaces, known))

    def _backend(self, label: str, surfaces: Sequence[Surface], known: Mapping[str, Case]) -> list[Record]:
        head, names = self.records[0], [surface.name for surface in surfaces]
        cases = {one["case"]: one for one in self.records if one["record"] == "case"}
        judged = [one for one in self.records if one["record"] == "result"]
        programs, told = [], []
        for surface, result in itertools.product(surfaces, judged):
            if self.made < self.results:
                program = _program(known[result["case"]], surface) if result["program"] else None
                programs += [program] if program else []
                told.append(self._result(result, surface, program, cases[result["case"]]))
        used = {one["case"] for one in told}
        environment = {**head["environment"], "setup": dict.fromkeys(names, "import numpy as np\n")}
        first = {**head, "backend": label, "surfaces": names, "environment": environment}
        count = dict(Counter(one["status"] for one in told))
        last = {"record": "footer", "results": len(told), "by_status": count, "seconds": 100.0}
        return [first, *(case for name, case in cases.items() if name in used), *programs, *told, last]

    def _result(self, result: Record, surface: Surface, program: Record | None, case: Record) -> Record:
        self.made += 1
        told = {**result, "surface": surface.name, "program": program and program["program"]}
        data = case["expected"].get("data")
        due = self.wrong * self.results < self.made * self.differences
        if not due or result["status"] != "pass" or not data or isinstance(data[0], str):
            return told
        self.wrong += 1
        return {**told, **_difference(case["expected"])}


def _program(case: Case, surface: Surface) -> Record:
    """Return the record of the program that a surface has for a case; where it has none, of a line in its stead."""
    found = translate(case, surface)
    text = found.text if isinstance(found, Program) else f"def run(x):\n    return {surface.name}(x)  # {case.id}\n"
    digest = hashlib.blake2b(f"{surface.name} {text}".encode(), digest_size=8).hexdigest()
    return {"record": "program", "program": digest, "surface": surface.name, "how": "native", "text": text}


def _difference(expected: Record) -> Record:
    """Return what a result says that gets the first element wrong."""
    first = expected["data"][0]
    got = {**expected, "data": [first + 1, *expected["data"][1:]]}
    worst = {"index": [0] * len(got["shape"]), "expected": first, "got": first + 1, "absolute": 1, "ulp": 9}
    judged = {"status": "fail", "verdict": "differ", "kind": "value", "budget_used": "inf"}
    return {**judged, "got": got, "worst": worst}


def _file(path: Path, records: list[Record]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    return path


def written(page: Path, paths: list[Path]) -> dict[str, float]:
    """Make the report in a process of its own; return what it cost and how large it is."""
    command = [sys.executable, "-c", MAKE, str(page), *map(str, paths)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  # this interpreter
    seconds, memory = map(float, done.stdout.split())
    return {"file, MB": page.stat().st_size / 1e6, "made in, s": seconds, "memory, MB": memory}


def seen(page: Path) -> dict[str, float]:
    """Open the report and filter its results; return the medians of some rounds, the slowest filter."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        rounds = [_round(browser.new_page(), page) for _ in range(ROUNDS)]
        browser.close()
    return {what: median(one[what] for one in rounds) for what in rounds[0]}


def _round(tab: Page, page: Path) -> dict[str, float]:
    start = time.perf_counter()
    tab.goto(page.as_uri())
    tab.wait_for_function(f"{PAINTED} > 0")
    painted = tab.evaluate(PAINTED) / 1000
    tab.wait_for_function("window.Report?.ready")
    ready = time.perf_counter() - start
    surface = tab.evaluate("Report.data.surfaces[0].name")
    tab.evaluate(FILTERED, "#/results")
    times = [tab.evaluate(FILTERED, f"#/results?{one.format(surface=surface)}") / 1000 for one in FILTERS]
    tab.close()
    return {"first view, s": painted, "data there, s": ready, "filter, s": max(times)}


if __name__ == "__main__":
    main()
