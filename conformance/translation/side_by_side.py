"""A case on many surfaces: each program with what somebody who takes it over should know, and how far it was tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from conformance import ConformanceError
from conformance.adapters.api import source_text
from conformance.adapters.api.surface import Backend, Program, Surface, Unsupported
from conformance.cases.arrays import SHORT_FLOATS
from conformance.cases.case import Case, Value
from conformance.cases.operators import OPERATORS
from conformance.cases.selectors import FEATURES, CaseFeatures
from conformance.judging.conventions import Convention
from conformance.judging.ledger import Ledger, LedgerEntry
from conformance.translation import verified
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.lowering import missing_requirement, translate
from conformance.translation.verified import VerifiedSummary

KERNEL_LAYOUTS = {"conv": "(*window, in/groups, out)", "conv_transpose": "(*window, out/groups, in)"}
CASE_CONDITIONS = ("padded", "dilated")
"""What a case must be for a question about such cases to matter to it."""


@dataclass(frozen=True)
class Translation:
    """What a surface makes of a case.

    program: None where it is unsupported, for the reason given; backend: what has the imports that the program needs;
    layout: how data lies there, where not channels first; remarks: what else it differs in;
    answers: what the surface does by itself where others do otherwise;
    warnings: what the ledger says of this very case;
    verified: how far translations of the operator have been tried, in words.
    """

    surface: Surface
    backend: Backend
    program: Program | None
    reason: str = ""
    issue: str | None = None
    layout: str = ""
    remarks: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    verified_text: str = ""


@dataclass(frozen=True)
class TranslationBackground:
    """What is known besides the case: questions with the answers of surfaces, the ledger, what has been run."""

    conventions: Sequence[Convention] = ()
    ledger: Ledger = field(default_factory=Ledger)
    summary: VerifiedSummary = field(default_factory=VerifiedSummary)


def translate_case(
    case: Case,
    surfaces: Iterable[tuple[Backend, Surface]],
    known: TranslationBackground,
    request: CaseRequest | None = None,
) -> list[Translation]:
    """Return the translation of a case to each surface; `request`: what was asked, where that is no case by its id."""
    sizes = list(_resized_cases(request or CaseRequest.from_case(case)))
    return [_translate_to_surface(case, backend, surface, known, sizes) for backend, surface in surfaces]


ResizedCases = Sequence[tuple[str, Case]]
"""The same for inputs of other sizes, each with the word for what is otherwise."""


def _resized_cases(request: CaseRequest | None) -> Iterator[tuple[str, Case]]:
    for word, other in request.other_sizes() if request else ():
        try:
            yield word, other.case()
        except ConformanceError:  # no such window goes into such an input
            continue


def _translate_to_surface(
    case: Case, backend: Backend, surface: Surface, known: TranslationBackground, sizes: ResizedCases
) -> Translation:
    program = translate(case, surface)
    if isinstance(program, Unsupported):
        return Translation(surface, backend, None, program.reason, program.issue)
    remarks = (remark for tell in REMARK_WRITERS for remark in tell(case, surface, program))
    entries = entries_for_case(known, case, surface.name)
    return Translation(
        surface,
        backend,
        program,
        layout=_layout_text(case, surface),
        remarks=(*remarks, *_size_warnings(program, surface, sizes)),
        answers=tuple(_convention_remarks(case, surface, known.conventions)),
        warnings=tuple(f"known deviation {entry.id}: {' '.join(entry.reason.split())}" for entry in entries),
        verified_text=verified.verified_sentence(
            known.summary, surface.name, case.operator, program.how, dtype=case.dtype, rank=len(case.shape) - 2
        ),
    )


def _layout_text(case: Case, surface: Surface) -> str:
    """Return how data lies, where it does not lie as in the catalogue."""
    if not surface.channels_last:
        return ""
    kernel = KERNEL_LAYOUTS.get(OPERATORS[case.operator].forward)
    laid = "data (n, *spatial, c)" + (f" and kernels {kernel}" if kernel else "")
    return f"takes {laid}; the first and last lines turn NumPy arrays (n, c, *spatial): drop them for data like that"


def _composition_remarks(case: Case, surface: Surface, program: Program) -> Iterator[str]:
    """Yield why it is not one call."""
    why = missing_requirement(case, surface) if program.how != "native" else None
    if why and not case.via and not case.then:
        issue = f" ({why.issue})" if why.issue else ""
        yield f"{program.how}, as the surface's own call does not do: {why.reason}{issue}"


def _bfloat16_remarks(case: Case, surface: Surface, _program: Program) -> Iterator[str]:
    """Yield how bfloat16 passes."""
    if case.dtype == "bfloat16" and surface.bfloat16:
        yield "bfloat16 comes in as NumPy words of 16 bits, which the first lines turn into numbers"


REMARK_WRITERS: tuple[Callable[[Case, Surface, Program], Iterator[str]], ...] = (
    _composition_remarks,
    _bfloat16_remarks,
)


def _size_warnings(program: Program, surface: Surface, sizes: ResizedCases) -> Iterator[str]:
    """Yield what of the input's size the text of the program depends on."""
    on = [word for word, case in sizes if not _is_same_program(program, translate(case, surface))]
    if on:
        yield f"for another size the text may be another: it depends on {' and '.join(dict.fromkeys(on))} (--shape)"


def _is_same_program(program: Program, other: Program | Unsupported) -> bool:
    return isinstance(other, Program) and program.text == other.text


def _convention_remarks(case: Case, surface: Surface, conventions: Sequence[Convention]) -> Iterator[str]:
    """Yield what the surface does by itself where others do otherwise, as far as it matters to the case."""
    for question in conventions:
        declared = surface.declarations.get(question.id)
        if declared and _is_relevant(question, case) and has_differing_answers(question):
            how = "" if declared.documented else f", observed in {declared.observed}"
            yield f"{convention_text(question)}: {declared.answer.replace('-', ' ')}{how}"


def convention_text(convention: Convention) -> str:
    """Return a question as words: its id without the operator."""
    return convention.id.partition("/")[2].replace("-", " ")


def has_differing_answers(convention: Convention) -> bool:
    """Whether not all surfaces answer alike."""
    return (
        len({answer.declaration.answer for answer in convention.answers_by_surface.values() if answer.declaration}) > 1
    )


def _is_relevant(convention: Convention, case: Case) -> bool:
    """Whether a question leaves out a parameter of the case, or asks how such 16-bit numbers are added."""
    asked = convention.cases[0]
    of = OPERATORS[case.operator]
    if asked.operator not in {of.name, of.forward} or any(
        FEATURES[fact](asked) > FEATURES[fact](case) for fact in CASE_CONDITIONS
    ):
        return False
    if case.dtype in SHORT_FLOATS and asked.dtype == case.dtype:
        return asked.operator == of.name
    return bool(asked.omitted_parameters) and asked.dtype == "float32" and "nan" not in FEATURES["values"](asked)


def entries_for_case(known: TranslationBackground, case: Case, surface: str) -> list[LedgerEntry]:
    """Return the entries of the ledger that are about this case on this surface, in the versions that were run."""
    facts, packages = CaseFeatures(case), known.summary.packages(surface)
    if not isinstance(case.expect, Value):
        return []
    about = [entry for entry in known.ledger.entries if entry.matches_surface(surface) and entry.matches_case(facts)]
    return [entry for entry in about if not packages or entry.matches_versions(packages)]


def program_with_setup(backend: Backend, program: Program) -> str:
    """Return a program with the imports and modes that it needs."""
    lines = source_text.required_setup(backend.setup, program.text)
    return "\n".join([*lines, "", ""] if lines else []) + program.text
