"""Write the output of an exploration: a results file, cases in catalogue format, scripts, and a page of findings."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml
from msgspec.structs import replace

from conformance.adapters.api import Backend, Program
from conformance.cases.operators import OPERATORS
from conformance.catalogue.loading import Catalogue
from conformance.execution.options import RunOptions
from conformance.execution.pool import WorkerPool
from conformance.execution.results_file import ResultsFile
from conformance.execution.run import Run
from conformance.execution.selection import Selection
from conformance.exploration.candidate import Candidate
from conformance.exploration.convention_domains import conventions_of
from conformance.exploration.evaluation import Evaluator, LocalEvaluator
from conformance.exploration.findings import ExplorationFinding
from conformance.judging.expected import compute_expected
from conformance.system.atomic_write import make_folder, remove_file, write_in_folder
from conformance.translation.lowering import translate
from conformance.translation.repro import repro_script
from reports.results import ExplorationRecord, FindingRecord, Header, Level, load_report
from reports.views.exploration_markdown import render_findings_page

MAX_CASE_LINE_WIDTH = 116
"""Maximum line length of a written case, without its indentation of four."""
FINAL_REPEATS = 3
"""Number of runs of each smallest case at the end, to detect flaky outcomes."""


class FindingsRun(Run):
    """A run of the smallest cases of findings. The header of its results file describes the exploration."""

    exploration_record: ExplorationRecord

    def _header(self) -> Header:
        return replace(super()._header(), explored=self.exploration_record)

    def write_empty(self, path: Path, pool: WorkerPool) -> None:
        """Write a results file without results, for an exploration without findings.

        pool: started workers, which supply the environment of the header.
        """
        self.pool = pool
        with ResultsFile(path) as file:
            file.open(self._header())
            file.finish(0)


def prepare_folders(folder: Path, backend: str) -> None:
    """Create the output folders of an exploration. Raises ConformanceError if a folder is not writable."""
    for part in ("", "results", f"cases/{backend}", f"repro/{backend}"):
        make_folder(folder / part)


def clear_folders(folder: Path, backend: str) -> None:
    """Delete the cases and scripts of an earlier exploration of a backend. Raises ConformanceError if this fails."""
    cases, scripts = (folder / "cases" / backend).glob("*/*.yaml"), (folder / "repro" / backend).glob("*.py")
    for path in (*cases, *scripts):
        remove_file(path)


def write_exploration(
    folder: Path, evaluator: Evaluator, findings: Sequence[ExplorationFinding], explored: ExplorationRecord
) -> list[Path]:
    """Write all output of an exploration into a folder; return the files, first the results file."""
    name = evaluator.backend.name
    clear_folders(folder, name)  # of findings that others explain by now
    case_files = write_cases_and_scripts(folder, evaluator.backend, findings)
    scripts = {one.id: text for one in findings if (text := _finding_script(evaluator.backend, one))}
    records = tuple(finding_record(one, scripts.get(one.id, "")) for one in findings)
    results, page = folder / "results" / f"{name}.jsonl", folder / f"{name}.md"
    candidates = [one.candidate for one in findings]
    # On a cluster a worker runs the cases: the client may not have the framework.
    write_in_folder(results, *evaluator.map(run_findings, [(candidates, replace(explored, findings=records))]))
    write_in_folder(page, render_findings_page(load_report([results], allow_mixed=True).explorations[0]))
    return [results, *case_files, page]


def write_cases_and_scripts(folder: Path, backend: Backend, findings: Sequence[ExplorationFinding]) -> list[Path]:
    """Write the cases and scripts of findings into a folder, without running anything; return the files."""
    scripts = {f"repro/{backend.name}/{one.id}.py": text for one in findings if (text := _finding_script(backend, one))}
    files = {**_case_file_texts(backend.name, findings), **scripts}
    for path, text in files.items():
        write_in_folder(folder / path, text)
    return [folder / path for path in files]


def run_findings(evaluator: LocalEvaluator, candidates: Sequence[Candidate], explored: ExplorationRecord) -> bytes:
    """Run the smallest cases of findings and return the content of the results file."""
    cases = {candidate.case.id: candidate.case for candidate in candidates}
    options = RunOptions(Selection(Level.EXHAUSTIVE), limits=evaluator.limits, jobs=1, repeat=FINAL_REPEATS)
    run = FindingsRun(
        evaluator.backend, Catalogue(tuple(cases.values())), evaluator.ledger, options, python=evaluator.python
    )
    run.exploration_record = explored
    # On a cluster this function runs on a worker, so it returns the content instead of a path.
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        path = Path(folder) / "found.jsonl"
        if candidates:
            run.execute(path)
        else:
            run.write_empty(path, evaluator.pool)
        return path.read_bytes()


def finding_record(finding: ExplorationFinding, script: str = "") -> FindingRecord:
    """Return the record of a finding in a results file; script: runs its smallest case without the suite."""
    return FindingRecord(
        id=finding.id,
        case=finding.candidate.case.id,
        operator=finding.operator,
        surfaces=tuple(finding.surfaces),
        symptom=str(finding.symptom),
        sentence=finding.sentence,
        conditions=None if finding.conditions is None else tuple(finding.conditions),
        features=tuple(sorted(finding.features)),
        first_number=finding.first_number,
        explained_count=finding.explained_count,
        message=finding.message,
        case_text=finding_case_text(finding),
        script=script,
    )


def catalogue_folder_of(operator: str) -> str:
    """Return the folder of the catalogue that contains an operator."""
    return OPERATORS[operator].family


def finding_case_text(finding: ExplorationFinding, *same: ExplorationFinding) -> str:
    """Return the smallest case of a finding as an item of `cases:` in a YAML file; of `rejects:` for an invalid call.

    same: other findings with the same smallest case.
    """
    candidate = finding.candidate
    raw, about = candidate.raw_case, " ".join(one.sentence for one in (finding, *same))
    if not candidate.violation:
        return case_item_text({"id": raw["id"], "about": about, **without_id(raw)})
    fault = {"id": raw["id"], "rejected": candidate.violation.name, **candidate.raw_changes}
    return case_item_text({"about": about, **without_id(raw), "faults": [fault]})


def without_id(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a raw case other than its id."""
    return {key: value for key, value in raw.items() if key != "id"}


