"""Domains of conventions: the candidates that observe one, and how to draw such candidates.

Examples of domains are windows without an input cell, equal values, and negative numbers with an odd power. Membership
depends only on the parameters and values of a candidate, so it can be checked again while a candidate is shrunk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from conformance.cases.invalid.disputed import DISPUTED_VIOLATIONS
from conformance.cases.operators import OPERATORS, Arithmetic, Geometry
from conformance.catalogue.factors import PADDING_REACH, FactorLevel
from conformance.exploration.candidate import Candidate
from conformance.exploration.rng import Rng

InputOptions = Mapping[str, Mapping[str, Any]]
CandidateDraft = tuple[dict[str, FactorLevel], InputOptions]
"""Levels and input options of a candidate that is being drawn."""
SIGNED_INTEGER_INPUT = {"values": "integers", "low": -9, "high": 9}
NEGATIVE_INTEGER_INPUT = {"values": "integers", "low": -9, "high": -1}
DISTINCT_VALUES = frozenset({"integers", "distinct"})
"""Levels of the factor `values` that leave an input with `values: distinct` distinct."""
MAX_EXTENT_FOR_LARGE_PADS = 9
"""Maximum extent of an axis whose pads are drawn beyond the extent."""


@dataclass(frozen=True)
class ConventionDomain:
    """The candidates that observe one convention.

    conventions: id of the convention, by operator.
    contains: whether a candidate of one of these operators is in the domain.
    draw_inside: changes a draft so that it is often in the domain.
    """

    conventions: Mapping[str, str]
    contains: Callable[[Candidate], bool]
    draw_inside: Callable[[CandidateDraft, Rng], CandidateDraft]


@cache
def domains_of(operator: str) -> tuple[ConventionDomain, ...]:
    """Return the convention domains of an operator."""
    return tuple(domain for domain in CONVENTION_DOMAINS if operator in domain.conventions)


def conventions_of(candidate: Candidate) -> tuple[str, ...]:
    """Return the ids of the conventions that a valid candidate observes; most observe no convention."""
    domains = (domain for domain in domains_of(candidate.operator) if domain.contains(candidate))
    return tuple(dict.fromkeys(domain.conventions[candidate.operator] for domain in domains))


def _input_options(candidate: Candidate, name: str) -> Mapping[str, Any]:
    """Return the generator options of an input; empty if it has no options."""
    return candidate.inputs.get(name, {})


def _written_numbers(candidate: Candidate, name: str = "x") -> np.ndarray[Any, Any]:
    """Return the explicit numbers of an input; an empty array if the input is generated."""
    return np.array(candidate.written_numbers.get(name, []), float)


def _has_window_without_cells(candidate: Candidate) -> bool:
    return DISPUTED_VIOLATIONS["WindowOfPaddingOnly"](candidate.case)


def _draw_large_padding(draft: CandidateDraft, rng: Rng) -> CandidateDraft:
    """Draw padding that leaves a window without an input cell on one axis.

    The window lies before the input, after it, in a partial last position, or has the input between its dilated cells.
    """
    levels, inputs = draft
    pairs = [[0, 0] for _ in levels["window"]]
    axis = rng.randrange(len(pairs))
    reach = (levels["window"][axis] - 1) * levels["dilation"][axis] + 1
    kind = rng.choice(("before", "after", "rounding", "hole"))
    if kind == "hole":
        # Two cells, one in the padding on each side: the dilation steps over the whole input.
        pairs[axis] = [1, 1]
        dilated = {"window": (2,), "dilation": (levels["extent"][axis] + 1,)}
        changed = {name: (*levels[name][:axis], *level, *levels[name][axis + 1 :]) for name, level in dilated.items()}
        return {**levels, **changed, "rounding": "floor", "padding": tuple(map(tuple, pairs))}, inputs
    if kind == "rounding":
        # A stride of at least the window lets the last window start after the input.
        levels["stride"] = tuple(window + rng.randint(0, 2) for window in levels["window"])
        return {**levels, "rounding": "full", "padding": tuple(map(tuple, pairs))}, inputs
    pairs[axis][kind == "after"] = reach + rng.randrange(3)
    return {**levels, "rounding": rng.choice(("floor", "ceil")), "padding": tuple(map(tuple, pairs))}, inputs


def _pads_beyond_extent(mode: str) -> Callable[[Candidate], bool]:
    """Return a check whether a pad in this mode needs more cells than the axis has."""

    def contains(candidate: Candidate) -> bool:
        pairs = zip(candidate.per_axis("extent"), candidate.per_axis("pads"), strict=True)
        # Negative pads crop the axis first.
        cropped = [(size + sum(min(end, 0) for end in pair), max(pair)) for size, pair in pairs]
        too_large = any(pad > size + PADDING_REACH[mode] for size, pad in cropped)
        return bool(candidate.levels["mode"] == mode) and too_large

    return contains


def _draw_pads_beyond_extent(mode: str) -> Callable[[CandidateDraft, Rng], CandidateDraft]:
    def draw(draft: CandidateDraft, rng: Rng) -> CandidateDraft:
        levels, inputs = draft
        extent = tuple(min(size, MAX_EXTENT_FOR_LARGE_PADS) for size in levels["extent"])
        pads = tuple((rng.randint(0, 3 * size), rng.randint(0, 3 * size)) for size in extent)
        return {**levels, "mode": mode, "value": 0, "extent": extent, "pads": pads}, inputs

    return draw


def _may_have_ties(candidate: Candidate) -> bool:
    """Check whether values of one plane may be equal.

    Generated inputs count as tied unless they are meant to be distinct. Distinct and explicit inputs are compared cell
    by cell: a 16-bit dtype rounds many integers to the same value.
    """
    generated = "x" not in candidate.written_numbers
    if generated and (
        _input_options(candidate, "x").get("values") != "distinct" or candidate.levels["values"] not in DISTINCT_VALUES
    ):
        return True
    cells = candidate.case.inputs["x"].make().astype(float) if generated else _written_numbers(candidate)
    planes = cells.reshape(math.prod(candidate.case.shape[:2]), -1)
    return any(len(np.unique(plane)) < plane.size for plane in planes)


def _draw_inputs(**options: Mapping[str, Any]) -> Callable[[CandidateDraft, Rng], CandidateDraft]:
    """Return a function that fills inputs with integers, generated with these options."""
    return lambda draft, _rng: ({**draft[0], "values": "integers"}, {**draft[1], **options})


def _draw_marked(mark: str, *, low: int = -9, high: int = 9) -> Callable[[CandidateDraft, Rng], CandidateDraft]:
    """Return a function that puts a special value at a random cell of each plane, among integers from low to high."""

    def draw(draft: CandidateDraft, rng: Rng) -> CandidateDraft:
        levels, inputs = draft
        at = rng.randrange(math.prod(levels["extent"]))
        return {**levels, "values": mark}, {**inputs, "x": {"values": "integers", "low": low, "high": high, "at": at}}

    return draw


def _has_mark(mark: str) -> Callable[[Candidate], bool]:
    """Return a check whether an input contains a special value."""
    number = float(mark)

    def contains(candidate: Candidate) -> bool:
        cells = _written_numbers(candidate)
        written = np.isnan(cells) if math.isnan(number) else cells == number
        return candidate.levels["values"] == mark or bool(written.any())

    return contains


def _may_mix_signed_zeros(candidate: Candidate) -> bool:
    """Check whether one window may contain both 0 and -0."""
    cells = _written_numbers(candidate)
    both = len(set(np.signbit(cells[cells == 0]).tolist())) > 1
    return both or (candidate.levels["values"] == "-0.0" and _input_options(candidate, "x").get("high", 9) >= 0)


def _has_negative_under_power(power: Callable[[float], bool]) -> Callable[[Candidate], bool]:
    """Return a check whether negative numbers are raised to a power for which `power` is true."""

    def contains(candidate: Candidate) -> bool:
        if "x" in candidate.written_numbers:
            negative = bool((_written_numbers(candidate) < 0).any())
        else:
            negative = _input_options(candidate, "x").get("low", -9) < 0
        return bool(power(candidate.levels["p"])) and negative

    return contains


def _draw_power(*powers: int) -> Callable[[CandidateDraft, Rng], CandidateDraft]:
    draw_negative = _draw_inputs(x=NEGATIVE_INTEGER_INPUT)
    return lambda draft, rng: draw_negative(({**draft[0], "p": rng.choice(powers)}, draft[1]), rng)


def _draw_integer_dtype(dtype: str) -> Callable[[CandidateDraft, Rng], CandidateDraft]:
    draw_signed = _draw_inputs(x=SIGNED_INTEGER_INPUT)
    return lambda draft, rng: draw_signed(({**draft[0], "dtype": dtype}, draft[1]), rng)


def _has_no_target(candidate: Candidate) -> bool:
    """Check whether an index of unpooling is negative: the index of a window without an input cell."""
    return _input_options(candidate, "indices").get("low", 0) < 0 or bool(
        (_written_numbers(candidate, "indices") < 0).any()
    )


def _same_convention(convention_id: str, *operators: str) -> dict[str, str]:
    return dict.fromkeys(operators, convention_id)


PADDING_ONLY_CONVENTION = "max_pool/window-of-padding-only"
DISPUTED_MAXIMA = tuple(
    operator.name
    for operator in OPERATORS.values()
    if operator.has_disputed_geometry
    and operator.geometry is Geometry.WINDOWS
    and operator.arithmetic is Arithmetic.SELECTION
)
"""Maxima and minima of windows, and their gradients."""
CONVENTION_DOMAINS: tuple[ConventionDomain, ...] = (
    ConventionDomain(
        {
            **_same_convention(PADDING_ONLY_CONVENTION, *DISPUTED_MAXIMA),
            "avg_pool": "avg_pool/window-of-padding-only",
        },
        _has_window_without_cells,
        _draw_large_padding,
    ),
    ConventionDomain(
        {"max_pool_with_indices": "max_pool_with_indices/window-of-padding-only"},
        lambda candidate: candidate.levels["output"] == "indices" and _has_window_without_cells(candidate),
        lambda draft, rng: _draw_large_padding(({**draft[0], "output": "indices"}, draft[1]), rng),
    ),
    # The index -1 marks a window without an input cell. A surface that rejects such padding never returns this index,
    # so max_unpool observes the convention for padding as large as the window too.
    *(
        ConventionDomain(
            _same_convention(convention_id, "max_unpool", "max_unpool_grad"),
            _has_no_target,
            _draw_inputs(indices={"values": "distinct", "low": -1}),
        )
        for convention_id in (PADDING_ONLY_CONVENTION, "max_pool/padding-equal-to-window")
    ),
    *(
        ConventionDomain(
            _same_convention(f"pad/{mode}-beyond-the-extent", "pad", "pad_grad"),
            _pads_beyond_extent(mode),
            _draw_pads_beyond_extent(mode),
        )
        for mode in PADDING_REACH
    ),
    ConventionDomain(
        {
            **{name: f"{name}/tie" for name, operator in sorted(OPERATORS.items()) if "ties" in operator.defaults},
            "max_pool_with_indices": "max_pool_with_indices/tie",
        },
        _may_have_ties,
        _draw_inputs(x=SIGNED_INTEGER_INPUT),
    ),
    ConventionDomain(
        {"adaptive_max_pool_grad": "adaptive_max_pool_grad/tie-in-a-plane"},
        lambda candidate: candidate.rank > 1 and _may_have_ties(candidate),
        _draw_inputs(x=SIGNED_INTEGER_INPUT),
    ),
    ConventionDomain(
        {
            "global_max_pool": "global_max_pool/nan-in-channel",
            "max_pool_with_indices": "max_pool_with_indices/nan",
            "max_pool_grad": "max_pool_grad/nan",
        },
        _has_mark("nan"),
        _draw_marked("nan"),
    ),
    ConventionDomain(
        {
            "global_max_pool": "global_max_pool/channel-of-minus-infinity",
            "max_pool_grad": "max_pool_grad/window-of-minus-infinity",
        },
        _has_mark("-inf"),
        _draw_marked("-inf"),
    ),
    ConventionDomain(
        _same_convention("max_pool/zeros-of-both-signs", "max_pool_with_indices"),
        _may_mix_signed_zeros,
        _draw_marked("-0.0", low=0, high=0),
    ),
    ConventionDomain(
        _same_convention("lp_pool/p-1-of-negative-values", "lp_pool_grad"),
        _has_negative_under_power(lambda power: power == 1),
        _draw_power(1),
    ),
    ConventionDomain(
        _same_convention("lp_pool/odd-p-of-negative-values", "lp_pool_grad"),
        _has_negative_under_power(lambda power: power % 2 == 1 and power > 1),
        _draw_power(3, 5),
    ),
    ConventionDomain(
        {"avg_pool": "avg_pool/integers", "global_avg_pool": "avg_pool/integers"},
        lambda candidate: bool(candidate.levels["dtype"] == "int64"),
        _draw_integer_dtype("int64"),
    ),
    ConventionDomain(
        {"avg_pool": "avg_pool/integers-in-int32", "global_avg_pool": "global_avg_pool/integers"},
        lambda candidate: bool(candidate.levels["dtype"] == "int32"),
        _draw_integer_dtype("int32"),
    ),
)
"""All convention domains. An operator without a convention case uses the convention of the operator it builds on."""
