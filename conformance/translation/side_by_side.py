"""Translations of one case to several surfaces, with remarks, warnings and the number of verified cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from conformance import ConformanceError
from conformance.adapters.api import Backend, Program, Surface, Unsupported
from conformance.cases import selectors
from conformance.cases.arrays import BFLOAT16, SHORT_FLOATS
from conformance.cases.case import WORDS_KEY, Case, Value
from conformance.cases.features.case_features import SELECTOR_FEATURES, CaseFeatures
from conformance.cases.generators import SpecialValue
from conformance.cases.operators import OPERATORS, Arithmetic, Geometry
from conformance.judging.conventions import Convention
from conformance.judging.ledger import RESULT_KINDS, Ledger, LedgerEntry
from conformance.translation import verified
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.call_text import call_text
from conformance.translation.lowering import translate
from conformance.translation.recipes import recipe_remark, recipe_surface
from conformance.translation.routes.restrictions import restrictions_of
from conformance.translation.single_call import SingleCall, find_requested_call
from conformance.translation.step_lowering import native_limitation
from conformance.translation.verified import RequestedCall, VerifiedSummary
from reports.results.vocabulary import How, Part

KERNEL_LAYOUT, TRANSPOSED_KERNEL_LAYOUT = "(*window, in/groups, out)", "(*window, out/groups, in)"
CHANNEL_KERNEL_LAYOUT = "(*window, 1, channels)"
"""Layouts of the weights of convolutions and of transposed convolutions, channels last."""
INPUT_NUMBER_KEYS = frozenset({"values", "negative", "alone", "level"})
"""Conditions of ledger entries on the numbers in the inputs of a case, or on its place in the catalogue."""
CASE_CONDITIONS = ("padded", "dilated")
"""Features that a case must have for a convention observed on such cases to be relevant."""

SHAPE_OPTION = " (--shape)"
"""End of remarks about the size of the input: the option of `conformance translate` for it."""


@dataclass(frozen=True)
class Translation:
    """The translation of a case to a surface.

    backend: the backend of the surface, whose setup has the imports that the program needs.
    program: None if the case is unsupported; reason and issue say why.
    layout: the data layout, if it is not channels first.
    remarks: other differences.
    answers: the surface's answers to conventions on which surfaces differ.
    warnings: known deviations that apply to this case.
    verified_text: how many cases with the parameters of this case, and of its operator, agree on the surface.
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

    @property
    def reason_text(self) -> str:
        """Why the case is unsupported, with the issue if there is one."""
        return f"{self.reason} ({self.issue})" if self.issue else self.reason

    @property
    def all_remarks(self) -> tuple[str, ...]:
        """The layout, the remarks and the answers."""
        return (*filter(None, [self.layout]), *self.remarks, *self.answers)

    @property
    def without_options(self) -> Translation:
        """The translation without the names of options of `conformance translate`, for other commands."""
        return replace(self, remarks=tuple(one.removesuffix(SHAPE_OPTION) for one in self.remarks))


@dataclass(frozen=True)
class TranslationBackground:
    """Conventions with the answers of surfaces, the ledger, and a summary of runs."""

    conventions: Sequence[Convention] = ()
    ledger: Ledger = field(default_factory=Ledger)
    summary: VerifiedSummary = field(default_factory=VerifiedSummary)

    @cached_property
    def for_requests(self) -> TranslationBackground:
        """The same for cases that are not in the catalogue."""
        return replace(self, ledger=self.ledger.for_requested_cases())


