"""Translations as text for a terminal, as a Markdown page, and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from conformance.cases.case import Case
from conformance.translation.ad_hoc_case import size_text
from conformance.translation.side_by_side import Translation, whole

WIDTH = 110
FORMAT = 1


@dataclass(frozen=True)
class About:
    """What is translated: a case, what is to be said of how it was asked for, and whether the suite chose its shape."""

    case: Case
    notes: Sequence[str] = ()
    chosen: bool = False

    @property
    def heading(self) -> str:
        """What the case is, in a line: its operator, every parameter, and its inputs."""
        case = self.case
        parameters = [_parameter(name, value) for name, value in case.parameters.items() if value is not None]
        shapes = ", ".join(f"{name} {list(spec.shape)}" for name, spec in case.inputs.items())
        usual = "; the shape is chosen, --shape gives another" if self.chosen else ""
        return f"{', '.join([case.operator, *parameters])}; for {shapes} in {case.dtype}{usual}"


def _parameter(name: str, value: Any) -> str:
    if name == "count_include_pad":
        return "padding counts" if value else "padding does not count"
    return f"{name.replace('_', ' ')} {size_text(value)}"


def plain(about: About, found: Sequence[Translation]) -> Iterator[str]:
    """Yield the lines for a terminal: programs one after the other, everything else in comments."""
    yield from _comment(about.heading, "")
    yield from (line for note in about.notes for line in _comment(note, ""))
    for one in found:
        yield ""
        yield from _unsupported(one) if one.program is None else _program(one, about.case)


def _unsupported(one: Translation) -> Iterator[str]:
    yield f"# {one.surface.name}: unsupported: {one.reason}{f' ({one.issue})' if one.issue else ''}"


def _program(one: Translation, case: Case) -> Iterator[str]:
    assert one.program is not None  # noqa: S101 - asked before
    shapes = ", ".join(f"{name} {list(spec.shape)}" for name, spec in case.inputs.items())
    yield f"# {one.surface.name}: {one.program.how}, for {shapes}"
    yield from _comment(one.verified, "  ")
    yield from (line for warning in one.warnings for line in _comment(f"! {warning}", "  "))
    yield from (line for remark in _told(one) for line in _comment(f"- {remark}", "  "))
    yield whole(one.backend, one.program).rstrip("\n")


def _told(one: Translation) -> list[str]:
    return [*filter(None, [one.layout]), *one.remarks, *one.answers]


def _comment(text: str, indent: str) -> list[str]:
    first, rest = f"# {indent}", f"# {indent}{'  ' * bool(indent)}"
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def markdown(about: About, found: Sequence[Translation]) -> Iterator[str]:
    """Yield the lines of a Markdown page."""
    yield from (f"# {about.case.operator}", "", f"{_sentence(about.heading)}")
    yield from (line for note in about.notes for line in ("", _sentence(note)))
    for one in found:
        if one.program is None:
            continue
        yield from ("", f"## {one.surface.name}: {one.program.how}", "", f"{_sentence(one.verified)}", "")
        yield from ("```python", whole(one.backend, one.program).rstrip("\n"), "```")
        told = [*(f"**{escaped(warning)}**" for warning in one.warnings), *map(escaped, _told(one))]
        yield from ([""] if told else [])
        yield from (f"- {line}" for line in told)
    missing = [one for one in found if one.program is None]
    if missing:
        yield from ("", "## Unsupported", "")
        yield from (f"- {one.surface.name}: {escaped(one.reason)}{_issue(one)}" for one in missing)


def _issue(one: Translation) -> str:
    return f" ({one.issue})" if one.issue else ""


def _sentence(text: str) -> str:
    return escaped(f"{text[:1].upper()}{text[1:]}.")


def escaped(text: str) -> str:
    """Return text in which Markdown sees no emphasis and no table."""
    for character in "*_<>|":
        text = text.replace(character, f"\\{character}")
    return text


def record(about: About, found: Sequence[Translation]) -> dict[str, Any]:
    """Return the translations as JSON has them."""
    case = about.case
    inputs = {name: {"shape": list(spec.shape), "dtype": spec.dtype} for name, spec in case.inputs.items()}
    return {
        "format": FORMAT,
        "case": case.id,
        "operator": case.operator,
        "parameters": case.parameters,
        "inputs": inputs,
        "shape_chosen": about.chosen,
        "notes": list(about.notes),
        "surfaces": {one.surface.name: _record(one) for one in found},
    }


def _record(one: Translation) -> dict[str, Any]:
    if one.program is None:
        return {"how": None, "reason": one.reason, "issue": one.issue}
    return {
        "how": one.program.how,
        "program": whole(one.backend, one.program),
        "digest": one.program.digest,
        "verified": one.verified,
        "warnings": list(one.warnings),
        "layout": one.layout,
        "remarks": list(one.remarks),
        "answers": list(one.answers),
    }


Lines = Callable[..., Iterator[str]]
FORMATS: Mapping[str, Lines] = MappingProxyType({"text": plain, "markdown": markdown})
