"""The page of preprocessing has the measured tables, and the measured weights are those of the reference."""

import json

import numpy as np
import pytest

from benchmarks import preprocessing
from docs.generate.backends import REPOSITORY_ROOT, package_extras
from reference import resize

DATA = json.loads(preprocessing.DATA.read_text("utf-8"))
PAGE = preprocessing.PAGE.read_text("utf-8")
RULES = {"nearest": {"nearest_rounding": "round_prefer_ceil"}, "linear": {}, "cubic": {}}
CALLS = {
    "nearest": 'jax.image.resize(x, (height, width), "nearest")',
    "linear": 'jax.image.resize(x, (height, width), "linear", antialias=False)',
    "cubic": 'jax.image.resize(x, (height, width), "cubic-pytorch", antialias=False)',
}


def group_of(mode, direction, call):
    return next(
        {text for _, text in group}
        for group in preprocessing.groups(DATA, mode, direction)
        if call in {text for _, text in group}
    )


@pytest.mark.parametrize("table", preprocessing.tables(DATA), ids=lambda table: table.splitlines()[0][:40])
def test_page_has_every_table(table):
    assert table in PAGE, "python benchmarks/preprocessing.py tables"


def test_page_has_the_number_of_calls():
    number = sum(len(calls) for libraries in preprocessing.CALLS.values() for calls in libraries.values())
    assert f"{len(preprocessing.NAMES)} libraries, {number} calls" in " ".join(PAGE.split())


@pytest.mark.parametrize("mode", RULES)
@pytest.mark.parametrize("direction", ["up", "down"])
def test_weights_are_those_of_the_reference(mode, direction):
    for columns, width in preprocessing.SIZES[direction]:
        unit = np.eye(columns, dtype=np.float32)[None, None]
        expected = resize(unit, size=(columns, width), mode=mode, **RULES[mode])[0, 0].T
        found = DATA["jax"]["weights"][mode][CALLS[mode]][f"{columns}-{width}"]
        np.testing.assert_allclose(found, expected, atol=preprocessing.TOLERANCE)


def test_every_call_is_in_one_group():
    for mode, libraries in preprocessing.CALLS.items():
        for direction in preprocessing.SIZES:
            grouped = [call for group in preprocessing.groups(DATA, mode, direction) for call in group]
            assert sorted(grouped) == sorted((name, call) for name, calls in libraries.items() for call in calls)


def test_a_weight_beyond_the_tolerance_separates_two_calls():
    changed = json.loads(json.dumps(DATA))
    call = CALLS["linear"]
    assert 'Resize(x, height, width, mode="linear")' in group_of("linear", "down", call)
    changed["jax"]["weights"]["linear"][call]["8-4"][0][0] += 2 * preprocessing.TOLERANCE
    groups = preprocessing.groups(changed, "linear", "down")
    assert [("jax", call)] in groups


def test_measured_versions_are_those_of_the_extras():
    pinned = {one for requirements in package_extras(REPOSITORY_ROOT).values() for one in requirements}
    for name, package in preprocessing.PACKAGES.items():
        assert f"{package}=={DATA[name]['version'].partition('+')[0]}" in pinned
