"""Measure the memory of the suite's process during a run, and the time per case, for 1,000 to 100,000 cases.

Each run is a complete `conformance run` on the built-in backend with one worker. Its cases are max_pool sweeps of level
exhaustive: all combinations of extents, windows, strides and dtypes. Memory is the maximum resident size of the suite's
process, and its size after the imports. The memory of the worker is not included. The HTML report is made and opened in
Chromium, which needs the packages of the dependency group `tests`.

    python benchmarks/run_memory.py --cases 1000 6000 --write docs/run_memory.md
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import tables
from playwright.sync_api import sync_playwright

SIZES = (1_000, 6_000, 20_000, 100_000)
OPEN_TIMEOUT_MILLISECONDS = 600_000
CASES_PER_EXTENT = 1_000
"""Number of cases of a sweep for each extent: ten windows, ten strides, ten dtypes."""
FIRST_EXTENT = 30
MAX_EXTENTS = 25
"""Maximum number of extents of one sweep. A factor may have at most 30 levels."""
HEAD = "operator: max_pool\nsource: a benchmark\nsweeps:\n"
SWEEP = """\
  - id: from-{first}
    level: exhaustive
    cover: all
    x: {{values: integers, low: 0, high: 9}}
    factors:
      rank: [1]
      extent: {extents}
      window: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
      stride: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
      dtype: [float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32]
"""
RUN = """\
import json, resource, sys, time
from conformance import cli
size = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start, begun = size(), time.monotonic()
try:
    cli.main(sys.argv[1:])
except SystemExit as left:
    status = left.code
print(json.dumps([status, start * 1024, size() * 1024, time.monotonic() - begun, time.process_time()]))
"""
COLUMNS = (
    *("cases", "seconds", "CPU ms per case", "results file MB", "start MB", "peak MB", "growth MB"),
    *("report s", "report MB", "opened s"),
)


@dataclass(frozen=True)
class Measured:
    """Measurements of one run.

    seconds: wall time. processor: processor time of the suite's process in seconds. written: size of the results file.
    start, peak: memory after the imports, and its maximum. report_seconds, report: time and size of the HTML report.
    opened_seconds: time until a browser shows its overview.
    Sizes are in bytes.
    """

    cases: int
    seconds: float
    processor: float
    written: int
    start: int
    peak: int
    report_seconds: float
    report: int
    opened_seconds: float

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        sizes = (f"{size / 1e6:,.0f}" for size in (self.written, self.start, self.peak))
        over = f"**{(self.peak - self.start) / 1e6:,.0f}**"
        report = f"{self.report_seconds:,.1f}", f"{self.report / 1e6:,.1f}", f"{self.opened_seconds:,.1f}"
        return (
            f"{self.cases:,}",
            f"{self.seconds:,.0f}",
            f"{1e3 * self.processor / self.cases:.2f}",
            *sizes,
            over,
            *report,
        )


def measure(cases: int) -> Measured:
    """Run this number of cases and return the measurements."""
    extents = [FIRST_EXTENT + number for number in range(cases // CASES_PER_EXTENT)]
    parts = [extents[start : start + MAX_EXTENTS] for start in range(0, len(extents), MAX_EXTENTS)]
    sweeps = [SWEEP.format(first=part[0], extents=part) for part in parts]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "max_pool.yaml"
        path.write_text(HEAD + "".join(sweeps), "utf-8")
        arguments = ["run", "--backend", "numpy", "--level", "exhaustive", "--jobs", "1", "--no-cache"]
        command = [sys.executable, "-c", RUN, *arguments, "--cases", str(path), "--out", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)  # noqa: S603
        status, start, peak, seconds, processor = json.loads(done.stdout.splitlines()[-1])
        if status:
            sys.exit(
                f"a run of {cases} cases ended with exit status {status}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
            )
        results, report = folder / "results" / "numpy.jsonl", folder / "report.html"
        begun = time.monotonic()
        arguments = ["report", "--format", "html", str(results), "--out", str(report)]
        subprocess.run([sys.executable, "-m", "conformance.cli", *arguments], check=True, capture_output=True)  # noqa: S603
        made = time.monotonic() - begun, report.stat().st_size, open_report(report)
        return Measured(cases, seconds, processor, results.stat().st_size, start, peak, *made)


def open_report(path: Path) -> float:
    """Return the seconds until Chromium shows the overview of a report."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(OPEN_TIMEOUT_MILLISECONDS)
        begun = time.monotonic()
        page.goto(path.as_uri())
        page.locator("#overview h1").wait_for()
        page.wait_for_function("() => window.Report?.ready")
        seconds = time.monotonic() - begun
        browser.close()
    return seconds


def main() -> None:
    """Parse the command line, measure, and print the table."""
    parser = tables.arguments(__doc__)
    parser.add_argument(
        "--cases", type=int, nargs="+", default=SIZES, help=f"numbers of cases, multiples of {CASES_PER_EXTENT:,}"
    )
    arguments = parser.parse_args()
    tables.write_table(
        tables.environment(), COLUMNS, [measure(cases).cells for cases in arguments.cases], arguments.write
    )


if __name__ == "__main__":
    main()
