"""`conformance declare`, with results of fake surfaces."""

import pytest
import yaml

from conformance.adapters import registry
from tests.support.fake_backends import backend, declares, family, surface

X = "x: {values: arange, shape: [1, 1, 4, 4]}, window: [2, 2]"
CASES = [
    f"id: q, about: What, {X}, answers: {{window: {{stride: 2}}, one: {{stride: 1}}}}",
    f"id: r, about: What else, {X}, answers: {{window: {{stride: 2}}, one: {{stride: 1}}}}",
]
BY_WINDOW = "x = x[:, :, 1::2, 1::2]"
BY_ONE = "x = x[:, :, 1:, 1:]"
CHANGES = "np.runs = getattr(np, 'runs', 0) + 1\nx = x[:, :, 1::2, 1::2] if np.runs % 2 else x[:, :, 1:, 1:]"
SAME_CONVENTION = [CASES[0], CASES[1].replace("id: r", "id: r, question: q")]


@pytest.fixture
def run(tmp_path, monkeypatch, conformance):
    """Return a function that runs the cases on fake surfaces; their declarations are in the temporary folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "declarations_path", lambda name: tmp_path / f"{name}.yaml")

    def call(*surfaces, cases=CASES, **keywords):
        made = backend(*surfaces, name="numpy", trusted=True, **keywords)
        monkeypatch.setattr(registry, "get_backend", lambda *_: made)
        return conformance("run", "--backend", "numpy", "--cases", family(tmp_path, *cases, section="questions"))

    return call


def test_undeclared_answers_do_not_fail_the_run_and_are_listed_once(run):
    status, out, _ = run(surface("numpy.loops", BY_WINDOW), surface("numpy.other", BY_WINDOW))
    assert status == 0
    note = "2 conventions without a declared answer on numpy.loops and numpy.other: max_pool/q and max_pool/r"
    assert out.count(note) == 1
    assert "✓ 0 of 0 judged agree; 4 undeclared" in out


def test_answers_are_printed_and_not_written(run, conformance, tmp_path):
    run(surface("numpy.loops", BY_ONE))
    status, out, notes = conformance("declare")
    assert status == 0
    assert {name: one["answer"] for name, one in yaml.safe_load(out)["numpy.loops"].items()} == {
        "max_pool/q": "one",
        "max_pool/r": "one",
    }
    assert notes == [f"2 answers for {tmp_path / 'numpy.yaml'}; --write adds them"]
    assert not (tmp_path / "numpy.yaml").exists()


def test_written_answers_complete_the_file_and_change_no_answer(run, conformance, tmp_path):
    file = tmp_path / "numpy.yaml"
    text = "numpy.loops:\n  max_pool/q:\n    answer: window\n    observed: old  # by hand\n"
    file.write_text(text, "utf-8")
    run(surface("numpy.loops", BY_ONE))
    assert conformance("declare", "--write")[2] == [f"1 answer added to {file}; review them"]
    after = file.read_text("utf-8")
    assert after.startswith(text)
    assert yaml.safe_load(after)["numpy.loops"]["max_pool/r"]["answer"] == "one"
    assert conformance("declare", "--write")[1] == ""
    assert file.read_text("utf-8") == after


def test_declared_answers_are_not_repeated(run, conformance):
    run(surface("numpy.loops", BY_ONE, declarations=declares("one")))
    assert list(yaml.safe_load(conformance("declare")[1])["numpy.loops"]) == ["max_pool/r"]


def test_only_the_surfaces_of_a_pattern_are_declared(run, conformance):
    run(surface("numpy.loops", BY_ONE), surface("numpy.other", BY_ONE))
    assert list(yaml.safe_load(conformance("declare", "--surface", "*.other")[1])) == ["numpy.other"]
    assert conformance("declare", "--surface", "nosuch*") == (
        2,
        "",
        ["conformance: surface 'nosuch*': not in these results, which have numpy.loops, numpy.other"],
    )


@pytest.mark.parametrize(
    ("body", "cases", "note"),
    [
        ("x = x * 0 - 7", CASES[:1], "left out: numpy.loops max_pool/q: 'other' in max_pool/q is not an answer that"),
        ("os.abort()", CASES[:1], "left out: numpy.loops max_pool/q: 'crashed' in max_pool/q is not an answer that"),
        (
            CHANGES,
            SAME_CONVENTION,
            "left out: numpy.loops max_pool/q: the surface contradicts itself: 'window' in ",
        ),
    ],
)
def test_answers_that_cannot_be_declared_fail_the_run_and_are_left_out(run, conformance, body, cases, note):
    assert run(surface("numpy.loops", body), cases=cases)[0] == 1
    status, out, notes = conformance("declare")
    assert (status, out) == (0, "")
    assert notes[0].startswith(note)
    assert notes[-1] == "no further answer can be declared from these results"


def test_file_in_another_form_is_one_line(run, conformance, tmp_path):
    run(surface("numpy.loops", BY_ONE))
    (tmp_path / "numpy.yaml").write_text("numpy.loops: 1\n", "utf-8")
    status, out, errors = conformance("declare", "--write")
    assert (status, out, len(errors)) == (2, "", 1)
    assert "numpy.yaml:1: surface 'numpy.loops': write its answers" in errors[0]


def test_adapter_of_a_single_file_has_no_declarations(run, conformance, monkeypatch):
    run(surface("numpy.loops", BY_ONE))
    monkeypatch.setattr(registry, "declarations_path", lambda _: None)
    status, _, errors = conformance("declare", "--write")
    assert (status, len(errors)) == (2, 1)
    assert "its adapter is a single file" in errors[0]


def test_results_of_a_surface_that_is_gone_are_refused(run, conformance, monkeypatch):
    run(surface("numpy.loops", BY_ONE))
    monkeypatch.setattr(registry, "get_backend", lambda *_: backend(surface("numpy.new"), name="numpy"))
    assert conformance("declare")[2] == [
        "conformance: surface 'numpy.loops': in the results, but not a surface of numpy now"
    ]
