"""Draws that observe a convention: arrays without images, without channels, or with an axis without cells."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program, Unsupported
from conformance.cases.operators import OPERATORS
from conformance.exploration.convention_domains import conventions_of, domains_of
from conformance.exploration.draws.conventions import EMPTY_FACTORS
from conformance.exploration.rng import Rng
from conformance.exploration.space import OperatorSpace
from conformance.judging.expected import compute_expected
from conformance.translation.lowering import translate


def empty_draws(operator, sweeps, count=1500):
    space = OperatorSpace.from_sweeps(operator, sweeps)
    drawn = (space.draw(Rng("empty", number)) for number in range(count))
    return [one for one in drawn if not one.violation and 0 in one.case.shape]


@pytest.mark.parametrize("operator", ["global_max_pool", "max_pool", "adaptive_avg_pool_grad"])
def test_empty_arrays_are_drawn_and_the_reference_computes_them(operator, sweeps):
    drawn = empty_draws(operator, sweeps)
    observed = {convention for one in drawn for convention in conventions_of(one)}
    moves = OPERATORS[operator].geometry.name == "WINDOWS"
    factors = [name for name in EMPTY_FACTORS if not (moves and name == "extent")]
    assert {f"{operator}/empty-{name}" for name in factors} <= observed
    for one in drawn[:20]:
        assert compute_expected(one.case).target.exact.value.dtype.name == one.levels["dtype"]


@pytest.mark.parametrize("operator", ["max_pool", "conv", "adaptive_max_pool_grad"])
def test_every_surface_translates_empty_arrays(operator, sweeps):
    for one in empty_draws(operator, sweeps, 300)[:4]:
        for name in registry.backend_names():
            for surface in registry.get_backend(name).surfaces:
                assert isinstance(translate(one.case, surface), Program | Unsupported), (surface.name, one.name)


def test_operators_without_a_convention_have_no_empty_arrays(sweeps):
    assert not any("empty" in convention for one in domains_of("resize") for convention in one.conventions.values())
    assert empty_draws("softmax_pool", sweeps, 100) == []
