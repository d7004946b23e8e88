"""What an exploration leaves: a results file, cases as a catalogue has them, scripts, and a page of findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from conformance.adapter import Backend, Program
from conformance.catalogue import Catalogue
from conformance.expected import expected
from conformance.explore.findings import Finding
from conformance.explore.lab import Lab
from conformance.files import put
from conformance.repro import script
from conformance.runner import Run
from conformance.selection import Selection
from conformance.translate import translate

WIDTH = 116
FAMILIES = (("conv", "convolution"), ("pad", "padding"))


class FoundRun(Run):
    """A run of the smallest cases of findings, whose header says what was explored and what was found."""

    explored: Mapping[str, Any]

    def _header(self) -> dict[str, Any]:
        return {**super()._header(), "explored": self.explored}


def write(folder: Path, lab: Lab, findings: Sequence[Finding], explored: Mapping[str, Any]) -> list[Path]:
    """Write all that an exploration of a backend leaves below a folder; return the files, the results first."""
    name = lab.backend.name
    results = folder / "results" / f"{name}.jsonl"
    written = [results] if findings else []
    if findings:
        cases = {one.recipe.case.id: one.recipe.case for one in findings}
        run = FoundRun(
            lab.backend, Catalogue(tuple(cases.values())), lab.ledger, Selection("exhaustive"),
            python=lab.python, limits=lab.limits, jobs=1,
        )  # fmt: skip
        run.explored = {**explored, "findings": [record(one) for one in findings]}
        run.execute(results)
    for path, text in {**_case_files(findings), **_scripts(lab.backend, findings)}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        put(folder / path, text)
        written.append(folder / path)
    page = folder / f"{name}.md"
    folder.mkdir(parents=True, exist_ok=True)
    put(page, markdown(lab, findings, explored))
    return [*written, page]


def record(finding: Finding) -> dict[str, Any]:
    """Return a finding as results files have it."""
    return {
        "id": finding.id,
        "case": finding.recipe.case.id,
        "operator": finding.operator,
        "surfaces": list(finding.surfaces),
        "way": finding.way,
        "sentence": finding.sentence,
        "conditions": None if finding.conditions is None else list(finding.conditions),
        "first": finding.first,
        "covers": finding.covers,
    }


def family(operator: str) -> str:
    """Return the folder of the catalogue in which an operator stands."""
    if operator.endswith("_grad"):
        return "gradients"
    return next((folder for word, folder in FAMILIES if operator.startswith(word)), "pooling")


def case_text(finding: Finding, name: str = "") -> str:
    """Return the smallest case of a finding as an item of a catalogue file's `cases`; name: its id, if another one."""
    raw = {**finding.recipe.raw, "about": finding.sentence}
    first = {"id": name or raw.pop("id"), "about": raw.pop("about")}
    return item_text({**first, **{key: value for key, value in raw.items() if key != "id"}})


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


def _case_files(findings: Iterable[Finding]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for finding in findings:
        path = f"cases/{family(finding.operator)}/{finding.operator}.yaml"
        head = f"operator: {finding.operator}\nsource: found by exploring\n\ncases:\n"
        texts[path] = texts.get(path, head) + f"  # {finding.id}\n" + case_text(finding)
    return texts


def _scripts(backend: Backend, findings: Iterable[Finding]) -> dict[str, str]:
    """Return a script for each finding, on the first of its surfaces."""
    texts = {}
    for finding in findings:
        surface = next(one for one in backend.surfaces if one.name == finding.surfaces[0])
        program = translate(finding.recipe.case, surface)
        if isinstance(program, Program):
            wanted = expected(finding.recipe.case)
            texts[f"repro/{finding.id}.py"] = script(finding.recipe.case, wanted, backend, program)
    return texts


def markdown(lab: Lab, findings: Sequence[Finding], explored: Mapping[str, Any]) -> str:
    """Return a page with a text for each finding, as an issue for those who make the framework has it."""
    where = lab.crew.environment
    versions = ", ".join(f"{name} {version}" for name, version in where["packages"].items())
    seed, cases = explored["seed"], explored["cases"]
    head = f"# What exploring {lab.backend.name} found\n\n{versions}; {cases:,} cases, seed {seed}.\n"
    texts = _scripts(lab.backend, findings)
    return head + "".join(_issue(one, texts.get(f"repro/{one.id}.py", ""), versions) for one in findings)


def _issue(finding: Finding, text: str, versions: str) -> str:
    said = f"\nIt said: `{finding.message.splitlines()[0][:200]}`\n" if finding.message else ""
    return (
        f"\n## {finding.id}\n\n{finding.sentence}\n{said}\nThe smallest case that was found, with {versions}"
        f" ({finding.covers:,} of the cases tried are explained by it):\n\n```yaml\n{case_text(finding)}```\n"
        f"\n<details><summary>A script that needs the framework and NumPy alone</summary>\n\n```python\n{text}```\n\n"
        "</details>\n"
    )
