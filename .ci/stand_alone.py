"""Verify that scripts of `conformance repro` work without the suite: `stand_alone.py BACKEND`.

For each surface of the backend, one case of each operator and gradient is run; of slow surfaces, every fourth of these.
The scripts of a surface run in one isolated process (`python -I`) in an empty folder, in which the suite cannot be
imported. Each must exit with 0, which means that its output is as expected. On a route, an error that the
exporter or the runtime raises is a refusal: the script fails with it as it must.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from conformance.adapters import registry
from conformance.adapters.api import Backend, Program, Surface
from conformance.cases.case import Case, Value
from conformance.catalogue import loading
from conformance.execution.worker_process import Worker
from conformance.judging import ledger
from conformance.judging.expected import compute_expected
from conformance.translation.lowering import translate
from conformance.translation.repro import repro_script
from reports.results.vocabulary import Level

LIMIT = 600
DRIVER = """\
import json, pathlib, runpy, sys, traceback

suite = ("conformance", "reference", "reports")
sys.modules.update(dict.fromkeys(suite))
for name in suite:
    try:
        __import__(name)
    except ModuleNotFoundError:
        continue
    sys.exit(f"{name} can be imported")
for path in sorted(pathlib.Path().glob("*.py")):
    print("==", path.name, flush=True)
    try:
        runpy.run_path(str(path), run_name="__main__")
        left = 0
    except SystemExit as end:
        left = end.code or 0
    except BaseException:
        left = traceback.format_exc()
    path.with_suffix(".left").write_text(json.dumps(left))
"""


def versions(backend: Backend) -> dict[str, str]:
    """Return the versions of the backend's installed packages, for the ledger. A worker names its own."""
    if backend.worker is not None:
        worker = Worker(backend)
        worker.start()
        worker.stop()
        packages: dict[str, str] = worker.environment["packages"]
        return packages
    names = importlib.metadata.packages_distributions()
    return {name: importlib.metadata.version(names[name][0]) for name in backend.packages if name in names}


def sample(cases: list[Case], surface: Surface, known: ledger.Ledger, packages: dict[str, str]) -> list[Case]:
    """Return the first case of each operator that requires a value, has a program and is no known deviation."""
    chosen: dict[str, Case] = {}
    for case in cases:
        if (
            case.operator not in chosen
            and isinstance(case.expect, Value)
            and isinstance(translate(case, surface), Program)
            and not known.find_entry(case, surface.name, packages)
        ):
            chosen[case.operator] = case
    return list(chosen.values())[:: 4 if surface.slow_tag else 1]


def failures(backend: Backend, surface: Surface, cases: list[Case]) -> list[str]:
    """Run the scripts of some cases on a surface; return a line for each failure."""
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(cases):
            program = translate(case, surface)
            text = repro_script(case, compute_expected(case), backend, program) if isinstance(program, Program) else ""
            (Path(folder) / f"{number:03}.py").write_text(text, "utf-8")
        done = subprocess.run(  # noqa: S603 - the current interpreter
            [sys.executable, "-I", "-c", DRIVER], cwd=folder, capture_output=True, text=True, check=False, timeout=LIMIT
        )
        statuses = {path.stem: json.loads(path.read_text("utf-8")) for path in Path(folder).glob("*.left")}
    missing = f"the process ended before it, with {done.returncode}: {done.stderr[-1000:]}"
    by_case = {case.id: statuses.get(f"{number:03}", missing) for number, case in enumerate(cases)}
    return [
        f"{'refused' if is_refusal(surface, status) else 'BAD'} {name} on {surface.name}: {status}"
        for name, status in by_case.items()
        if status != 0
    ]


def is_refusal(surface: Surface, status: object) -> bool:
    """Whether a script of a route ended with an error of a package, and not of its own lines. status: see DRIVER."""
    places = re.findall(r'^  File "(.*?)", line', status, re.MULTILINE) if isinstance(status, str) else []
    return surface.route is not None and bool(places) and not re.fullmatch(r"\d+\.py", Path(places[-1]).name)


def main() -> None:
    """Run the sample on every surface of the backend named on the command line."""
    backend = registry.get_backend(sys.argv[1])
    cases = sorted(loading.load_catalogue().cases, key=lambda case: [*Level].index(case.level))
    known, packages, bad = ledger.load_ledger(), versions(backend), 0
    for surface in backend.surfaces:
        why = surface.missing_requirement() if surface.missing_requirement else None
        chosen = [] if why else sample(cases, surface, known, packages)
        failed = failures(backend, surface, chosen)
        print(why or f"{len(chosen) - len(failed)} of {len(chosen)} scripts agree on {surface.name}", *failed, sep="\n")
        # A surface without a single script indicates a mistake in the sample, unless the surface is unavailable.
        bad += any(line.startswith("BAD") for line in failed) or len(failed) == len(chosen) > 0 or not (chosen or why)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