def case_item_text(raw: Mapping[str, Any]) -> str:
    """Return a case as YAML, with the indentation of a catalogue file."""
    text = yaml.dump(
        _yaml_value(raw), Dumper=_NoAliasDumper, sort_keys=False, width=MAX_CASE_LINE_WIDTH, default_flow_style=None
    )
    lines = text.splitlines()
    return "".join(f"{'  - ' if number == 0 else '    '}{line}\n" for number, line in enumerate(lines))


class _NoAliasDumper(yaml.SafeDumper):
    """Writes repeated lists in full: catalogue files must not contain YAML aliases."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _yaml_value(value: Any) -> Any:
    """Return a value as types that YAML can represent."""
    if isinstance(value, Mapping):
        return {key: _yaml_value(item) for key, item in value.items()}
    if isinstance(value, Decimal):
        return float(value)
    return [_yaml_value(item) for item in value] if isinstance(value, (list, tuple)) else value


def _case_file_texts(backend: str, findings: Iterable[ExplorationFinding]) -> dict[str, str]:
    """Return the texts of case files by path. Each backend has a folder, as several backends may find the same case."""
    items: dict[str, dict[str, list[str]]] = {}
    for same in _findings_by_case(findings):
        operator, candidate = same[0].operator, same[0].candidate
        names = "".join(f"  # {one.id}\n" for one in same)
        puts = "".join(f"  # puts {convention_id}\n" for convention_id in conventions_of(candidate))
        key = "rejects" if candidate.violation else "cases"
        items.setdefault(operator, {}).setdefault(key, []).append(names + puts + finding_case_text(*same))
    return {
        f"cases/{backend}/{catalogue_folder_of(operator)}/{operator}.yaml": _case_file_text(operator, by_key)
        for operator, by_key in items.items()
    }


def _case_file_text(operator: str, items: Mapping[str, Sequence[str]]) -> str:
    """Return the text of a case file; items: by the key under which they are listed."""
    lists = "".join(f"\n{key}:\n{''.join(items[key])}" for key in ("cases", "rejects") if key in items)
    return f"operator: {operator}\nsource: found by exploring\n{lists}"


def _findings_by_case(findings: Iterable[ExplorationFinding]) -> Iterable[list[ExplorationFinding]]:
    """Return findings grouped by smallest case: a case may differ from the reference and violate a relation too."""
    groups: dict[str, list[ExplorationFinding]] = {}
    for finding in findings:
        groups.setdefault(finding.candidate.case.id, []).append(finding)
    return groups.values()


def _finding_script(backend: Backend, finding: ExplorationFinding) -> str:
    """Return a script that shows a finding on its first surface; "" if the surface has no program for the case."""
    surface = next(one for one in backend.surfaces if one.name == finding.surfaces[0])
    program = translate(finding.candidate.case, surface)
    if not isinstance(program, Program):
        return ""
    return repro_script(finding.candidate.case, compute_expected(finding.candidate.case), backend, program)
