"""What an exploration leaves: a results file, cases as a catalogue has them, scripts, and a page of findings."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from conformance.adapters.api.surface import Backend, Program
from conformance.catalogue.loading import Catalogue
from conformance.execution.pool import Crew
from conformance.execution.results_file import ResultsFile
from conformance.execution.run import Run
from conformance.execution.selection import Selection
from conformance.exploration.candidate import Recipe
from conformance.exploration.conventions import asked
from conformance.exploration.evaluation import Bench, Lab
from conformance.exploration.findings import Finding
from conformance.judging.expected import expected
from conformance.system.atomic_write import make, put_below, remove
from conformance.translation.lowering import translate
from conformance.translation.repro import script
from reports.results.reader import load
from reports.views.exploration_markdown import render_findings

WIDTH = 116
FAMILIES = (("conv", "convolution"), ("pad", "padding"))


TIMES = 3
"""How often the smallest case of a finding is run in the end, to see whether it is the same every time."""


class FoundRun(Run):
    """A run of the smallest cases of findings, whose header says what was explored and what was found."""

    explored: Mapping[str, Any]

    def _header(self) -> dict[str, Any]:
        return {**super()._header(), "explored": self.explored}

    def execute_none(self, path: Path, crew: Crew) -> None:
        """Write a file without results: nothing was found where these workers are."""
        self.worker = crew
        with ResultsFile(path) as file:
            file.open(self._header())
            file.finish(0)


def prepare(folder: Path, backend: str) -> None:
    """Make the folders that an exploration of a backend writes into. Raises ConformanceError if it could not."""
    for part in ("", "results", f"cases/{backend}", f"repro/{backend}"):
        make(folder / part)


def clear(folder: Path, backend: str) -> None:
    """Remove the cases and the scripts that an earlier exploration of a backend has left. Raises ConformanceError."""
    cases, scripts = (folder / "cases" / backend).glob("*/*.yaml"), (folder / "repro" / backend).glob("*.py")
    for path in (*cases, *scripts):
        remove(path)


def write(folder: Path, lab: Bench, findings: Sequence[Finding], explored: Mapping[str, Any]) -> list[Path]:
    """Write all that an exploration of a backend leaves below a folder; return the files, the results first."""
    name = lab.backend.name
    kept = keep(folder, lab.backend, findings)
    scripts = {one.id: text for one in findings if (text := _script(lab.backend, one))}
    header = {**explored, "findings": [record(one, scripts.get(one.id, "")) for one in findings]}
    results, page = folder / "results" / f"{name}.jsonl", folder / f"{name}.md"
    put_below(results, *lab.each(results_file, [([one.recipe for one in findings], header)]))
    put_below(page, render_findings(load([results], mixed=True).explored[0]))
    return [results, *kept, page]


def keep(folder: Path, backend: Backend, findings: Sequence[Finding]) -> list[Path]:
    """Write the cases and the scripts of findings below a folder, for which nothing need be run; return the files."""
    scripts = {f"repro/{backend.name}/{one.id}.py": text for one in findings if (text := _script(backend, one))}
    files = {**_case_files(backend.name, findings), **scripts}
    for path, text in files.items():
        put_below(folder / path, text)
    return [folder / path for path in files]


def results_file(lab: Lab, recipes: Sequence[Recipe], explored: Mapping[str, Any]) -> bytes:
    """Run the smallest cases of findings, and return the results file."""
    cases = {recipe.case.id: recipe.case for recipe in recipes}
    run = FoundRun(
        lab.backend, Catalogue(tuple(cases.values())), lab.ledger, Selection("exhaustive"),
        python=lab.python, limits=lab.limits, jobs=1, repeat=TIMES,
    )  # fmt: skip
    run.explored = explored
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        path = Path(folder) / "found.jsonl"
        if recipes:
            run.execute(path)
        else:
            run.execute_none(path, lab.crew)
        return path.read_bytes()


def record(finding: Finding, script: str = "") -> dict[str, Any]:
    """Return a finding as results files have it; script: what shows its smallest case with the framework alone."""
    return {
        "id": finding.id,
        "case": finding.recipe.case.id,
        "operator": finding.operator,
        "surfaces": list(finding.surfaces),
        "way": finding.way,
        "sentence": finding.sentence,
        "conditions": None if finding.conditions is None else list(finding.conditions),
        "true": sorted(finding.true),
        "first": finding.first,
        "covers": finding.covers,
        "said": finding.message,
        "case_text": case_text(finding),
        "script": script,
    }


def family(operator: str) -> str:
    """Return the folder of the catalogue in which an operator stands."""
    if operator.endswith("_grad"):
        return "gradients"
    return next((folder for word, folder in FAMILIES if operator.startswith(word)), "pooling")


def case_text(finding: Finding, *same: Finding) -> str:
    """Return the smallest case of a finding, and of others that have the same, as an item of a file's `cases`."""
    raw = finding.recipe.raw
    about = " ".join(one.sentence for one in (finding, *same))
    return item_text({"id": raw["id"], "about": about, **{key: value for key, value in raw.items() if key != "id"}})


def item_text(raw: Mapping[str, Any]) -> str:
    """Return a case as YAML, indented as in a catalogue file."""
    text = yaml.dump(_plain(raw), Dumper=_Whole, sort_keys=False, width=WIDTH, default_flow_style=None)
    lines = text.splitlines()
    return "".join(f"{'  - ' if number == 0 else '    '}{line}\n" for number, line in enumerate(lines))


class _Whole(yaml.SafeDumper):
    """Writes a list again wherever it stands: a catalogue takes no aliases."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _plain(value: Any) -> Any:
    """Return a value in the types that YAML knows."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Decimal):
        return float(value)
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _case_files(backend: str, findings: Iterable[Finding]) -> dict[str, str]:
    """Return the texts of case files, a folder for each backend: several may find the same case."""
    texts: dict[str, str] = {}
    for same in _by_case(findings):
        operator = same[0].operator
        path = f"cases/{backend}/{family(operator)}/{operator}.yaml"
        head = f"operator: {operator}\nsource: found by exploring\n\ncases:\n"
        names = "".join(f"  # {one.id}\n" for one in same)
        puts = "".join(f"  # puts {question}\n" for question in asked(same[0].recipe))
        texts[path] = texts.get(path, head) + names + puts + case_text(*same)
    return texts


def _by_case(findings: Iterable[Finding]) -> Iterable[list[Finding]]:
    """Return findings that have the same smallest case together: it differs from the reference, and breaks a law."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.recipe.case.id, []).append(finding)
    return found.values()


def _script(backend: Backend, finding: Finding) -> str:
    """Return a script for a finding on the first of its surfaces, "" where no program can be written."""
    surface = next(one for one in backend.surfaces if one.name == finding.surfaces[0])
    program = translate(finding.recipe.case, surface)
    if not isinstance(program, Program):
        return ""
    return script(finding.recipe.case, expected(finding.recipe.case), backend, program)
