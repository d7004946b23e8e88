"""Measure the HTML report of a large run: time and size of the file, and time to open and filter it in Chromium.

The results of the built-in backend at level standard are repeated for the surfaces of other backends, each with its own
programs, until there are 50,000 results. 500 of them are changed into differences. Needs playwright and chromium.

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
from conformance.adapters.api import Program, Surface
from conformance.cases.case import Case
from conformance.catalogue import loading
from conformance.translation.lowering import translate

Record = dict[str, Any]
MAKE = """\
import resource, sys, time
start = time.perf_counter()
from reports.results import load_report
from reports.views.html import render_html
page = render_html(load_report(sys.argv[2:]))
open(sys.argv[1], "w", encoding="utf-8").write(page)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
TARGETS = {
    "file, MB": 15, "made in, s": 20, "memory, MB": 500, "first view, s": 1, "data ready, s": 2, "filter, s": 0.2,
}  # fmt: skip
FILTERS = (
    "operator=max_pool", "surface={surface}", "status=fail", "dtype=float16", "kind=value", "text=padding%20stride",
    "parameter=stride&value=%5B2%2C2%5D", "operator=conv&dtype=float32&text=groups", "text=zzz", "",
    "sort=case", "sort=-share&text=padding", "sort=said",
)  # fmt: skip
# Time from the change of the address to the second frame after it, when the filtered results are on the screen.
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
    """Create results and their report, and measure both. Exit status 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=int, default=50_000)
    parser.add_argument("--differences", type=int, default=500)
    parser.add_argument("--base", type=Path, help="existing results of the built-in backend, instead of a new run")
    parser.add_argument("--keep", type=Path, help="write the report to this file and keep it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = (arguments.base or run_built_in_backend(folder)).read_text("utf-8").splitlines()
        generator = ResultsGenerator([json.loads(line) for line in lines], arguments.results, arguments.differences)
        paths = list(generator.files(folder))
        assert (generator.created, generator.differing) == (arguments.results, arguments.differences)
        page = arguments.keep or folder / "report.html"
        measured = {**write_report(page, paths), **open_report(page)}
    missed = [name for name, number in measured.items() if number > TARGETS[name]]
    for name, number in measured.items():
        print(f"{name:<14} {number:8.2f}   target {TARGETS[name]}{'   MISSED' if name in missed else ''}")
    sys.exit(1 if missed else 0)


def run_built_in_backend(folder: Path) -> Path:
    """Run the built-in backend at level standard; return the results file."""
    command = [sys.executable, "-m", "conformance.cli", "run", "--backend", "numpy", "--level", "standard", "--quiet"]
    subprocess.run([*command, "--out", str(folder)], check=True)  # noqa: S603  # this interpreter
    return folder / "results" / "numpy.jsonl"


@dataclass
class ResultsGenerator:
    """Creates results from the records of the built-in backend.

    results, differences: how many to create. created, differing: how many have been created.
    """

    records: list[Record]
    results: int
    differences: int
    created: int = 0
    differing: int = 0

    def files(self, folder: Path) -> Iterator[Path]:
        """Write one results file per backend until there are enough results."""
        catalogue = loading.load_catalogue(level="standard").by_id
        for name in itertools.cycle(one for one in registry.backend_names() if one != "numpy"):
            if self.created >= self.results:
                return
            label = f"{name}@{self.created}"
            yield _file(folder / f"{label}.jsonl", self._backend(label, registry.get_backend(name).surfaces, catalogue))

    def _backend(self, label: str, surfaces: Sequence[Surface], catalogue: Mapping[str, Case]) -> list[Record]:
        head, names = self.records[0], [surface.name for surface in surfaces]
        cases = {one["case"]: one for one in self.records if one["record"] == "case"}
        judged = [one for one in self.records if one["record"] == "result"]
        programs, results = {}, []
        for surface, result in itertools.product(surfaces, judged):
            if self.created < self.results:
                program = _program(catalogue[result["case"]], surface) if result["program"] else None
                programs |= {program["program"]: program} if program else {}
                results.append(self._result(result, surface, program, cases[result["case"]]))
        used = {one["case"] for one in results}
        environment = {**head["environment"], "setup": dict.fromkeys(names, "import numpy as np\n")}
        header = {**head, "backend": label, "surfaces": names, "environment": environment}
        counts = dict(Counter(one["status"] for one in results))
        footer = {"record": "footer", "results": len(results), "by_status": counts, "seconds": 100.0}
        return [header, *(case for name, case in cases.items() if name in used), *programs.values(), *results, footer]

    def _result(self, result: Record, surface: Surface, program: Record | None, case: Record) -> Record:
        self.created += 1
        copied = {**result, "surface": surface.name, "program": program and program["program"]}
        data = case["expected"].get("data")
        due = self.differing * self.results < self.created * self.differences
        if not due or result["status"] != "pass" or not data or isinstance(data[0], str):
            return copied
        self.differing += 1
        return {**copied, **_difference(case["expected"])}


def _program(case: Case, surface: Surface) -> Record:
    """Return the record of a surface's program for a case, or of a placeholder if the surface has no program."""
    translated = translate(case, surface)
    placeholder = f"def run(x):\n    return {surface.name}(x)  # {case.id}\n"
    text = translated.text if isinstance(translated, Program) else placeholder
    digest = hashlib.blake2b(f"{surface.name} {text}".encode(), digest_size=8).hexdigest()
    return {"record": "program", "program": digest, "surface": surface.name, "how": "native", "text": text}


def _difference(expected: Record) -> Record:
    """Return the fields of a result whose first element is wrong."""
    first = expected["data"][0]
    got = {**expected, "data": [first + 1, *expected["data"][1:]]}
    worst = {"index": [0] * len(got["shape"]), "expected": first, "got": first + 1, "absolute": 1, "ulp": 9}
    judged = {"status": "fail", "verdict": "differ", "kind": "value", "budget_used": "inf"}
    return {**judged, "got": got, "worst": worst}


def _file(path: Path, records: list[Record]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    return path


def write_report(page: Path, paths: list[Path]) -> dict[str, float]:
    """Write the report in a separate process; return its time, memory and size."""
    command = [sys.executable, "-c", MAKE, str(page), *map(str, paths)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  # this interpreter
    seconds, memory = map(float, done.stdout.split())
    return {"file, MB": page.stat().st_size / 1e6, "made in, s": seconds, "memory, MB": memory}


def open_report(page: Path) -> dict[str, float]:
    """Open the report and filter its results; return the median times; each round counts its slowest filter."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        rounds = [_round(browser.new_page(), page) for _ in range(ROUNDS)]
        browser.close()
    return {name: median(one[name] for one in rounds) for name in rounds[0]}


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
    return {"first view, s": painted, "data ready, s": ready, "filter, s": max(times)}


if __name__ == "__main__":
    main()
