"""From a finding to a case of the catalogue: its text goes into the file of its operator, all else stays as it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from conformance import catalogue
from conformance.errors import ConformanceError
from conformance.explore.output import family, item_text
from conformance.files import put_below
from conformance.yaml_reader import read, text_of

TOP = re.compile(r"^(?=\w)", re.MULTILINE)


def promote(found: Path, finding: str, home: Path, name: str = "") -> tuple[Path, str]:
    """Write the smallest case of a finding into a catalogue; return the file and the id of the case.

    found: what `explore` wrote; home: the folder of the catalogue; name: the id of the case, beside its operator.
    Raises ConformanceError where there is no such finding, or where the catalogue would not be sound with it.
    """
    operator, raw = _case(found, finding)
    raw = {**raw, "id": name or raw["id"]}
    path = home / family(operator) / f"{operator}.yaml"
    if not path.is_file():
        raise ConformanceError(f"{path}: no such file, {finding} is a case of {operator}")
    before = text_of(path)
    _, told_before = catalogue.examine([home])
    put_below(path, _with_case(before, item_text(raw)))
    _, told = catalogue.examine([home])
    new = [line for line in told if line not in told_before]
    if new:
        put_below(path, before)
        raise ConformanceError(f"{finding} is not promoted: {new[0]}")
    return path, f"{operator}/{raw['id']}"


def _case(found: Path, finding: str) -> tuple[str, dict[str, Any]]:
    """Return the operator and the case of a finding, from the file that has its name in a comment."""
    files = sorted((found / "cases").glob("*/*/*.yaml"))
    if not files:
        raise ConformanceError(f"{found}: no findings in it (conformance explore writes them)")
    known = []
    for path in files:
        names = re.findall(r"^  # (\S+)$", text_of(path), re.MULTILINE)
        known += names
        if finding in names:
            operator, cases = _read(path)
            return operator, dict(cases[names.index(finding)])
    raise ConformanceError(f"finding {finding!r}: not one of {', '.join(known)}")


def _read(path: Path) -> tuple[str, list[dict[str, Any]]]:
    """Return the operator and the cases of a file that exploring wrote. Raises ConformanceError if it is none."""
    data = read(path).data
    operator, cases = (data.get("operator"), data.get("cases")) if isinstance(data, dict) else (None, None)
    if not isinstance(operator, str):
        raise ConformanceError(f"{path}: no operator in it")
    if not isinstance(cases, list) or not all(isinstance(raw, dict) and raw.get("id") for raw in cases):
        raise ConformanceError(f"{path}: no cases in it, or some without an id")
    return operator, cases


def _with_case(text: str, item: str) -> str:
    """Return the text of a catalogue file with one case more, behind the others."""
    start = re.search(r"^cases:[ \t]*\n", text, re.MULTILINE)
    if not start:
        return f"{text.rstrip()}\n\ncases:\n{item}"
    following = TOP.search(text, start.end())
    end = following.start() if following else len(text)
    cases, rest = text[:end].rstrip(), text[end:]
    return f"{cases}\n\n{item}" + (f"\n{rest}" if rest else "")