def translate_case(
    case: Case,
    surfaces: Iterable[tuple[Backend, Surface]],
    background: TranslationBackground,
    request: CaseRequest | None = None,
) -> list[Translation]:
    """Return the translation of a case to each surface; request: the request of the case, if it has one."""
    background = background if request is None else background.for_requests
    surfaces = [*_with_recipes(case, surfaces)]
    # Computed once, because every surface translates the same resized cases.
    sizes = list(_resized_cases(request or CaseRequest.from_case(case)))
    if request is not None and request.padding_mode:
        # A surface with a call for both steps is shown with it, and the others with two calls.
        found = [(backend, surface, case_in_one_call(case, surface)) for backend, surface in surfaces]
        return [
            _translate_to_surface(worded or case, backend, surface, background, () if worded else sizes)
            for backend, surface, worded in found
        ]
    if request is None:
        return [_translate_to_surface(case, backend, surface, background, sizes) for backend, surface in surfaces]
    single_calls = [(*one, find_requested_call(request, case, one[1])) for one in surfaces]
    return [
        _translate_single_call(single, backend, surface, background)
        if single
        else _translate_to_surface(case, backend, surface, background, sizes)
        for backend, surface, single in single_calls
    ]


def _with_recipes(case: Case, surfaces: Iterable[tuple[Backend, Surface]]) -> Iterator[tuple[Backend, Surface]]:
    """Yield the surfaces. Routes that change the call are followed by surfaces that write the replacement."""
    for backend, surface in surfaces:
        yield backend, surface
        replacement = recipe_surface(case, surface)
        program = translate(case, replacement) if replacement else None
        # A case that the surface composes of other calls already may not need one.
        if replacement and isinstance(program, Program) and not _is_same_program(program, translate(case, surface)):
            yield backend, replacement


def _translate_single_call(
    single: SingleCall, backend: Backend, surface: Surface, background: TranslationBackground
) -> Translation:
    """Return the one call that is exact for the size of a case, with the sizes."""
    found = _translate_to_surface(single.case, backend, surface, background, ())
    return replace(found, remarks=(f"{single.note}{SHAPE_OPTION}", *found.remarks))


def case_in_one_call(case: Case, surface: Surface) -> Case | None:
    """Return the case with parameters that the surface names by its own words; None without one call for all steps."""
    worded = replace(case, parameters={**case.parameters, WORDS_KEY: True})
    return worded if surface.chain_words and isinstance(translate(worded, surface), Program) else None


ResizedCases = Sequence[tuple[str, Case]]
"""The case with other input sizes, each with a phrase for the changed size."""


def _resized_cases(request: CaseRequest | None) -> Iterator[tuple[str, Case]]:
    for changed_size, other in request.other_sizes() if request else ():
        try:
            yield changed_size, other.case()
        except ConformanceError:  # the parameters are invalid for this size
            continue


def _translate_to_surface(
    case: Case, backend: Backend, surface: Surface, background: TranslationBackground, sizes: ResizedCases
) -> Translation:
    program = translate(case, surface)
    if isinstance(program, Unsupported):
        return Translation(surface, backend, None, program.reason, program.issue)
    remarks = (remark for write in REMARK_WRITERS for remark in write(case, surface, program))
    entries = entries_for_case(background, case, surface.name)
    known = tuple(entry.id for entry in entries)
    return Translation(
        surface,
        backend,
        program,
        layout=_layout_text(case, surface),
        remarks=(*remarks, *_size_warnings(program, surface, sizes)),
        answers=tuple(_convention_remarks(case, surface, background.conventions)),
        warnings=(
            *(f"known deviation {entry.id}: {' '.join(entry.reason.split())}" for entry in entries),
            *_part_warnings(case, surface, background, known),
        ),
        verified_text=verified.verified_sentence(
            background.summary,
            surface.name,
            RequestedCall(
                case.operator,
                program.how,
                case.dtype,
                len(case.shape) - 2,
                "" if case.via or case.then else call_text(case.operator, case.parameters, _kernel_shape(case)),
                known,
                tuple(one for one in _entries_for_other_inputs(background, case, surface.name) if one not in known),
            ),
        ),
    )


def _part_warnings(
    case: Case, surface: Surface, background: TranslationBackground, known: Sequence[str]
) -> Iterator[str]:
    """Yield the known deviations of the source and of the runtime of a route. known: ids that are listed already."""
    if surface.route is None:
        return
    for part, name in ((Part.SOURCE, surface.route.source_name), (Part.RUNTIME, surface.route.runtime_name)):
        for entry in entries_for_case(background, case, name):
            if entry.id not in known:
                yield f"known deviation {entry.id} of the {part}, {name}: {' '.join(entry.reason.split())}"


