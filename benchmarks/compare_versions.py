"""Compare the time of `conformance run` in this checkout with that in another checkout of the suite.

git worktree add ../before COMMIT
python benchmarks/compare_versions.py ../before --backend torch=PATH/TO/python --surface torch.nn --pairs 16

Both run the cases of the other checkout with one worker. The two versions take turns at running first, and the first
pair is not counted. Other load on the machine changes the ratios.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import quantiles

HERE = Path(__file__).parents[1]


def run_times(checkout: Path, options: list[str]) -> tuple[float, float]:
    """Return the elapsed time and the processor time of a run in seconds, with those of its processes."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    environment = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "conformance.cli", "run", *options, "--jobs", "1", "--quiet", "--out", out]
        finished = subprocess.run(  # noqa: S603 - this suite
            command, cwd=checkout, env=environment, capture_output=True, text=True, check=False
        )
    if finished.returncode not in {0, 1}:  # 1: results that the older ledger does not explain
        sys.exit(f"{checkout}: {finished.stderr}")
    elapsed, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return elapsed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the quartiles of the ratios of both times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="the other checkout")
    parser.add_argument("--backend", required=True, metavar="NAME=PYTHON")
    parser.add_argument("--surface", nargs="+", default=[])
    parser.add_argument("--level", default="standard")
    parser.add_argument("--pairs", type=int, default=16)
    arguments = parser.parse_args()
    options = ["--backend", arguments.backend, "--level", arguments.level]
    options += [part for surface in arguments.surface for part in ("--surface", surface)]
    options += ["--cases", str(arguments.before.resolve() / "cases")]
    pairs = []
    for number in range(arguments.pairs + 1):
        order = (HERE, arguments.before) if number % 2 else (arguments.before, HERE)
        times = {checkout: run_times(checkout, options) for checkout in order}
        pairs.append([new / old for new, old in zip(times[HERE], times[arguments.before], strict=True)])
    for name, ratios in zip(("elapsed time", "processor time"), zip(*pairs[1:], strict=True), strict=True):
        lower, middle, upper = quantiles(ratios, n=4)
        print(f"{name}: {middle:.3f} times that of {arguments.before} (middle half {lower:.3f} to {upper:.3f})")


if __name__ == "__main__":
    main()
