"""Translations as text for a terminal, as a Markdown page, and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.cases.case import Case
from conformance.translation.call_text import parameter_text
from conformance.translation.side_by_side import Translation, program_with_setup

TRANSLATION_TEXT_WIDTH = 110
"""Width of the terminal output in characters."""
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
        """One line with the operator, every parameter and the inputs."""
        case = self.case
        parameters = [parameter_text(name, value) for name, value in case.parameters.items() if value is not None]
        shapes = ", ".join(f"{name} {list(spec.shape)}" for name, spec in case.inputs.items())
        default = "; default shape, change it with --shape" if self.has_default_shape else ""
        return f"{', '.join([case.operator, *parameters])}; for {shapes} in {case.dtype}{default}"


def text_lines(translated: TranslatedCase, translations: Sequence[Translation]) -> Iterator[str]:
    """Yield the lines for a terminal: one program after the other, with remarks as comments."""
    yield from _comment_lines(translated.heading, "")
    yield from (line for note in translated.notes for line in _comment_lines(note, ""))
    for translation in translations:
        yield ""
        if translation.program is None:
            yield f"# {translation.surface.name}: unsupported: {translation.reason_text}"
        else:
            yield from _program_lines(translation, translated.case)


def _program_lines(translation: Translation, case: Case) -> Iterator[str]:
    assert translation.program is not None  # noqa: S101 - checked by the caller
    shapes = ", ".join(f"{name} {list(spec.shape)}" for name, spec in case.inputs.items())
    yield f"# {translation.surface.name}: {translation.program.how}, for {shapes}"
    yield from _comment_lines(translation.verified_text, "  ")
    yield from (line for warning in translation.warnings for line in _comment_lines(f"! {warning}", "  "))
    yield from (line for remark in translation.all_remarks for line in _comment_lines(f"- {remark}", "  "))
    yield program_with_setup(translation.backend, translation.program).rstrip("\n")


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