def _layout_text(case: Case, surface: Surface) -> str:
    """Return a sentence about the data layout if it is not that of the catalogue, else ""."""
    if not surface.channels_last:
        return ""
    operator = OPERATORS[case.operator]
    kernel = TRANSPOSED_KERNEL_LAYOUT if operator.geometry is Geometry.TRANSPOSED else KERNEL_LAYOUT
    kernel = CHANNEL_KERNEL_LAYOUT if operator.has_channel_kernels else kernel
    layout = "data (n, *spatial, c)" + (f" and kernels {kernel}" if operator.has_weights else "")
    return f"takes {layout}; the first and last lines transpose from and to (n, c, *spatial): remove them for such data"


def _composition_remarks(case: Case, surface: Surface, program: Program) -> Iterator[str]:
    """Yield the reason why the program is not one native call."""
    if recipe_remark(surface):
        return
    limitation = native_limitation(case, surface) if program.how != How.NATIVE else None
    if limitation and not case.via and not case.then:
        issue = f" ({limitation.issue})" if limitation.issue else ""
        yield f"{program.how}, because the native call does not support the case: {limitation.reason}{issue}"


def _recipe_remarks(_case: Case, surface: Surface, _program: Program) -> Iterator[str]:
    """Yield why the call itself does not survive the route."""
    if recipe_remark(surface):
        yield recipe_remark(surface)


def _restriction_remarks(case: Case, surface: Surface, _program: Program) -> Iterator[str]:
    """Yield what a route changes or refuses for this operator, and what to write instead."""
    yield from (one.text for one in restrictions_of(case, surface))


def _bfloat16_remarks(case: Case, surface: Surface, _program: Program) -> Iterator[str]:
    """Yield how bfloat16 inputs are passed."""
    if case.dtype == BFLOAT16 and surface.bfloat16:
        yield "bfloat16 inputs are NumPy arrays of 16-bit words; the first lines convert them"


REMARK_WRITERS: tuple[Callable[[Case, Surface, Program], Iterator[str]], ...] = (
    _composition_remarks,
    _recipe_remarks,
    _restriction_remarks,
    _bfloat16_remarks,
)


def _size_warnings(program: Program, surface: Surface, sizes: ResizedCases) -> Iterator[str]:
    """Yield a warning if the program is not valid for other input sizes."""
    changing = [size for size, case in sizes if not _is_same_program(program, translate(case, surface))]
    if changing:
        yield f"the program depends on {' and '.join(dict.fromkeys(changing))} of the input{SHAPE_OPTION}"


def _is_same_program(program: Program, other: Program | Unsupported) -> bool:
    return isinstance(other, Program) and program.text == other.text


def _convention_remarks(case: Case, surface: Surface, conventions: Sequence[Convention]) -> Iterator[str]:
    """Yield the surface's answers to conventions that are relevant to the case and on which surfaces differ."""
    for convention in conventions:
        declared = surface.declarations.get(convention.id)
        if declared and _is_relevant(convention, case) and has_differing_answers(convention):
            how = "" if declared.documented else f", observed in {declared.observed}"
            yield f"{convention_text(convention)}: {declared.summary.replace('-', ' ')}{how}"


def convention_text(convention: Convention) -> str:
    """Return the id of a convention as words, without the operator."""
    return convention.id.partition("/")[2].replace("-", " ")


def has_differing_answers(convention: Convention) -> bool:
    """Whether surfaces declare different answers."""
    answers = {one.declaration.summary for one in convention.answers_by_surface.values() if one.declaration}
    return len(answers) > 1


