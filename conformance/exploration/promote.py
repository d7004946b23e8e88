"""From a finding to a case of the catalogue: its text goes into the file of its operator, all else stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance import ConformanceError
from conformance.cases.yaml_reader import Document, read, text_of
from conformance.catalogue import loading
from conformance.exploration.output import family, item_text
from conformance.system.atomic_write import put_below

NAME = re.compile(r"^  # (\S+)$", re.MULTILINE)
PUTS = re.compile(r"^  # puts (.+)$", re.MULTILINE)
TOP = re.compile(r"^(?=\w)", re.MULTILINE)


def promote(found: Path, finding: str, home: Path, name: str = "") -> tuple[Path, str]:
    """Write the smallest case of a finding into a catalogue; return the file and the id of the case.

    found: what `explore` wrote; home: the folder of the catalogue; name: the id of the case, beside its operator.
    Raises ConformanceError where there is no such finding, where the catalogue would not be sound with it, or where it
    puts a question: as a plain case it would hold surfaces to the reference that may answer otherwise.
    """
    operator, raw, questions = _case(found, finding)
    if questions:
        said = f"puts the question {' and '.join(questions)}, so it must become a case of that question"
        raise ConformanceError(f"finding {finding} {said}")
    raw = {**raw, "id": name or raw["id"]}
    path = home / family(operator) / f"{operator}.yaml"
    if not path.is_file():
        raise ConformanceError(f"{path}: no such file, {finding} is a case of {operator}")
    before = text_of(path)
    _, told_before = loading.examine([home])
    put_below(path, _with_case(before, item_text(raw)))
    _, told = loading.examine([home])
    new = [line for line in told if line not in told_before]
    if new:
        put_below(path, before)
        raise ConformanceError(f"{finding} is not promoted: {new[0]}")
    return path, f"{operator}/{raw['id']}"


def _case(found: Path, finding: str) -> tuple[str, dict[str, Any], list[str]]:
    """Return the operator of a finding, the case that follows a comment with its name, and the questions it puts."""
    files = sorted((found / "cases").glob("*/*/*.yaml"))
    if not files:
        raise ConformanceError(f"{found}: no findings in it (conformance explore writes them)")
    known: list[str] = []
    for path in files:
        document = _read(path)
        for raw, above in _cases(document):
            if finding in (names := NAME.findall(above)):
                return document.data["operator"], raw, PUTS.findall(above)
            known += names
    raise ConformanceError(f"finding {finding!r}: not one of {', '.join(known)}")


def _read(path: Path) -> Document:
    """Read a file that exploring wrote. Raises ConformanceError if it is none."""
    document = read(path)
    data = document.data if isinstance(document.data, dict) else {}
    if not isinstance(data.get("operator"), str):
        raise ConformanceError(f"{path}: no operator in it")
    cases = data.get("cases")
    if not isinstance(cases, list) or not all(isinstance(raw, dict) and raw.get("id") for raw in cases):
        raise ConformanceError(f"{path}: no cases in it, or some without an id")
    return document


def _cases(document: Document) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each case of a file, with the lines between the beginning of the one before and its own."""
    lines, start = text_of(document.path).split("\n"), 0
    for number, raw in enumerate(document.data["cases"]):
        end = document.line(("cases", number)) - 1
        yield raw, "\n".join(lines[start:end])
        start = end


def _with_case(text: str, item: str) -> str:
    """Return the text of a catalogue file with one case more, behind the others."""
    start = re.search(r"^cases:[ \t]*\n", text, re.MULTILINE)
    if not start:
        return f"{text.rstrip()}\n\ncases:\n{item}"
    following = TOP.search(text, start.end())
    end = following.start() if following else len(text)
    cases, rest = text[:end].rstrip(), text[end:]
    return f"{cases}\n\n{item}" + (f"\n{rest}" if rest else "")
