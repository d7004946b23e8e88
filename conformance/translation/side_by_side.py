"""A case on many surfaces: each program with what somebody who takes it over should know, and how far it was tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from conformance import ConformanceError
from conformance.adapters.api import source_text
from conformance.adapters.api.surface import Backend, Program, Surface, Unsupported
from conformance.cases.arrays import HALF
from conformance.cases.case import Case, Value
from conformance.cases.operators import OPERATORS
from conformance.cases.selectors import FACTS, Facts
from conformance.judging.conventions import Question
from conformance.judging.ledger import Entry, Ledger
from conformance.translation import verified
from conformance.translation.ad_hoc_case import Request
from conformance.translation.lowering import lacking, translate
from conformance.translation.verified import Summary

KERNELS = {"conv": "(*window, in/groups, out)", "conv_transpose": "(*window, out/groups, in)"}
WHERE = ("padded", "dilated")
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
    verified: str = ""


@dataclass(frozen=True)
class Background:
    """What is known besides the case: questions with the answers of surfaces, the ledger, what has been run."""

    questions: Sequence[Question] = ()
    ledger: Ledger = field(default_factory=Ledger)
    summary: Summary = field(default_factory=Summary)


def translations(
    case: Case, surfaces: Iterable[tuple[Backend, Surface]], known: Background, request: Request | None = None
) -> list[Translation]:
    """Return the translation of a case to each surface; `request`: what was asked, where that is no case by its id."""
    sizes = list(_elsewhere(request or Request.of(case)))
    return [_translation(case, backend, surface, known, sizes) for backend, surface in surfaces]


Sizes = Sequence[tuple[str, Case]]
"""The same for inputs of other sizes, each with the word for what is otherwise."""


def _elsewhere(request: Request | None) -> Iterator[tuple[str, Case]]:
    for word, other in request.elsewhere() if request else ():
        try:
            yield word, other.case()
        except ConformanceError:  # no such window goes into such an input
            continue


def _translation(case: Case, backend: Backend, surface: Surface, known: Background, sizes: Sizes) -> Translation:
    program = translate(case, surface)
    if isinstance(program, Unsupported):
        return Translation(surface, backend, None, program.reason, program.issue)
    remarks = (remark for tell in REMARKS for remark in tell(case, surface, program))
    entries = speaking(known, case, surface.name)
    return Translation(
        surface,
        backend,
        program,
        layout=_layout(case, surface),
        remarks=(*remarks, *_sizes(program, surface, sizes)),
        answers=tuple(_conventions(case, surface, known.questions)),
        warnings=tuple(f"known deviation {entry.id}: {' '.join(entry.reason.split())}" for entry in entries),
        verified=verified.sentence(
            known.summary, surface.name, case.operator, program.how, dtype=case.dtype, rank=len(case.shape) - 2
        ),
    )


def _layout(case: Case, surface: Surface) -> str:
    """Return how data lies, where it does not lie as in the catalogue."""
    if not surface.channels_last:
        return ""
    kernel = KERNELS.get(OPERATORS[case.operator].forward)
    laid = "data (n, *spatial, c)" + (f" and kernels {kernel}" if kernel else "")
    return f"takes {laid}; the first and last lines turn NumPy arrays (n, c, *spatial): drop them for data like that"


def _why(case: Case, surface: Surface, program: Program) -> Iterator[str]:
    """Yield why it is not one call."""
    why = lacking(case, surface) if program.how != "native" else None
    if why and not case.via and not case.then:
        issue = f" ({why.issue})" if why.issue else ""
        yield f"{program.how}, as the surface's own call does not do: {why.reason}{issue}"


def _words(case: Case, surface: Surface, _program: Program) -> Iterator[str]:
    """Yield how bfloat16 passes."""
    if case.dtype == "bfloat16" and surface.words:
        yield "bfloat16 comes in as NumPy words of 16 bits, which the first lines turn into numbers"


REMARKS: tuple[Callable[[Case, Surface, Program], Iterator[str]], ...] = (_why, _words)


def _sizes(program: Program, surface: Surface, sizes: Sizes) -> Iterator[str]:
    """Yield what of the input's size the text of the program depends on."""
    on = [word for word, case in sizes if not _same(program, translate(case, surface))]
    if on:
        yield f"for another size the text may be another: it depends on {' and '.join(dict.fromkeys(on))} (--shape)"


def _same(program: Program, other: Program | Unsupported) -> bool:
    return isinstance(other, Program) and program.text == other.text


def _conventions(case: Case, surface: Surface, questions: Sequence[Question]) -> Iterator[str]:
    """Yield what the surface does by itself where others do otherwise, as far as it matters to the case."""
    for question in questions:
        declared = surface.declares.get(question.id)
        if declared and _matters(question, case) and differing(question):
            how = "" if declared.documented else f", observed in {declared.observed}"
            yield f"{spoken(question)}: {declared.answer.replace('-', ' ')}{how}"


def spoken(question: Question) -> str:
    """Return a question as words: its id without the operator."""
    return question.id.partition("/")[2].replace("-", " ")


def differing(question: Question) -> bool:
    """Whether not all surfaces answer alike."""
    return len({answer.declaration.answer for answer in question.surfaces.values() if answer.declaration}) > 1


def _matters(question: Question, case: Case) -> bool:
    """Whether a question leaves out a parameter of the case, or asks how such 16-bit numbers are added."""
    asked = question.cases[0]
    of = OPERATORS[case.operator]
    if asked.operator not in {of.name, of.forward} or any(FACTS[fact](asked) > FACTS[fact](case) for fact in WHERE):
        return False
    if case.dtype in HALF and asked.dtype == case.dtype:
        return asked.operator == of.name
    return bool(asked.omitted) and asked.dtype == "float32" and "nan" not in FACTS["values"](asked)


def speaking(known: Background, case: Case, surface: str) -> list[Entry]:
    """Return the entries of the ledger that are about this case on this surface, in the versions that were run."""
    facts, packages = Facts(case), known.summary.packages(surface)
    if not isinstance(case.expect, Value):
        return []
    about = [entry for entry in known.ledger.entries if entry.on(surface) and entry.picks(facts)]
    return [entry for entry in about if not packages or entry.within(packages)]


def whole(backend: Backend, program: Program) -> str:
    """Return a program with the imports and modes that it needs."""
    lines = source_text.needed_setup(backend.setup, program.text)
    return "\n".join([*lines, "", ""] if lines else []) + program.text