def _is_relevant(convention: Convention, case: Case) -> bool:
    """Whether a convention is about a default of the case's operator, or about sums in the case's 16-bit dtype."""
    observed = convention.cases[0]
    operator = OPERATORS[case.operator]
    if observed.operator not in {operator.name, operator.forward} or any(
        # True > False: the convention was observed on cases with the feature, and this case lacks it.
        SELECTOR_FEATURES[feature](observed) > SELECTOR_FEATURES[feature](case)
        for feature in CASE_CONDITIONS
    ):
        return False
    # Conventions in a 16-bit dtype are about the dtype of sums.
    if case.dtype in SHORT_FLOATS and observed.dtype == case.dtype:
        return observed.operator == operator.name
    if operator.geometry is Geometry.RESAMPLING and observed.parameters["mode"] != case.parameters["mode"]:
        return False
    is_about_default = bool(observed.omitted_parameters) and observed.dtype == "float32"
    return is_about_default and SpecialValue.NAN not in SELECTOR_FEATURES["values"](observed)


def entries_for_case(background: TranslationBackground, case: Case, surface: str) -> list[LedgerEntry]:
    """Return the ledger entries that match this case on this surface, in the versions of the summarised runs."""
    if not isinstance(case.expect, Value):
        return []
    features = CaseFeatures(case)
    return [entry for entry in _entries_of_surface(background, surface) if entry.matches_case(features)]


def source_deviations(case: Case, surfaces: Iterable[Surface], background: TranslationBackground) -> Iterator[str]:
    """Yield why the programs have another result than the surfaces that a layer is translated from."""
    found: dict[str, list[str]] = {}
    for surface in surfaces:
        for entry in entries_for_case(background.for_requests, case, surface.name):
            if RESULT_KINDS.intersection(entry.kinds) and _applies_to_cpu(entry):
                reason = f"known deviation {entry.id}: {' '.join(entry.reason.split())}"
                found.setdefault(reason, []).append(surface.name)
        if reason := signed_power_reason(case, surface):
            found.setdefault(reason, []).append(surface.name)
    for reason, names in found.items():
        yield f"not the result of {', '.join(names)}: {reason}"


def signed_power_reason(case: Case, surface: Surface) -> str:
    """Return why the norm of a surface is not that of a case, "" if it is.

    The programs of the suite take absolute values first. A layer of the surface does not.
    """
    is_norm = OPERATORS[case.operator].is_pooling and OPERATORS[case.operator].arithmetic is Arithmetic.POWERS
    limitation = native_limitation(case, surface) if is_norm else None
    return limitation.reason if limitation else ""


def _applies_to_cpu(entry: LedgerEntry) -> bool:
    return entry.matches_machine([name for name in entry.cpu if not name.startswith("without-")])


def _entries_of_surface(background: TranslationBackground, surface: str) -> list[LedgerEntry]:
    """Return the ledger entries for a surface in the versions of the summarised runs."""
    packages = background.summary.packages(surface)
    return [
        entry
        for entry in background.ledger.entries
        if entry.matches_surface(surface) and (not packages or entry.matches_versions(packages))
    ]


def _entries_for_other_inputs(background: TranslationBackground, case: Case, surface: str) -> Iterator[str]:
    """Yield the ledger entries that match this call for some numbers in its inputs, such as NaN.

    An entry for single cases has no conditions for other calls, unless it has those of generated cases.
    """
    features = CaseFeatures(case)
    for entry in _entries_of_surface(background, surface):
        selector = entry.exploration_selector if entry.cases else entry.selector
        conditions = {key: values for key, values in selector.items() if key not in INPUT_NUMBER_KEYS}
        if conditions and _applies_to_cpu(entry) and selectors.matches(features, conditions):
            yield entry.id


def _kernel_shape(case: Case) -> tuple[int, ...]:
    return case.inputs["kernel"].shape if "kernel" in case.inputs else ()


def program_with_setup(backend: Backend, program: Program) -> str:
    """Return a program with the lines of the setup that it needs: imports and modes."""
    lines = backend.required_setup(program)
    return "\n".join([*lines, "", ""] if lines else []) + program.text
