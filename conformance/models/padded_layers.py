"""A padding and the convolution that reads it, which are one layer of a model: `padding_mode="circular"`.

A reader lists both. A target may have one call for both, although it has none for the padding alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from conformance.adapters.api import Program, Surface
from conformance.cases.case import WORDS_KEY
from conformance.cases.operators import WEIGHT_INPUTS
from conformance.exploration.candidate import Candidate
from conformance.models.geometry import CheckedLayer, checked_layer
from conformance.models.layer import ModelLayer
from conformance.models.questions import Numbers, Question, candidate_with
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.lowering import translate
from conformance.translation.step_lowering import native_limitation
from reports.results.vocabulary import How

PAD, CONV = "pad", "conv"
ONE_CALL_NOTE = "one call with the convolution that reads it, whose padding names the mode"
WEIGHTS: Mapping[str, Any] = {"values": "integers", "low": -9, "high": 9}
"""How the weights of the convolution are generated, as for a convolution alone."""


def with_followers(layers: Sequence[ModelLayer]) -> list[ModelLayer]:
    """Return the layers, each padding with the convolution after it that has the same name and reads it."""
    following = (after if _is_read_by(one, after) else None for one, after in itertools.pairwise([*layers, None]))
    return [replace(one, following=after) if after else one for one, after in zip(layers, following, strict=True)]


def _is_read_by(pad: ModelLayer | None, after: ModelLayer | None) -> bool:
    if pad is None or after is None or (pad.operator, after.operator) != (PAD, CONV) or pad.name != after.name:
        return False
    pads = pad.parameters.get("pads", ())
    extents = tuple(size + sum(pair) for size, pair in zip(pad.shape[2:], pads, strict=True))
    is_unpadded = not any(map(any, after.parameters.get("padding") or ()))
    return after.shape[1:] == (pad.shape[1], *extents) and is_unpadded


@dataclass(frozen=True)
class PaddedCandidate(Candidate):
    """A padding with the convolution that reads it, as one call. then: the convolution, as in a case file."""

    then: Mapping[str, Any] | None = None

    @cached_property
    def raw_case(self) -> dict[str, Any]:
        """The case in the format of a catalogue file."""
        plain = Candidate(**{one.name: getattr(self, one.name) for one in fields(Candidate)})
        raw = plain.raw_case
        return {**raw, "id": f"{raw['id']}-then-conv", "then": [self.then], WORDS_KEY: True}


def one_call_questions(layer: ModelLayer, surface: Surface) -> tuple[Question, ...]:
    """Return the questions of a padding with its convolution; none if the surface has no call for both, or one each."""
    if layer.following is None:
        return ()
    questions = tuple(one for one in _questions(checked_layer(layer.following), layer) if one.candidate.is_valid())
    if not questions or native_limitation(candidate_with(Numbers.INTEGERS, layer).case, surface) is None:
        return ()
    program = translate(questions[0].candidate.case, surface)
    return questions if isinstance(program, Program) and program.how == How.NATIVE else ()


def one_call_request(layer: ModelLayer) -> CaseRequest:
    """Return the request for a padding with the convolution that reads it, with all channels."""
    conv = layer.following
    assert conv is not None  # noqa: S101 - for mypy
    given = {**conv.parameters, "padding": [list(pair) for pair in layer.parameters["pads"]]}
    return CaseRequest(
        CONV,
        given,
        shape=(1, *layer.shape[1:]),
        dtype=layer.dtype,
        kernel=conv.kernel,
        bias=conv.bias,
        padding_mode=layer.parameters["mode"],
    )


def _questions(checked: CheckedLayer, pad: ModelLayer) -> Iterator[Question]:
    conv = checked.layer
    extents = tuple(size - sum(pair) for size, pair in zip(conv.shape[2:], pad.parameters["pads"], strict=True))
    own = replace(pad, shape=(1, conv.shape[1], *extents), following=None)
    names = ("stride", "dilation", "groups")
    given = {name: _as_list(conv.parameters[name]) for name in names if name in conv.parameters}
    shapes = {"kernel": conv.kernel, **({"bias": (conv.out_channels,)} if conv.bias else {})}
    weights = {
        name: {**WEIGHTS, "shape": list(shapes[name]), "dtype": conv.dtype, "seed": number}
        for number, name in enumerate(WEIGHT_INPUTS)
        if name in shapes
    }
    then = {"operator": CONV, **given, **weights}
    for numbers in (Numbers.INTEGERS, Numbers.MANTISSAS, Numbers.NAN, Numbers.INFINITY, Numbers.MINUS_INFINITY):
        one = candidate_with(numbers, own)
        parts = {part.name: getattr(one, part.name) for part in fields(Candidate)}
        yield Question(numbers, PaddedCandidate(**parts, then=then))


def _as_list(value: Any) -> Any:
    return [*value] if isinstance(value, tuple) else value
