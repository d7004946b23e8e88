"""The generated page of routes, and the recorded summaries of routes."""

import re

import pytest

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.translation.routes.restrictions import Restriction
from docs.generate import deployment
from reports.analysis.routes import RouteSummary, route_file_name
from reports.results import Level
from reports.views.routes import source_name
from tests.support import example_results as example

SUMMARIES = deployment.read_summaries()
REPLACEMENTS = deployment.read_replacements()
ANSWERED = {
    "PyTorch": {"onnxruntime", "openvino", "executorch"},
    "TensorFlow": {"litert", "onnxruntime"},
    "JAX": {"iree", "litert"},
}


def test_page_is_the_generated_one():
    page = deployment.deployment_page(SUMMARIES, REPLACEMENTS)
    assert deployment.PAGE.read_text("utf-8") == page, "python -m docs.generate.deployment"


def test_page_answers_for_each_source_and_runtime():
    for source, runtimes in ANSWERED.items():
        found = {one.route.partition("→")[2] for one in SUMMARIES if source_name(one.route) == source}
        assert runtimes <= found


def test_each_file_is_of_a_route_of_the_adapters():
    names = {path.name for path in deployment.DATA_FOLDER.glob("*.json")}
    assert names <= {route_file_name(route) for route in deployment.known_routes()}
    assert len(names) == len(SUMMARIES)


def test_each_change_is_explained():
    found = [(one.route, group.case) for one in SUMMARIES if not one.note for group in one.changes if not group.text]
    assert found == []


def test_each_link_of_the_page_has_its_heading():
    text = deployment.PAGE.read_text("utf-8")
    titles = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w\s-]", "", title.lower()).replace(" ", "-") for title in titles}
    links = {*re.findall(r"\]\(#([^)]*)\)", text)}
    assert links
    assert links <= anchors


def test_each_replacement_is_on_the_page():
    text = deployment.PAGE.read_text("utf-8")
    assert [one.call for one in REPLACEMENTS if f"| {one.call} |" not in text] == []


def test_each_recipe_of_the_adapters_has_a_replacement():
    listed = {(one.source, operator) for one in REPLACEMENTS if one.instead for operator in one.operators}
    backends = [name for name in registry.built_in_modules() if name.startswith("routes-")]
    recipes = {
        (source_name(surface.name), operator)
        for name in backends
        for surface in registry.get_backend(name).surfaces
        for operator in surface.route.recipes
    }
    assert recipes
    assert recipes <= listed


def test_run_of_one_route_leaves_the_others_as_they_are(tmp_path):
    old = RouteSummary(
        route="tf.lite→litert",
        backend="routes-tensorflow",
        level=Level.STANDARD,
        cases=3,
        complete=True,
        started="",
        packages={},
    )
    deployment.write_summaries([old], tmp_path)
    route = "torch.onnx→onnxruntime"
    (results,) = example.write(
        tmp_path, example.run("routes-torch", [route], [example.result("conv/edge-detector", route)])
    )
    page = tmp_path / "page.md"
    deployment.update_page([results], tmp_path, page)
    assert {one.route: one.cases for one in deployment.read_summaries(tmp_path)} == {route: 1, "tf.lite→litert": 3}
    assert page.read_text("utf-8") == deployment.deployment_page(deployment.read_summaries(tmp_path), REPLACEMENTS)


def test_unknown_source_is_an_error():
    one = Restriction(source="Caffe", routes=("a→b",), call="c", happens="d")
    with pytest.raises(ConformanceError, match="'Caffe' is not one of PyTorch, TensorFlow, JAX"):
        deployment.page_replacement(one)
