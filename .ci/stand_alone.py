"""Prove that what `conformance repro` prints works as it stands, on every surface of a backend and for every operator.

For each surface that is one case for each operator and each gradient that it has; of a surface that takes seconds for
each, every fourth. The scripts of a surface run one after the other in one process, isolated (`python -I`), in an empty
folder, and with the suite out of reach: each must leave with 0, which is to say that its output is what it expects.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from conformance.adapters import registry
from conformance.adapters.api.surface import Backend, Program, Surface
from conformance.cases.case import LEVELS, Case, Value
from conformance.catalogue import loading
from conformance.judging import ledger
from conformance.judging.expected import compute_expected
from conformance.translation.lowering import translate
from conformance.translation.repro import repro_script

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
    """Return the versions of the backend's packages, for the ledger; one that is not installed has none."""
    names = importlib.metadata.packages_distributions()
    return {name: importlib.metadata.version(names[name][0]) for name in backend.packages if name in names}


def sample(cases: list[Case], surface: Surface, known: ledger.Ledger, packages: dict[str, str]) -> list[Case]:
    """Return the first case of each operator that has a program and is not known to differ."""
    chosen: dict[str, Case] = {}
    for case in cases:
        plain = case.operator not in chosen and isinstance(case.expect, Value)
        if (
            plain
            and isinstance(translate(case, surface), Program)
            and not known.find_entry(case, surface.name, packages)
        ):
            chosen[case.operator] = case
    return list(chosen.values())[:: 4 if surface.slow_tag else 1]


def failures(backend: Backend, surface: Surface, cases: list[Case]) -> list[str]:
    """Run the scripts of some cases on a surface; return what is wrong, in words."""
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(cases):
            program = translate(case, surface)
            text = repro_script(case, compute_expected(case), backend, program) if isinstance(program, Program) else ""
            (Path(folder) / f"{number:03}.py").write_text(text, "utf-8")
        done = subprocess.run(  # noqa: S603 - this very interpreter
            [sys.executable, "-I", "-c", DRIVER], cwd=folder, capture_output=True, text=True, check=False, timeout=LIMIT
        )
        left = {path.stem: json.loads(path.read_text("utf-8")) for path in Path(folder).glob("*.left")}
    missing = f"the process ended before it, with {done.returncode}: {done.stderr[-1000:]}"
    ends = {case.id: left.get(f"{number:03}", missing) for number, case in enumerate(cases)}
    return [f"BAD {name} on {surface.name}: {end}" for name, end in ends.items() if end != 0]


def main() -> None:
    """Run the sample on every surface of the backend that is named on the command line."""
    backend = registry.get_backend(sys.argv[1])
    cases = sorted(loading.load_catalogue().cases, key=lambda case: LEVELS.index(case.level))
    known, packages, bad = ledger.load_ledger(), versions(backend), 0
    for surface in backend.surfaces:
        why = surface.missing_requirement() if surface.missing_requirement else None
        chosen = [] if why else sample(cases, surface, known, packages)
        wrong = failures(backend, surface, chosen)
        print(why or f"{len(chosen) - len(wrong)} of {len(chosen)} scripts agree on {surface.name}", *wrong, sep="\n")
        bad += bool(wrong) or not (chosen or why)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
