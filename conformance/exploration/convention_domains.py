"""Domains of conventions: the candidates that observe one. `draws.conventions` draws such candidates.

Examples of domains are windows without an input cell, equal values, and negative numbers with an odd power. Membership
depends only on the parameters and values of a candidate, so it can be checked again while a candidate is shrunk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from conformance.cases.arrays import FLOATING_DTYPES, NUMPY_DTYPES
from conformance.cases.case import ArrayUse
from conformance.cases.geometry import starts_window_in_padding_with_ceil
from conformance.cases.invalid.disputed import DISPUTED_VIOLATIONS
from conformance.cases.operators import CHANNEL_GEOMETRIES, OPERATORS, Arithmetic, Geometry, Operator, ResizeMode
from conformance.catalogue.factors import PADDING_REACH
from conformance.exploration.candidate import WHOLE_NUMBER_VALUES, Candidate
from conformance.exploration.draws.conventions import (
    EMPTY_FACTORS,
    EMPTY_INTERVAL,
    LARGE_INTEGER_INPUT,
    LARGE_LOW,
    SIGNED_INTEGER_INPUT,
    DraftChange,
    draw_empty,
    draw_float16,
    draw_inputs,
    draw_integer_dtype,
    draw_large_padding,
    draw_marked,
    draw_pads_beyond_extent,
    draw_power,
)
from conformance.exploration.draws.numbers import INDEX_DTYPES


@dataclass(frozen=True)
class ConventionDomain:
    """The candidates that observe one convention.

    conventions: id of the convention, by operator.
    contains: whether a candidate of one of these operators is in the domain.
    draw_inside: changes a draft so that it is often in the domain; None if every draw can be in the domain.
    marks: special values that put a candidate in the domain.
    interval: one in this number of draws for the domain is changed by `draw_inside`.
    """

    conventions: Mapping[str, str]
    contains: Callable[[Candidate], bool]
    draw_inside: DraftChange | None
    marks: tuple[str, ...] = ()
    interval: int = 1


@cache
def domains_of(operator: str) -> tuple[ConventionDomain, ...]:
    """Return the convention domains of an operator."""
    return tuple(domain for domain in CONVENTION_DOMAINS if operator in domain.conventions)


def conventions_of(candidate: Candidate) -> tuple[str, ...]:
    """Return the ids of the conventions that a valid candidate observes; most observe no convention."""
    if candidate.violation:  # the call has no result
        return ()
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


def _pads_beyond_extent(mode: str) -> Callable[[Candidate], bool]:
    """Return a check whether a pad in this mode needs more cells than the axis has."""

    def contains(candidate: Candidate) -> bool:
        pairs = zip(candidate.per_axis("extent"), candidate.per_axis("pads"), strict=True)
        # Negative pads crop the axis first.
        cropped = [(size + sum(min(end, 0) for end in pair), max(pair)) for size, pair in pairs]
        too_large = any(pad > size + PADDING_REACH[mode] for size, pad in cropped)
        return bool(candidate.levels["mode"] == mode) and too_large

    return contains


def _may_have_ties(candidate: Candidate) -> bool:
    """Check whether values of one plane may be equal.

    Generated inputs count as tied unless they are meant to be distinct. Distinct and explicit inputs are compared cell
    by cell: a 16-bit dtype rounds many integers to the same value.
    """
    generated = "x" not in candidate.written_numbers
    if generated and (
        _input_options(candidate, "x").get("values") != "distinct"
        or candidate.levels["values"] not in WHOLE_NUMBER_VALUES
    ):
        return True
    cells = candidate.case.inputs["x"].make().astype(float) if generated else _written_numbers(candidate)
    planes = np.sort(cells.reshape(math.prod(candidate.case.shape[:2]), -1)) if cells.size else np.empty((0, 0))
    left, right = planes[:, :-1], planes[:, 1:]
    return bool(((left == right) | np.isnan(left) & np.isnan(right)).any())


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


def _may_compare_subnormals(candidate: Candidate) -> bool:
    """Check whether one window may contain a subnormal number and a zero, or two subnormal numbers."""
    if candidate.levels["dtype"] not in SMALLEST_NORMAL:
        return False
    sizes = np.abs(_written_numbers(candidate))
    small = sizes < SMALLEST_NORMAL[candidate.levels["dtype"]]
    options = _input_options(candidate, "x")
    generated = candidate.levels["values"] in {"subnormal", "-subnormal"}
    has_zeros = options.get("low", -9) <= 0 <= options.get("high", 9)
    return bool(small.sum() > 1 and sizes[small].any()) or (generated and has_zeros)


def _has_negative_under_power(power: Callable[[float], bool]) -> Callable[[Candidate], bool]:
    """Return a check whether negative numbers are raised to a power for which `power` is true."""

    def contains(candidate: Candidate) -> bool:
        if "x" in candidate.written_numbers:
            negative = bool((_written_numbers(candidate) < 0).any())
        else:
            negative = _input_options(candidate, "x").get("low", -9) < 0
        return bool(power(candidate.levels["p"])) and negative

    return contains


def _has_no_target(candidate: Candidate) -> bool:
    """Check whether an index of unpooling is negative: the index of a window without an input cell."""
    return _input_options(candidate, "indices").get("low", 0) < 0 or bool(
        (_written_numbers(candidate, "indices") < 0).any()
    )


def _has_indices_in(dtype: str) -> Callable[[Candidate], bool]:
    """Return a check whether the indices have this dtype."""
    return lambda candidate: _input_options(candidate, "indices").get("dtype") == dtype


def _has_equal_indices(candidate: Candidate) -> bool:
    """Check whether two values of one plane have the same index."""
    cells = _written_numbers(candidate, "indices")
    if not cells.size:
        return False
    planes = np.sort(cells.reshape(math.prod(candidate.case.shape[:2]), -1), axis=1)
    return bool((planes[:, 1:] == planes[:, :-1]).any())


def _underflows(candidate: Candidate) -> bool:
    """Check whether a power is smaller than the normal numbers of the dtype of x, in which some frameworks round it."""
    cells = np.abs(candidate.case.inputs["x"].make().astype(float))
    small = cells[(cells > 0) & (cells < 1)]
    return bool((small ** float(candidate.levels["p"]) < SMALLEST_NORMAL[candidate.levels["dtype"]]).any())


def _largest(candidate: Candidate) -> float:
    """Return the largest finite magnitude in x, as far as it is known without generating x."""
    cells = np.abs(_written_numbers(candidate))
    finite = cells[np.isfinite(cells)]
    return float(finite.max()) if finite.size else float(_input_options(candidate, "x").get("high", 9))


def _conventions(convention_id: str, applies: Callable[[Operator], bool]) -> dict[str, str]:
    """Return the convention of each operator to which it applies; `{}` in the id stands for the operator."""
    return {name: convention_id.format(name) for name, operator in OPERATORS.items() if applies(operator)}


def _disputes_windows(arithmetic: Arithmetic) -> Callable[[Operator], bool]:
    return lambda operator: (
        operator.has_disputed_geometry and operator.geometry is Geometry.WINDOWS and operator.arithmetic is arithmetic
    )


GEOMETRIES_WITH_CHANNELS = frozenset(Geometry) - CHANNEL_GEOMETRIES - {
    Geometry.RESAMPLING, Geometry.SAMPLING, Geometry.DEFORMED, Geometry.POINTS, Geometry.CELLS, Geometry.CHANNELS
}  # fmt: skip
"""Geometries with conventions about arrays without channels."""
GEOMETRIES_WITH_IMAGES = GEOMETRIES_WITH_CHANNELS | {Geometry.TO_COLUMNS, Geometry.FROM_COLUMNS, Geometry.CELLS}
"""Geometries with conventions about arrays without images; those of columns have none about gradients."""
GEOMETRIES_OF_EMPTY_AXES = frozenset({Geometry.GLOBAL, Geometry.BINS, Geometry.UNPOOLING})
"""Geometries whose candidates may have an axis without cells."""
EMPTY_GEOMETRIES = {
    "batch": GEOMETRIES_WITH_IMAGES,
    "channels": GEOMETRIES_WITH_CHANNELS | {Geometry.FROM_COLUMNS},
    "extent": GEOMETRIES_OF_EMPTY_AXES,
}  # fmt: skip


def _may_be_empty(name: str) -> Callable[[Operator], bool]:
    others = {Arithmetic.EXPONENTIALS, Arithmetic.PROBABILITIES}

    def applies(operator: Operator) -> bool:
        is_quantized_window = operator.geometry is Geometry.WINDOWS and operator.arithmetic is Arithmetic.OTHER
        is_column_gradient = operator.is_gradient and operator.geometry in CHANNEL_GEOMETRIES
        has_convention = operator.geometry in EMPTY_GEOMETRIES[name] and operator.arithmetic not in others
        return has_convention and not is_quantized_window and not is_column_gradient

    return applies


def _is_empty(name: str) -> Callable[[Candidate], bool]:
    """Return a check whether x has no images, no channels, or an axis without cells."""
    if name == "extent":
        return lambda candidate: 0 in candidate.per_axis("extent")
    return lambda candidate: candidate.levels.get(name, 1) == 0


def _averages(*geometries: Geometry) -> Callable[[Operator], bool]:
    return lambda operator: (
        operator.arithmetic is Arithmetic.AVERAGE and operator.geometry in geometries and not operator.is_gradient
    )


def _compares_cells(*geometries: Geometry) -> Callable[[Operator], bool]:
    return lambda operator: operator.arithmetic is Arithmetic.SELECTION and operator.geometry in geometries


def _returns_indices(operator: Operator) -> bool:
    return "indices" in operator.outputs


def _has_gradient_of_powers(operator: Operator) -> bool:
    """Whether the sign of x matters: a norm itself takes absolute values."""
    is_norm = operator.arithmetic is Arithmetic.POWERS and operator.geometry is Geometry.WINDOWS
    return is_norm and operator.is_gradient


SMALLEST_NORMAL = {
    name: float(ml_dtypes.finfo(NUMPY_DTYPES[name]).smallest_normal)  # type: ignore[no-untyped-call]
    for name in FLOATING_DTYPES
}
"""Smallest normal number of each floating dtype."""
MAX_FLOAT16 = 65_504
"""Largest float16. A norm of larger powers observes a convention in every dtype, to keep the check simple."""


def _squares_overflow(candidate: Candidate) -> bool:
    """Check whether the sum of the squares of a window of channels may exceed the largest float16."""
    window = min(candidate.levels["local_size"], candidate.levels["channels"])
    return candidate.levels["dtype"] == "float16" and bool(window * _largest(candidate) ** 2 > MAX_FLOAT16)


def _sums_of_products_overflow(candidate: Candidate) -> bool:
    """Check whether a partial sum of a convolution may exceed the largest float16."""
    if candidate.levels["dtype"] != "float16":
        return False
    x, kernel = (np.abs(candidate.case.inputs[name].make().astype(float)) for name in ("x", "kernel"))
    output_axis = 1 if candidate.case.operator == "conv_transpose" else 0
    weights = np.moveaxis(kernel, output_axis, 0).reshape(kernel.shape[output_axis], -1).sum(1)
    finite = x[np.isfinite(x)]
    return bool(finite.max(initial=0) * weights.max(initial=0) > MAX_FLOAT16)


def _adds_gradients_in(dtype: str) -> Callable[[Candidate], bool]:
    """Return a check whether the gradient of resampling has this dtype and adds several numbers for one cell."""

    def contains(candidate: Candidate) -> bool:
        sizes = zip(candidate.per_axis("size"), candidate.per_axis("extent"), strict=True)
        adds = candidate.levels["mode"] != ResizeMode.NEAREST or any(new > old for new, old in sizes)
        return bool(candidate.levels["dtype"] == dtype) and adds

    return contains


PADDING_ONLY_CONVENTION = "max_pool/window-of-padding-only"
CONVENTION_DOMAINS: tuple[ConventionDomain, ...] = (
    ConventionDomain(
        {
            **_conventions(PADDING_ONLY_CONVENTION, _disputes_windows(Arithmetic.SELECTION)),
            **_conventions("{}/window-of-padding-only", _disputes_windows(Arithmetic.AVERAGE)),
            **_conventions("{}/window-of-padding-only", _disputes_windows(Arithmetic.LARGEST_SUM)),
        },
        _has_window_without_cells,
        draw_large_padding,
    ),
    ConventionDomain(
        _conventions("{}/window-of-padding-only", _returns_indices),
        lambda candidate: candidate.levels["output"] == "indices" and _has_window_without_cells(candidate),
        lambda draft, rng: draw_large_padding(({**draft[0], "output": "indices"}, draft[1]), rng),
    ),
    # The index -1 marks a window without an input cell. A surface that rejects such padding never returns this index,
    # so max_unpool observes the convention for padding as large as the window too.
    *(
        ConventionDomain(
            _conventions(convention_id, lambda operator: operator.geometry is Geometry.UNPOOLING),
            _has_no_target,
            draw_inputs(indices={"values": "distinct", "low": -1}),
        )
        for convention_id in (PADDING_ONLY_CONVENTION, "max_pool/padding-equal-to-window")
    ),
    *(
        ConventionDomain(
            _conventions(f"pad/{mode}-beyond-the-extent", lambda operator: operator.geometry is Geometry.PADS),
            _pads_beyond_extent(mode),
            draw_pads_beyond_extent(mode),
        )
        for mode in PADDING_REACH
    ),
    ConventionDomain(
        {
            **_conventions("{}/tie", lambda operator: "ties" in operator.defaults or _returns_indices(operator)),
            # The gradient goes to the cell of the index.
            "max_pool_with_indices_grad": "max_pool_with_indices/tie",
        },
        _may_have_ties,
        draw_inputs(x=SIGNED_INTEGER_INPUT),
    ),
    ConventionDomain(
        # A bin of several rows has two orders of its cells, by rows and by columns.
        _conventions(
            "{}/tie-in-a-plane", lambda operator: "ties" in operator.defaults and operator.geometry is Geometry.BINS
        ),
        lambda candidate: candidate.rank > 1 and _may_have_ties(candidate),
        draw_inputs(x=SIGNED_INTEGER_INPUT),
    ),
    # The operators of the next two domains are exceptions that no property describes. Each has its own convention about
    # the value. For max_pool and min_pool the value is an ordinary level of their sweeps.
    ConventionDomain(
        {
            "global_max_pool": "global_max_pool/nan-in-channel",
            "max_pool_with_indices": "max_pool_with_indices/nan",
            "max_pool_grad": "max_pool_grad/nan",
        },
        _has_mark("nan"),
        draw_marked("nan"),
        marks=("nan",),
    ),
    ConventionDomain(
        {
            "global_max_pool": "global_max_pool/channel-of-minus-infinity",
            "max_pool_grad": "max_pool_grad/window-of-minus-infinity",
        },
        _has_mark("-inf"),
        draw_marked("-inf"),
        marks=("-inf",),
    ),
    ConventionDomain(
        _conventions("max_pool/zeros-of-both-signs", _returns_indices),
        _may_mix_signed_zeros,
        draw_marked("-0.0", low=0, high=0),
        marks=("-0.0",),
    ),
    ConventionDomain(
        {
            **_conventions("max_pool/order-of-subnormals", _compares_cells(Geometry.WINDOWS, Geometry.BINS)),
            **_conventions("global_max_pool/order-of-subnormals", _compares_cells(Geometry.GLOBAL)),
        },
        _may_compare_subnormals,
        None,
    ),
    ConventionDomain(
        _conventions("lp_pool/p-1-of-negative-values", _has_gradient_of_powers),
        _has_negative_under_power(lambda power: power == 1),
        draw_power(1),
    ),
    ConventionDomain(
        _conventions("lp_pool/odd-p-of-negative-values", _has_gradient_of_powers),
        _has_negative_under_power(lambda power: power % 2 == 1 and power > 1),
        draw_power(3, 5),
    ),
    ConventionDomain(
        {"conv": "conv/algorithm"},
        lambda candidate: _has_mark("inf")(candidate) or _has_mark("-inf")(candidate) or _has_mark("nan")(candidate),
        draw_marked("inf"),
        marks=("inf", "nan"),
    ),
    ConventionDomain(
        {"lp_pool": "lp_pool/power-that-overflows"},
        lambda candidate: _largest(candidate) ** float(candidate.levels["p"]) > MAX_FLOAT16 or _underflows(candidate),
        draw_inputs(x=LARGE_INTEGER_INPUT),
    ),
    ConventionDomain(
        {name: f"{name}/sum-that-overflows-in-float16" for name in ("conv", "conv_transpose")},
        _sums_of_products_overflow,
        None,
    ),
    ConventionDomain({"lrn": "lrn/square-that-overflows"}, _squares_overflow, None),
    ConventionDomain(
        _conventions("avg_pool/window-in-the-padding-with-ceil", lambda operator: "rounding" in operator.defaults),
        lambda candidate: starts_window_in_padding_with_ceil(candidate.case),
        None,
    ),
    *(
        ConventionDomain({"resize_grad": f"resize_grad/accumulation-in-{dtype}"}, _adds_gradients_in(dtype), None)
        for dtype in ("float16", "bfloat16")
    ),
    ConventionDomain(
        _conventions("{}/accumulation-in-float16", _averages(Geometry.WINDOWS, Geometry.GLOBAL, Geometry.BINS)),
        lambda candidate: candidate.levels["dtype"] == "float16" and _largest(candidate) >= LARGE_LOW,
        draw_float16(LARGE_INTEGER_INPUT),
    ),
    ConventionDomain(
        # No convention covers integer averages of bins.
        _conventions("avg_pool/integers", _averages(Geometry.WINDOWS, Geometry.GLOBAL)),
        lambda candidate: bool(candidate.levels["dtype"] == "int64"),
        draw_integer_dtype("int64"),
    ),
    ConventionDomain(
        {
            **_conventions("{}/integers-in-int32", _averages(Geometry.WINDOWS)),
            **_conventions("{}/integers", _averages(Geometry.GLOBAL)),
        },
        lambda candidate: bool(candidate.levels["dtype"] == "int32"),
        draw_integer_dtype("int32"),
    ),
    *(
        ConventionDomain(
            _conventions(f"max_unpool/indices-in-{dtype}", lambda operator: "indices" in operator.inputs),
            _has_indices_in(dtype),
            draw_inputs(indices={"values": "distinct", "dtype": dtype}),
        )
        for dtype in dict.fromkeys(INDEX_DTYPES)
    ),
    ConventionDomain(
        # Generated indices are distinct.
        _conventions("{}/duplicate-indices", lambda operator: "indices" in operator.inputs),
        _has_equal_indices,
        None,
    ),
    ConventionDomain(
        # The conversion of an array does not depend on the operator.
        {
            **_conventions("conv/other-byte-order", lambda operator: operator.has_weights),
            **_conventions("max_pool/other-byte-order", lambda operator: not operator.has_weights),
        },
        lambda candidate: candidate.array_use == ArrayUse.BYTE_SWAPPED,
        None,
    ),
    *(
        ConventionDomain(
            _conventions(f"{{}}/empty-{name}", _may_be_empty(name)),
            _is_empty(name),
            # One domain draws for all three.
            draw_empty if name == "batch" else None,
            interval=EMPTY_INTERVAL,
        )
        for name in EMPTY_FACTORS
    ),
)
"""All convention domains. An operator without a convention case uses the convention of the operator it builds on."""
