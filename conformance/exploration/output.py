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
from conformance.execution.pool import WorkerPool
from conformance.execution.results_file import ResultsFile
from conformance.execution.run import Run
from conformance.execution.selection import Selection
from conformance.exploration.candidate import Candidate
from conformance.exploration.conventions import conventions_of
from conformance.exploration.evaluation import Evaluator, LocalEvaluator
from conformance.exploration.findings import ExplorationFinding
from conformance.judging.expected import compute_expected
from conformance.system.atomic_write import make_folder, remove_file, write_in_folder
from conformance.translation.lowering import translate
from conformance.translation.repro import repro_script
from reports.results.reader import load_report
from reports.views.exploration_markdown import render_findings_page

MAX_CASE_LINE_WIDTH = 116
CATALOGUE_FOLDERS = (("conv", "convolution"), ("pad", "padding"))


FINAL_REPEATS = 3
"""How often the smallest case of a finding is run in the end, to see whether it is the same every time."""


class FindingsRun(Run):
    """A run of the smallest cases of findings, whose header says what was explored and what was found."""

    exploration_record: Mapping[str, Any]

    def _header(self) -> dict[str, Any]:
        return {**super()._header(), "explored": self.exploration_record}

    def write_empty(self, path: Path, pool: WorkerPool) -> None:
        """Write a file without results: nothing was found where these workers are."""
        self.pool = pool
        with ResultsFile(path) as file:
            file.open(self._header())
            file.finish(0)


def prepare_folders(folder: Path, backend: str) -> None:
    """Make the folders that an exploration of a backend writes into. Raises ConformanceError if it could not."""
    for part in ("", "results", f"cases/{backend}", f"repro/{backend}"):
        make_folder(folder / part)


def clear_folders(folder: Path, backend: str) -> None:
    """Remove the cases and the scripts that an earlier exploration of a backend has left. Raises ConformanceError."""
    cases, scripts = (folder / "cases" / backend).glob("*/*.yaml"), (folder / "repro" / backend).glob("*.py")
    for path in (*cases, *scripts):
        remove_file(path)


def write_exploration(
    folder: Path, evaluator: Evaluator, findings: Sequence[ExplorationFinding], explored: Mapping[str, Any]
) -> list[Path]:
    """Write all that an exploration of a backend leaves below a folder; return the files, the results first."""
    name = evaluator.backend.name
    kept = write_cases_and_scripts(folder, evaluator.backend, findings)
    scripts = {one.id: text for one in findings if (text := _finding_script(evaluator.backend, one))}
    header = {**explored, "findings": [finding_record(one, scripts.get(one.id, "")) for one in findings]}
    results, page = folder / "results" / f"{name}.jsonl", folder / f"{name}.md"
    write_in_folder(results, *evaluator.map(run_findings, [([one.candidate for one in findings], header)]))
    write_in_folder(page, render_findings_page(load_report([results], allow_mixed=True).explorations[0]))
    return [results, *kept, page]


def write_cases_and_scripts(folder: Path, backend: Backend, findings: Sequence[ExplorationFinding]) -> list[Path]:
    """Write the cases and the scripts of findings below a folder, for which nothing need be run; return the files."""
    scripts = {f"repro/{backend.name}/{one.id}.py": text for one in findings if (text := _finding_script(backend, one))}
    files = {**_case_file_texts(backend.name, findings), **scripts}
    for path, text in files.items():
        write_in_folder(folder / path, text)
    return [folder / path for path in files]


def run_findings(evaluator: LocalEvaluator, candidates: Sequence[Candidate], explored: Mapping[str, Any]) -> bytes:
    """Run the smallest cases of findings, and return the results file."""
    cases = {recipe.case.id: recipe.case for recipe in candidates}
    run = FindingsRun(
        evaluator.backend, Catalogue(tuple(cases.values())), evaluator.ledger, Selection("exhaustive"),
        python=evaluator.python, limits=evaluator.limits, jobs=1, repeat=FINAL_REPEATS,
    )  # fmt: skip
    run.exploration_record = explored
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        path = Path(folder) / "found.jsonl"
        if candidates:
            run.execute(path)
        else:
            run.write_empty(path, evaluator.pool)
        return path.read_bytes()


