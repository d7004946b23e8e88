"""Translations as text for a terminal, as a Markdown page, and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.adapters.api import Program
from conformance.cases.case import Case
from conformance.cases.operators import PARAMETERS
from conformance.translation.call_text import parameter_text
from conformance.translation.side_by_side import Translation, program_with_setup

TRANSLATION_TEXT_WIDTH = 110
"""Maximum width of comments on a terminal, in characters."""
TRANSLATIONS_FORMAT = 1
"""Version of the JSON format."""


@dataclass(frozen=True)
class TranslatedCase:
    """A translated case, with notes about its request; has_default_shape: whether the suite chose the shape."""

    case: Case
    notes: Sequence[str] = ()
    has_default_shape: bool = False

    @property
    def heading(self) -> str:
        """One line with the operator, every parameter that has an effect, and the inputs."""
        case = self.case
        given = {name: value for name, value in case.parameters.items() if value is not None}
        parameters = [parameter_text(name, value) for name, value in given.items() if _has_effect(name, given)]
        shapes = ", ".join(f"{name} {list(spec.shape)}" for name, spec in case.inputs.items())
        default = "; default shape, change it with --shape" if self.has_default_shape else ""
        return f"{', '.join([case.operator, *parameters])}; for {shapes} in {case.dtype}{default}"


def _has_effect(name: str, given: Mapping[str, Any]) -> bool:
    """Whether a parameter has an effect in the mode of a call."""
    if name not in PARAMETERS:
        return True
    parameter = PARAMETERS[name]
    other, needed = parameter.only_with or (name, given[name])
    return given.get(other) == needed and not (parameter.only_if_true and not given[name])


def text_lines(
    translated: TranslatedCase, translations: Sequence[Translation], width: int = TRANSLATION_TEXT_WIDTH
) -> Iterator[str]:
    """Yield the lines for a terminal: one program after the other, with remarks as comments, wrapped at `width`."""
    yield from _comment_lines(translated.heading, "", width)
    yield from (line for note in translated.notes for line in _comment_lines(note, "", width))
    for group in _groups(translations):
        yield ""
        if group[0].program is None:
            yield f"# {group[0].surface.name}: unsupported: {group[0].reason_text}"
        else:
            yield from _program_lines(group, group[0].program, translated.case, width)


def _groups(translations: Sequence[Translation]) -> Iterable[Sequence[Translation]]:
    """Return the translations in groups with the same program, such as those of the engines of one framework."""
    groups: dict[tuple[str, ...], list[Translation]] = {}
    for one in translations:
        key = (one.program.text, one.program.how, one.program.mode) if one.program else (one.surface.name,)
        groups.setdefault(key, []).append(one)
    return groups.values()


def _program_lines(group: Sequence[Translation], program: Program, case: Case, width: int) -> Iterator[str]:
    shapes = ", ".join(f"{name} {list(spec.shape)}" for name, spec in case.inputs.items())
    yield f"# {_names(group)}: {program.how}, for {shapes}"
    for mark, lines_of in REMARK_KINDS:
        for line in _shared_lines(group, lines_of):
            yield from _comment_lines(f"{mark}{line}", "  ", width)
    setups = {program_with_setup(one.backend, program) for one in group}
    if len(setups) > 1:
        yield from _comment_lines(f"- the lines before the program are for {group[0].surface.name}", "  ", width)
    yield program_with_setup(group[0].backend, program).rstrip("\n")


REMARK_KINDS: tuple[tuple[str, Callable[[Translation], Sequence[str]]], ...] = (
    ("", lambda one: [one.verified_text]),
    ("! ", lambda one: one.warnings),
    ("- ", lambda one: one.all_remarks),
)
"""Mark and lines of each kind of comment on a program."""


def _shared_lines(group: Sequence[Translation], lines_of: Callable[[Translation], Sequence[str]]) -> Iterator[str]:
    """Yield each line of some translations once; a line that not all of them have begins with their surfaces."""
    owners: dict[str, list[Translation]] = {}
    for one in group:
        for line in lines_of(one):
            owners.setdefault(line, []).append(one)
    for line, having in owners.items():
        yield line if len(having) == len(group) else f"{_names(having)}: {line}"


def _names(group: Sequence[Translation]) -> str:
    return ", ".join(one.surface.name for one in group)


def _comment_lines(text: str, indent: str, width: int) -> list[str]:
    first, rest = f"# {indent}", f"# {indent}{'  ' * bool(indent)}"
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def translations_record(translated: TranslatedCase, translations: Sequence[Translation]) -> dict[str, Any]:
    """Return the record of the translations for JSON."""
    case = translated.case
    inputs = {name: {"shape": list(spec.shape), "dtype": spec.dtype} for name, spec in case.inputs.items()}
    return {
        "format": TRANSLATIONS_FORMAT,
        "case": case.id,
        "operator": case.operator,
        "parameters": case.parameters,
        "inputs": inputs,
        "shape_chosen": translated.has_default_shape,
        "notes": list(translated.notes),
        "surfaces": {translation.surface.name: _translation_record(translation) for translation in translations},
    }


def _translation_record(translation: Translation) -> dict[str, Any]:
    if translation.program is None:
        return {"how": None, "reason": translation.reason, "issue": translation.issue}
    return {
        "how": translation.program.how,
        "program": program_with_setup(translation.backend, translation.program),
        "digest": translation.program.digest,
        "verified": translation.verified_text,
        "warnings": list(translation.warnings),
        "layout": translation.layout,
        "remarks": list(translation.remarks),
        "answers": list(translation.answers),
    }
