"""Run the same cases of a route with and without batches, and compare the results and the times.

`python -m benchmarks.route_batches BACKEND[=PYTHON] ROUTE GLOB...` runs the cases of level standard whose ids match a
GLOB, first in batches, then alone. PYTHON has the packages of the route; by default it is the interpreter that runs
this file. It prints the processor time of the workers, which includes their imports, the time of the clock, the number
of results with each status, and each difference.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.adapters import registry
from conformance.adapters.api import Backend
from conformance.catalogue.loading import Catalogue, load_catalogue
from conformance.execution.options import RunOptions
from conformance.execution.run import Run
from conformance.execution.selection import Selection
from conformance.judging.ledger import load_ledger
from reports.results.vocabulary import Level

COMPARED = ("status", "outcome", "verdict", "kind", "reason", "changed_by", "digest")
"""The keys of a result that do not depend on the time."""
Results = Mapping[str, Mapping[str, Any]]


def child_seconds() -> float:
    """Return the processor time of the child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(backend: Backend, catalogue: Catalogue, options: RunOptions, python: str) -> Results:
    """Run the cases, print the times and the counts, and return the results by case."""
    start, used = time.monotonic(), child_seconds()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "results.jsonl")
        Run(backend, catalogue, load_ledger(), options, python=python).execute(path)
        records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    results = {one["case"]: one for one in records if one["record"] == "result"}
    counts = Counter(one["status"] for one in results.values())
    name = "batches" if options.batches else "alone"
    seconds = f"{child_seconds() - used:.0f} s of processor time, {time.monotonic() - start:.0f} s"
    print(f"{name}: {seconds}, {dict(counts)}", flush=True)
    return results


def main(backend_name: str, route: str, *globs: str) -> None:
    """Compare the two ways to run cases."""
    name, _, python = backend_name.partition("=")
    backend, catalogue = registry.get_backend(name), load_catalogue()
    selection = Selection(Level.STANDARD, (route,), (), globs)
    together, alone = (
        run(backend, catalogue, RunOptions(selection, batches=batches, jobs=2), python or sys.executable)
        for batches in (True, False)
    )
    differences = [
        (case, key, together[case].get(key), alone[case].get(key))
        for case in alone
        for key in COMPARED
        if together[case].get(key) != alone[case].get(key)
    ]
    print(f"{len(differences)} differences of {len(alone)} cases")
    print(*differences, sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