def finding_record(finding: ExplorationFinding, script: str = "") -> dict[str, Any]:
    """Return a finding as results files have it; script: what shows its smallest case with the framework alone."""
    return {
        "id": finding.id,
        "case": finding.candidate.case.id,
        "operator": finding.operator,
        "surfaces": list(finding.surfaces),
        "way": finding.symptom,
        "sentence": finding.sentence,
        "conditions": None if finding.conditions is None else list(finding.conditions),
        "true": sorted(finding.features),
        "first": finding.first_number,
        "covers": finding.explained_count,
        "said": finding.message,
        "case_text": finding_case_text(finding),
        "script": script,
    }


def catalogue_folder_of(operator: str) -> str:
    """Return the folder of the catalogue in which an operator stands."""
    if operator.endswith("_grad"):
        return "gradients"
    return next((folder for word, folder in CATALOGUE_FOLDERS if operator.startswith(word)), "pooling")


def finding_case_text(finding: ExplorationFinding, *same: ExplorationFinding) -> str:
    """Return the smallest case of a finding, and of others that have the same, as an item of a file's `cases`."""
    raw = finding.candidate.raw_case
    about = " ".join(one.sentence for one in (finding, *same))
    return case_item_text(
        {"id": raw["id"], "about": about, **{key: value for key, value in raw.items() if key != "id"}}
    )


def case_item_text(raw: Mapping[str, Any]) -> str:
    """Return a case as YAML, indented as in a catalogue file."""
    text = yaml.dump(
        _yaml_value(raw), Dumper=_NoAliasDumper, sort_keys=False, width=MAX_CASE_LINE_WIDTH, default_flow_style=None
    )
    lines = text.splitlines()
    return "".join(f"{'  - ' if number == 0 else '    '}{line}\n" for number, line in enumerate(lines))


class _NoAliasDumper(yaml.SafeDumper):
    """Writes a list again wherever it stands: a catalogue takes no aliases."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _yaml_value(value: Any) -> Any:
    """Return a value in the types that YAML knows."""
    if isinstance(value, Mapping):
        return {key: _yaml_value(item) for key, item in value.items()}
    if isinstance(value, Decimal):
        return float(value)
    return [_yaml_value(item) for item in value] if isinstance(value, (list, tuple)) else value


def _case_file_texts(backend: str, findings: Iterable[ExplorationFinding]) -> dict[str, str]:
    """Return the texts of case files, a folder for each backend: several may find the same case."""
    texts: dict[str, str] = {}
    for same in _findings_by_case(findings):
        operator = same[0].operator
        path = f"cases/{backend}/{catalogue_folder_of(operator)}/{operator}.yaml"
        head = f"operator: {operator}\nsource: found by exploring\n\ncases:\n"
        names = "".join(f"  # {one.id}\n" for one in same)
        puts = "".join(f"  # puts {question}\n" for question in conventions_of(same[0].candidate))
        texts[path] = texts.get(path, head) + names + puts + finding_case_text(*same)
    return texts


def _findings_by_case(findings: Iterable[ExplorationFinding]) -> Iterable[list[ExplorationFinding]]:
    """Return findings that have the same smallest case together: it differs from the reference, and breaks a law."""
    found: dict[str, list[ExplorationFinding]] = {}
    for finding in findings:
        found.setdefault(finding.candidate.case.id, []).append(finding)
    return found.values()


def _finding_script(backend: Backend, finding: ExplorationFinding) -> str:
    """Return a script for a finding on the first of its surfaces, "" where no program can be written."""
    surface = next(one for one in backend.surfaces if one.name == finding.surfaces[0])
    program = translate(finding.candidate.case, surface)
    if not isinstance(program, Program):
        return ""
    return repro_script(finding.candidate.case, compute_expected(finding.candidate.case), backend, program)
