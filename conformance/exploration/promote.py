"""Promote a finding to a case of the catalogue: append its smallest case to the file of its operator."""

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


def promote_finding(explored: Path, finding: str, catalogue: Path, name: str = "") -> tuple[Path, str]:
    """Write the smallest case of a finding into a catalogue; return the file and the id of the case.

    explored: output folder of `explore`. catalogue: folder of the catalogue. name: id of the case without its operator.

    Raises ConformanceError if the finding does not exist, if the catalogue would become invalid, or if the case
    observes a convention. The promoted case would require the answer of the reference from every surface.
    """
    operator, raw, observed = _find_case(explored, finding)
    if observed:
        reason = f"observes the convention {' and '.join(observed)}; add it by hand as a convention case"
        raise ConformanceError(f"finding {finding} {reason}")
    raw = {**raw, "id": name or raw["id"]}
    path = catalogue / catalogue_folder_of(operator) / f"{operator}.yaml"
    if not path.is_file():
        raise ConformanceError(f"{path}: no such file; the case of finding {finding} belongs there")
    text_before = read_text(path)
    _, errors_before = loading.load_with_errors([catalogue])
    write_in_folder(path, _append_case(text_before, case_item_text(raw)))
    _, errors = loading.load_with_errors([catalogue])
    # A catalogue in progress may have errors already; only new ones prevent the promotion.
    new_errors = [error for error in errors if error not in errors_before]
    if new_errors:
        write_in_folder(path, text_before)
        raise ConformanceError(f"finding {finding} cannot be promoted: {new_errors[0]}")
    return path, f"{operator}/{raw['id']}"


def _find_case(explored: Path, finding: str) -> tuple[str, dict[str, Any], list[str]]:
    """Return the operator of a finding, its smallest case, and the conventions that the case observes.

    The findings and conventions of a case are in the comments above it.
    """
    files = sorted((explored / "cases").glob("*/*/*.yaml"))
    if not files:
        raise ConformanceError(f"{explored}: contains no findings (conformance explore writes them)")
    known: list[str] = []
    for path in files:
        document = _read_findings_file(path)
        for raw, above in _iterate_cases(document):
            if finding in (names := FINDING_COMMENT.findall(above)):
                return document.data["operator"], raw, CONVENTIONS_COMMENT.findall(above)
            known += names
    raise ConformanceError(f"no finding {finding!r}; the findings are {', '.join(known)}")


def _read_findings_file(path: Path) -> YamlDocument:
    """Read a case file of an exploration. Raises ConformanceError if it has another format."""
    document = read_yaml(path)
    data = document.data if isinstance(document.data, dict) else {}
    if not isinstance(data.get("operator"), str):
        raise ConformanceError(f"{path}: operator is missing")
    cases = data.get("cases")
    if not isinstance(cases, list) or not all(isinstance(raw, dict) and raw.get("id") for raw in cases):
        raise ConformanceError(f"{path}: cases are missing, or a case has no id")
    return document


def _iterate_cases(document: YamlDocument) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each case of a file with the text from the start of the previous case to its own start."""
    lines, start = read_text(document.path).split("\n"), 0
    for number, raw in enumerate(document.data["cases"]):
        end = document.line_of(("cases", number)) - 1
        yield raw, "\n".join(lines[start:end])
        start = end


def _append_case(text: str, item: str) -> str:
    """Return the text of a catalogue file with one more case at the end of `cases:`."""
    start = re.search(r"^cases:[ \t]*\n", text, re.MULTILINE)
    if not start:
        return f"{text.rstrip()}\n\ncases:\n{item}"
    following = TOP_LEVEL_KEY.search(text, start.end())
    end = following.start() if following else len(text)
    cases, rest = text[:end].rstrip(), text[end:]
    return f"{cases}\n\n{item}" + (f"\n{rest}" if rest else "")
