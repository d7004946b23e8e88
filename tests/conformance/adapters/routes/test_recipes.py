"""Calls to write instead of those that do not survive a route.

CONFORMANCE_ROUTES_TORCH_PYTHON, CONFORMANCE_ROUTES_TENSORFLOW_PYTHON, CONFORMANCE_ROUTES_JAX_PYTHON,
CONFORMANCE_ROUTES_JAX2ONNX_PYTHON and CONFORMANCE_ROUTES_ONNX2TF_PYTHON are paths of interpreters that have the
packages of these routes. Without them, the programs are written and not run.
"""

import os
import subprocess

import numpy as np
import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program
from conformance.judging.expected import compute_expected
from conformance.judging.verdict import ProgramOutcome, judge_outcome
from conformance.translation.lowering import translate
from conformance.translation.recipes import recipe_remark, recipe_surface
from reports.results import Outcome, Verdict
from tests.support.catalogue_parts import cases_by_id

CASES = cases_by_id("standard")
# For each backend and operator with a replacement, cases whose call does not survive.
CHANGED = {
    ("torch", "avg_pool"): ["avg_pool/2d-divisor", "avg_pool/geometry/1d-i7-w2-s2-p1-by5"],
    ("torch", "adaptive_max_pool"): ["adaptive_max_pool/1d-overlapping-bins"],
    ("tensorflow", "max_pool"): ["max_pool/book-stride-2-padding-1", "max_pool/book-rectangular-negative"],
    ("jax", "max_pool"): ["max_pool/book-default-stride"],
    ("jax", "min_pool"): ["min_pool/special/2d-n12-i3x2-w2-s2-minf-float64"],
    ("jax", "conv_transpose"): ["conv_transpose/1d-padding-crops"],
    ("jax2onnx", "max_pool"): ["max_pool/book-2d", "max_pool/book-stride-2-padding-1", "max_pool/2d-ceil"],
    ("onnx2tf", "conv_transpose"): ["conv_transpose/1d-stride-2", "conv_transpose/2d-channels"],
}
RUNS = [
    (name, route, case_id)
    for (name, operator), case_ids in CHANGED.items()
    for route in registry.get_backend(f"routes-{name}").surfaces
    if operator in route.route.recipes and ".dynamic" not in route.name
    for case_id in case_ids
]
IDS = [f"{route.name}-{case_id}" for _name, route, case_id in RUNS]
# All programs of a backend run in one process, because importing the frameworks takes longer than the programs.
SCRIPT = """\
import numpy as np
{setup}
"""
PROGRAM = """\
{program}
np.save({output!r}, run(**np.load({inputs!r})))
"""


def test_every_recipe_is_run():
    recipes = {
        (name, operator)
        for name in ("torch", "tensorflow", "jax", "jax2onnx", "onnx2tf")
        for route in registry.get_backend(f"routes-{name}").surfaces
        for operator in route.route.recipes
    }
    assert recipes == {*CHANGED}


@pytest.mark.parametrize(("route", "case_id"), [run[1:] for run in RUNS], ids=IDS)
def test_replacement_is_another_program_with_a_reason(route, case_id):
    surface = recipe_surface(CASES[case_id], route)
    program, direct = (translate(CASES[case_id], one) for one in (surface, route))
    assert isinstance(program, Program)
    assert isinstance(direct, Program)
    assert program.text != direct.text
    assert recipe_remark(surface).startswith("write this before the export, because ")
    assert not recipe_remark(route)


@pytest.mark.parametrize("route", [one for _name, one, _case in RUNS], ids=IDS)
def test_calls_that_survive_have_no_replacement(route):
    survivors = ["avg_pool/2d-padding-1", "adaptive_max_pool/2d-equal-bins", "max_pool/2d-integers", "conv/2d-groups"]
    if route.name.startswith("jax2onnx"):
        survivors[2] = "max_pool/1d-stride-2"  # no maximum of an image survives
    for case in (CASES[one] for one in survivors if one in CASES):
        assert recipe_surface(case, route) is None


def test_conventions_and_other_surfaces_have_no_replacement():
    route = RUNS[0][1]
    assert recipe_surface(CASES["avg_pool/negative-divisor"], route) is None
    assert recipe_surface(CASES["avg_pool/2d-divisor"], route.route.source) is None


@pytest.mark.parametrize("name", sorted({name for name, _operator in CHANGED}))
def test_replacements_have_the_right_result_after_the_export(name, tmp_path):
    python = os.environ.get(f"CONFORMANCE_ROUTES_{name.upper()}_PYTHON", "")
    if not python:
        pytest.skip(f"CONFORMANCE_ROUTES_{name.upper()}_PYTHON is not set")
    backend = registry.get_backend(f"routes-{name}")
    runs = [(route, CASES[case_id]) for other, route, case_id in RUNS if other == name]
    lines = [SCRIPT.format(setup=f"{backend.threads}\n{backend.setup}")]
    for number, (route, case) in enumerate(runs):
        program = translate(case, recipe_surface(case, route))
        inputs, output = str(tmp_path / f"{number}.npz"), str(tmp_path / f"{number}.npy")
        np.savez(inputs, **compute_expected(case).inputs)
        lines.append(program.mode + "\n" + PROGRAM.format(program=program.text, inputs=inputs, output=output))
    subprocess.run([python, "-c", "".join(lines)], check=True, timeout=600, cwd=tmp_path)
    for number, (route, case) in enumerate(runs):
        outcome = ProgramOutcome(Outcome.RETURNED, (np.load(tmp_path / f"{number}.npy"),))
        verdict = judge_outcome(outcome, compute_expected(case).target)
        assert verdict.verdict == Verdict.AGREE, (route.name, case.id, verdict)
