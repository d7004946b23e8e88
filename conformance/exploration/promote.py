"""From a finding to a case of the catalogue: its text goes into the file of its operator, all else stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance import ConformanceError
from conformance.cases.yaml_reader import YamlDocument, read_text, read_yaml
from conformance.catalogue import loading
from conformance.exploration.output import case_item_text, catalogue_folder_of
from conformance.system.atomic_write import write_in_folder

FINDING_COMMENT = re.compile(r"^  # (\S+)$", re.MULTILINE)
CONVENTIONS_COMMENT = re.compile(r"^  # puts (.+)$", re.MULTILINE)
TOP_LEVEL_KEY = re.compile(r"^(?=\w)", re.MULTILINE)


def promote_finding(found: Path, finding: str, home: Path, name: str = "") -> tuple[Path, str]:
    """Write the smallest case of a finding into a catalogue; return the file and the id of the case.

    found: what `explore` wrote; home: the folder of the catalogue; name: the id of the case, beside its operator.
    Raises ConformanceError where there is no such finding, where the catalogue would not be sound with it, or where it
    puts a question: as a plain case it would hold surfaces to the reference that may answer otherwise.
    """
    operator, raw, questions = _find_case(found, finding)
    if questions:
        said = f"puts the question {' and '.join(questions)}, so it must become a case of that question"
        raise ConformanceError(f"finding {finding} {said}")
    raw = {**raw, "id": name or raw["id"]}
    path = home / catalogue_folder_of(operator) / f"{operator}.yaml"
    if not path.is_file():
        raise ConformanceError(f"{path}: no such file, {finding} is a case of {operator}")
    before = read_text(path)
    _, told_before = loading.load_with_errors([home])
    write_in_folder(path, _append_case(before, case_item_text(raw)))
    _, told = loading.load_with_errors([home])
    new = [line for line in told if line not in told_before]
    if new:
        write_in_folder(path, before)
        raise ConformanceError(f"{finding} is not promoted: {new[0]}")
    return path, f"{operator}/{raw['id']}"


def _find_case(found: Path, finding: str) -> tuple[str, dict[str, Any], list[str]]:
    """Return the operator of a finding, the case that follows a comment with its name, and the questions it puts."""
    files = sorted((found / "cases").glob("*/*/*.yaml"))
    if not files:
        raise ConformanceError(f"{found}: no findings in it (conformance explore writes them)")
    known: list[str] = []
    for path in files:
        document = _read_findings_file(path)
        for raw, above in _iterate_cases(document):
            if finding in (names := FINDING_COMMENT.findall(above)):
                return document.data["operator"], raw, CONVENTIONS_COMMENT.findall(above)
            known += names
    raise ConformanceError(f"finding {finding!r}: not one of {', '.join(known)}")


def _read_findings_file(path: Path) -> YamlDocument:
    """Read a file that exploring wrote. Raises ConformanceError if it is none."""
    document = read_yaml(path)
    data = document.data if isinstance(document.data, dict) else {}
    if not isinstance(data.get("operator"), str):
        raise ConformanceError(f"{path}: no operator in it")
    cases = data.get("cases")
    if not isinstance(cases, list) or not all(isinstance(raw, dict) and raw.get("id") for raw in cases):
        raise ConformanceError(f"{path}: no cases in it, or some without an id")
    return document


def _iterate_cases(document: YamlDocument) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each case of a file, with the lines between the beginning of the one before and its own."""
    lines, start = read_text(document.path).split("\n"), 0
    for number, raw in enumerate(document.data["cases"]):
        end = document.line_of(("cases", number)) - 1
        yield raw, "\n".join(lines[start:end])
        start = end


def _append_case(text: str, item: str) -> str:
    """Return the text of a catalogue file with one case more, behind the others."""
    start = re.search(r"^cases:[ \t]*\n", text, re.MULTILINE)
    if not start:
        return f"{text.rstrip()}\n\ncases:\n{item}"
    following = TOP_LEVEL_KEY.search(text, start.end())
    end = following.start() if following else len(text)
    cases, rest = text[:end].rstrip(), text[end:]
    return f"{cases}\n\n{item}" + (f"\n{rest}" if rest else "")
