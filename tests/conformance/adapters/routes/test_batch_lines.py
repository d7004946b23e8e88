"""Several calls in one exported model have the results of the same calls alone.

Environment variables as in test_recipes.py, such as CONFORMANCE_ROUTES_KERAS_JAX_PYTHON, are paths of interpreters
that have the packages of the routes. Without them, the programs are written and not run.
"""

import os
import subprocess

import numpy as np
import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program
from conformance.judging.expected import compute_expected
from conformance.translation.lowering import translate
from conformance.translation.routes.batch import batch_part, batch_program
from tests.conformance.adapters.routes.test_routes import BACKENDS, CASES, ROUTES

BATCHED = [route for route in ROUTES if route.route.batch]
CASE_IDS = ("avg_pool/2d-padding-1", "conv/2d-asymmetric-padding", "max_pool/1d-stride-2", "avg_pool/2d-padding-1")
SCRIPT = """\
import numpy as np
{setup}
"""
PROGRAM = """\
{program}
arrays = [*np.load({inputs!r}).values()]
results = run(*arrays)
np.savez({output!r}, *(results if isinstance(results, tuple) else (results,)))
"""


def parts(route):
    """Return the cases that have a program on a route, with the program alone and the one of a batch."""
    cases = [CASES[one] for one in CASE_IDS]
    programs = [(case, translate(case, route), batch_part(case, route)) for case in cases]
    return [one for one in programs if isinstance(one[1], Program)]


def joint_program(route):
    return batch_program(
        route.name, route.route.batch, [(part, len(case.inputs)) for case, _alone, part in parts(route)]
    )


def test_routes_with_fixed_extents_have_batches():
    assert {route.name for route in ROUTES} - {route.name for route in BATCHED} == {
        route.name for route in ROUTES if ".dynamic" in route.name
    }


@pytest.mark.parametrize("route", BATCHED, ids=lambda route: route.name)
def test_program_of_a_batch_exports_once(route):
    text = joint_program(route).text
    compile(text, "<program>", "exec")
    assert text.count("parts.append(") == len(parts(route)) >= 3
    exported = [line for line in route.route.batch.lines if "export" in line or "convert" in line or "to_onnx" in line]
    assert all(text.count(f"    {line}\n") == 1 for line in exported)
    assert exported


@pytest.mark.parametrize("route", BATCHED, ids=lambda route: route.name)
def test_part_has_the_lines_of_its_program(route):
    for _case, alone, part in parts(route):
        lines = [line.strip() for line in alone.text.splitlines() if "asarray" not in line]
        calls = {line for line in lines if "x = " in line or "make_node" in line}
        shared = calls & {line.strip() for line in part.text.splitlines()}
        assert shared


def inputs_of(case, number):
    """Return the inputs of a case. Some of those of the first case are NaN and infinite: others must not see them."""
    arrays = [array.copy() for array in compute_expected(case).inputs.values()]
    if number == 0:
        arrays[0].flat[:2] = np.nan, np.inf
    return arrays


@pytest.mark.parametrize("name", [name.removeprefix("routes-") for name in BACKENDS])
def test_results_of_a_batch_are_those_of_its_programs_alone(name, tmp_path):
    variable = f"CONFORMANCE_ROUTES_{name.upper().replace('-', '_')}_PYTHON"
    python = os.environ.get(variable, "")
    if not python:
        pytest.skip(f"{variable} is not set")
    backend = registry.get_backend(f"routes-{name}")
    lines = [SCRIPT.format(setup=f"{backend.threads}\n{backend.setup}")]

    def run_later(program, arrays, file):
        inputs, output = str(tmp_path / f"inputs-{file}"), str(tmp_path / file)
        np.savez(inputs, *arrays)
        lines.append(f"{program.mode}\n{PROGRAM.format(program=program.text, inputs=inputs, output=output)}")

    routes = [route for route in backend.surfaces if route.route.batch]
    for number, route in enumerate(routes):
        arrays = [inputs_of(case, k) for k, (case, *_programs) in enumerate(parts(route))]
        for k, (_case, alone, _part) in enumerate(parts(route)):
            run_later(alone, arrays[k], f"{number}-{k}.npz")
        run_later(joint_program(route), [array for one in arrays for array in one], f"{number}-batch.npz")
    subprocess.run([python, "-c", "".join(lines)], check=True, timeout=600, cwd=tmp_path)
    for number, route in enumerate(routes):
        together = [*np.load(tmp_path / f"{number}-batch.npz").values()]
        alone = [np.load(tmp_path / f"{number}-{k}.npz")["arr_0"] for k in range(len(parts(route)))]
        assert [one.tobytes() for one in together] == [one.tobytes() for one in alone], route.name
        assert [(one.dtype, one.shape) for one in together] == [(one.dtype, one.shape) for one in alone]
