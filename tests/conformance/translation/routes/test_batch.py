"""Programs of routes that run together with others."""

from dataclasses import replace

import pytest

from conformance.adapters import registry
from conformance.translation.routes.batch import batch_part, batch_program
from tests.support.catalogue_parts import cases_by_id

CASES = cases_by_id("standard")
ROUTE = registry.get_backend("routes-torch").surfaces[0]


@pytest.mark.parametrize(
    ("case", "has_part"),
    [
        ("conv/2d-groups", True),
        ("max_pool/nan-in-window", True),
        ("max_pool/rejects/negative-window", False),
        ("max_pool/arrays/fortran", False),  # it may pass its arrays twice
        ("conv_grad/", False),  # no route has gradients
    ],
)
def test_cases_that_could_end_the_export_of_others_have_no_part(case, has_part):
    found = next(one for one in CASES.values() if one.id.startswith(case))
    assert (batch_part(found, ROUTE) is not None) == has_part


def test_surfaces_without_batches_have_no_part():
    case = CASES["conv/2d-groups"]
    assert batch_part(case, ROUTE.route.source) is None
    assert batch_part(case, replace(ROUTE, route=replace(ROUTE.route, batch=None))) is None


def test_program_has_the_inputs_of_its_parts_in_their_order():
    part = batch_part(CASES["conv/2d-groups"], ROUTE)
    program = batch_program(ROUTE.name, ROUTE.route.batch, [(part, 3), (part, 2)])
    lines = program.text.splitlines()
    assert [line for line in lines if line.startswith("parts.append")] == [
        "parts.append((run, 3))",
        "parts.append((run, 2))",
    ]
    assert [line for line in lines if line.startswith("def run(")][-1] == "def run(*arrays):"
    assert (program.surface, program.mode) == (ROUTE.name, part.mode)
