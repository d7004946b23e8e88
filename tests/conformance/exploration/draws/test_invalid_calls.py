"""Invalid calls: each has exactly its own violation, which the reference rejects."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program, Unsupported
from conformance.cases.invalid import VIOLATIONS, violations_of
from conformance.cases.operators import OPERATORS
from conformance.exploration.convention_domains import conventions_of
from conformance.exploration.draws.invalid_calls import NEEDED, RAW_CHANGES, Violation, violations_for
from conformance.exploration.rng import Rng
from conformance.exploration.space import OperatorSpace
from conformance.judging.expected import compute_expected
from conformance.translation.lowering import translate


def test_every_violation_has_a_change_and_a_parameter():
    assert RAW_CHANGES.keys() == NEEDED.keys()
    assert RAW_CHANGES.keys() <= VIOLATIONS.keys()


def test_operators_have_the_violations_of_their_parameters_and_inputs():
    assert {"GradShapeMismatch", "StrideIsZero"} <= {*violations_for("max_pool_grad")}
    assert "GradShapeMismatch" not in violations_for("max_pool")
    assert "WindowExceedsPaddedInput" in violations_for("max_pool")
    assert "IndexBeyondOutput" in violations_for("max_unpool")


@pytest.mark.parametrize("name", RAW_CHANGES)
def test_an_invalid_call_has_its_violation_alone_and_the_reference_rejects_it(name, sweeps):
    operator = next(one for one in OPERATORS if name in violations_for(one))
    space = OperatorSpace.from_sweeps(operator, sweeps)
    for amount in (0, 5):
        drawn = (space.draw(Rng("invalid", number)) for number in range(400))
        valid = (replace(one, violation=None, following=None) for one in drawn if not violations_of(one.valid.case))
        candidate = next(bad for one in valid if (bad := replace(one, violation=Violation(name, 0, amount))).is_valid())
        assert violations_of(candidate.case) == [name]
        assert violations_of(candidate.valid.case) == []
        assert compute_expected(candidate.case).target.violation == name
        assert conventions_of(candidate) == ()
        assert pickle.loads(pickle.dumps(candidate)).case.id == candidate.case.id  # noqa: S301 - own data


def test_a_number_beyond_16_bits_is_infinite_without_a_warning(sweeps):
    space = OperatorSpace.from_sweeps("stochastic_pool_grad", sweeps)
    drawn = (space.draw(Rng("overflow", number)).valid.case for number in range(60))
    case = next(one for one in drawn if one.inputs["x"].dtype == "float16")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        raw = RAW_CHANGES["NegativeActivation"](case, 0, 2**31)
    assert np.ravel(raw["x"]["values"])[0] == -np.inf


def test_a_window_beyond_the_input_is_one_cell_too_large_at_the_boundary(sweeps):
    space = OperatorSpace.from_sweeps("max_pool", sweeps)
    roundings = set()
    for number in range(60):
        valid = replace(space.draw(Rng("boundary", number)), violation=None, following=None)
        candidate = replace(valid, violation=Violation("WindowExceedsPaddedInput"))
        if not candidate.is_valid():
            continue
        given = candidate.case.parameters
        window, dilation, padding = given["window"][0], given["dilation"][0], given["padding"]
        padded = candidate.case.shape[2] + (0 if isinstance(padding, str) else sum(padding[0]))
        # PyTorch and ONNX round the quotient by the stride up, which gives a window for an excess below a stride.
        allowed = padded + (0 if given["rounding"] == "floor" else given["stride"][0] - 1)
        assert (window - 1) * dilation + 1 > allowed >= (window - 2) * dilation + 1
        roundings.add(given["rounding"])
    assert roundings == {"floor", "ceil", "full"}


def test_a_call_whose_bias_would_be_too_long_is_no_candidate(sweeps):
    space = OperatorSpace.from_sweeps("conv_transpose", sweeps)
    drawn = (space.draw(Rng("bias", number)) for number in range(400))
    valid = next(one for one in drawn if "bias" in one.valid.case.inputs and one.valid.case.shape[1] > 1)
    calls = [replace(valid, violation=Violation("GroupsDoNotDivideChannels", 0, amount)) for amount in (0, 2**32)]
    assert [one.is_valid() for one in calls] == [True, False]


def test_only_violations_are_drawn_for_which_the_catalogue_requires_or_knows_a_rejection(sweeps):
    # No case says that a minimum rejects a window that does not fit. For maxima there is a convention.
    drawn = {name: OperatorSpace.from_sweeps(name, sweeps).violations for name in ("min_pool", "max_pool", "conv")}
    assert "WindowExceedsPaddedInput" not in drawn["min_pool"]
    assert "WindowExceedsPaddedInput" in drawn["max_pool"]
    assert {"KernelRankMismatch", "BiasRankMismatch", "StrideRankMismatch"} <= {*drawn["conv"]}


@pytest.mark.parametrize("operator", ["max_unpool", "stochastic_pool", "conv"])
def test_violations_of_ranks_and_dtypes_are_drawn(operator, sweeps):
    space = OperatorSpace.from_sweeps(operator, sweeps)
    expected = {name for name in space.violations if name.endswith("Mismatch") or name == "IndicesAreFloating"}
    valid = [replace(space.draw(Rng("ranks", number)), violation=None, following=None) for number in range(60)]
    found = {name for name in expected for one in valid if replace(one, violation=Violation(name)).is_valid()}
    assert found == expected


@pytest.mark.parametrize("name", ["window", "stride", "dilation", "padding", "output_padding", "output_size", "pads"])
def test_an_argument_of_another_rank_has_different_entries(name, sweeps):
    # An adapter writes equal entries as one number, and leaves out a default: the call would be valid.
    violation, found = f"{name.title().replace('_', '')}RankMismatch", []
    operator = next(one for one in OPERATORS if violation in violations_for(one))
    space = OperatorSpace.from_sweeps(operator, sweeps)
    for number in range(60):
        valid = replace(space.draw(Rng("entries", number)), violation=None, following=None)
        for amount in (0, 5):
            candidate = replace(valid, violation=Violation(violation, 0, amount))
            if candidate.is_valid():
                found.append((candidate.rank, candidate.case.parameters[name]))
    assert found
    assert all(len(set(entries)) > 1 for _, entries in found)
    assert name != "pads" or all(len(entries) == rank + 3 for rank, entries in found)


@pytest.mark.parametrize("operator", ["max_pool_grad", "conv_grad", "pad_grad"])
def test_invalid_gradients_are_drawn_and_every_surface_translates_them(operator, sweeps):
    space = OperatorSpace.from_sweeps(operator, sweeps)
    drawn = [space.draw(Rng("gradients", number)) for number in range(200)]
    invalid = {one.violation.name: one for one in drawn if one.violation}
    assert invalid.keys() <= {*space.violations}
    assert len(invalid) > 1
    assert "GradShapeMismatch" in space.violations
    for one in invalid.values():
        assert_translated(one)


def test_a_kernel_beyond_the_input_is_drawn_for_convolutions(sweeps):
    space = OperatorSpace.from_sweeps("conv", sweeps)
    assert "WindowExceedsPaddedInput" in space.violations
    valid = [replace(space.draw(Rng("kernel", number)), violation=None, following=None) for number in range(60)]
    invalid = [
        bad for one in valid if (bad := replace(one, violation=Violation("WindowExceedsPaddedInput"))).is_valid()
    ]
    assert invalid
    for one in invalid:
        given = one.case.parameters
        reach = (one.case.inputs["kernel"].shape[2] - 1) * given["dilation"][0] + 1
        padded = one.case.shape[2] + (0 if isinstance(given["padding"], str) else sum(given["padding"][0]))
        assert reach > padded
    assert_translated(invalid[0])


def test_numbers_beyond_32_bits_are_drawn(sweeps):
    space = OperatorSpace.from_sweeps("max_unpool", sweeps)
    valid = [replace(space.draw(Rng("far", number)), violation=None, following=None) for number in range(60)]
    far = [replace(one, violation=Violation("IndexBeyondOutput", 0, 2**32)) for one in valid]
    one = next(one for one in far if one.is_valid())
    assert max(one.case.inputs["indices"].make().ravel()) >= 2**32
    assert_translated(one)


def assert_translated(candidate):
    for name in registry.backend_names():
        for surface in registry.get_backend(name).surfaces:
            assert isinstance(translate(candidate.case, surface), Program | Unsupported), surface.name
