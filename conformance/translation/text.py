"""Translations as text for a terminal, as a Markdown page, and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from conformance.cases.case import Case
from conformance.translation.ad_hoc_case import size_text
from conformance.translation.side_by_side import Translation, program_with_setup

TRANSLATION_TEXT_WIDTH = 110
TRANSLATIONS_FORMAT = 1


@dataclass(frozen=True)
class TranslatedCase:
    """What is translated: a case, what is to be said of how it was asked for, and whether the suite chose its shape."""

    case: Case
    notes: Sequence[str] = ()
    has_default_shape: bool = False

    @property
    def heading(self) -> str:
        """What the case is, in a line: its operator, every parameter, and its inputs."""
        case = self.case
        parameters = [_parameter_text(name, value) for name, value in case.parameters.items() if value is not None]
        shapes = ", ".join(f"{name} {list(spec.shape)}" for name, spec in case.inputs.items())
        usual = "; the shape is chosen, --shape gives another" if self.has_default_shape else ""
        return f"{', '.join([case.operator, *parameters])}; for {shapes} in {case.dtype}{usual}"


def _parameter_text(name: str, value: Any) -> str:
    if name == "count_include_pad":
        return "padding counts" if value else "padding does not count"
    return f"{name.replace('_', ' ')} {size_text(value)}"


def text_lines(about: TranslatedCase, found: Sequence[Translation]) -> Iterator[str]:
    """Yield the lines for a terminal: programs one after the other, everything else in comments."""
    yield from _comment_lines(about.heading, "")
    yield from (line for note in about.notes for line in _comment_lines(note, ""))
    for one in found:
        yield ""
        yield from _unsupported_lines(one) if one.program is None else _program_lines(one, about.case)


def _unsupported_lines(one: Translation) -> Iterator[str]:
    yield f"# {one.surface.name}: unsupported: {one.reason}{f' ({one.issue})' if one.issue else ''}"


def _program_lines(one: Translation, case: Case) -> Iterator[str]:
    assert one.program is not None  # noqa: S101 - asked before
    shapes = ", ".join(f"{name} {list(spec.shape)}" for name, spec in case.inputs.items())
    yield f"# {one.surface.name}: {one.program.how}, for {shapes}"
    yield from _comment_lines(one.verified_text, "  ")
    yield from (line for warning in one.warnings for line in _comment_lines(f"! {warning}", "  "))
    yield from (line for remark in _remark_lines(one) for line in _comment_lines(f"- {remark}", "  "))
    yield program_with_setup(one.backend, one.program).rstrip("\n")


def _remark_lines(one: Translation) -> list[str]:
    return [*filter(None, [one.layout]), *one.remarks, *one.answers]


def _comment_lines(text: str, indent: str) -> list[str]:
    first, rest = f"# {indent}", f"# {indent}{'  ' * bool(indent)}"
    return textwrap.wrap(
        text,
        TRANSLATION_TEXT_WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def markdown_lines(about: TranslatedCase, found: Sequence[Translation]) -> Iterator[str]:
    """Yield the lines of a Markdown page."""
    yield from (f"# {about.case.operator}", "", f"{_as_sentence(about.heading)}")
    yield from (line for note in about.notes for line in ("", _as_sentence(note)))
    for one in found:
        if one.program is None:
            continue
        yield from ("", f"## {one.surface.name}: {one.program.how}", "", f"{_as_sentence(one.verified_text)}", "")
        yield from ("```python", program_with_setup(one.backend, one.program).rstrip("\n"), "```")
        told = [
            *(f"**{escape_markdown(warning)}**" for warning in one.warnings),
            *map(escape_markdown, _remark_lines(one)),
        ]
        yield from ([""] if told else [])
        yield from (f"- {line}" for line in told)
    missing = [one for one in found if one.program is None]
    if missing:
        yield from ("", "## Unsupported", "")
        yield from (f"- {one.surface.name}: {escape_markdown(one.reason)}{_issue_text(one)}" for one in missing)


def _issue_text(one: Translation) -> str:
    return f" ({one.issue})" if one.issue else ""


def _as_sentence(text: str) -> str:
    return escape_markdown(f"{text[:1].upper()}{text[1:]}.")


def escape_markdown(text: str) -> str:
    """Return text in which Markdown sees no emphasis and no table."""
    for character in "*_<>|":
        text = text.replace(character, f"\\{character}")
    return text


def translations_record(about: TranslatedCase, found: Sequence[Translation]) -> dict[str, Any]:
    """Return the translations as JSON has them."""
    case = about.case
    inputs = {name: {"shape": list(spec.shape), "dtype": spec.dtype} for name, spec in case.inputs.items()}
    return {
        "format": TRANSLATIONS_FORMAT,
        "case": case.id,
        "operator": case.operator,
        "parameters": case.parameters,
        "inputs": inputs,
        "shape_chosen": about.has_default_shape,
        "notes": list(about.notes),
        "surfaces": {one.surface.name: _translation_record(one) for one in found},
    }


def _translation_record(one: Translation) -> dict[str, Any]:
    if one.program is None:
        return {"how": None, "reason": one.reason, "issue": one.issue}
    return {
        "how": one.program.how,
        "program": program_with_setup(one.backend, one.program),
        "digest": one.program.digest,
        "verified": one.verified_text,
        "warnings": list(one.warnings),
        "layout": one.layout,
        "remarks": list(one.remarks),
        "answers": list(one.answers),
    }


LineWriter = Callable[..., Iterator[str]]
TEXT_FORMATS: Mapping[str, LineWriter] = MappingProxyType({"text": text_lines, "markdown": markdown_lines})
